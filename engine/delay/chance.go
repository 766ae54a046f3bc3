package delay

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/dsp/fourier"

	"github.com/sfstat/sfstat/engine/gates"
)

// chance is how a term was tested.
type chance struct {
	p      float64
	block  int // intervals that count as one observation
	blocks int
	struck int // blocks in which the rank exceeds half of the claim
}

const (
	// fewestBlocks is the least evidence: blocks of the series, and struck ones among
	// them. Three ranks could not do with less at any level.
	fewestBlocks, fewestStruck = 6, 3
	// evenly is the part of the level that is shared out evenly, whatever was charged.
	evenly = 0.1
	// forms is how many forms a candidate is tested in, each of which may succeed.
	forms = 3
	// alike is the part of a rank's own excursions from which on another rank's are
	// thought to have the same cause, and are no measure of how long chance lasts.
	alike = 0.8
	// fewRanks are so few that the others' excess holds what one of them is late by.
	fewRanks = 3
	// small is the part of a claim up to which the others' noise says nothing of how long chance of its
	// size lasts; of few ranks all but a tenth of what is left.
	small = 0.25
)

// test returns the chance that a piece of a given rank exceeds its peers as a delay of size d would, were the ranks
// exchangeable within blocks of intervals. It tests the time beyond half of the claimed size and no more than it:
//
//	X = clip(charge − d/2, 0, d/2), Y its sums over blocks
//	P = min(1, R / (w · v) · inf_λ exp(−λ Σ_b Y[b, r]) Π_b mean_q exp(λ Y[b, q]))
//
// (Chernoff 1952, Ann. Math. Stat. 23:493–507, for sums of bounded permuted variables as in Hoeffding 1963, JASA
// 58:13–30). R pays for the ranks, w = 0.1/K + 0.9 · the piece's share of all charges for the pieces, and v for the three
// forms of a delay: a third each, but for a level no more than the charges are steady, and a tenth at least; two ways of
// striking share the rest, unless the intervals are too few for them. Which rank was charged changes neither w nor v, so that
// under the null they are given beforehand, and the level is spent where a delay may be. There are no draws, so that the order
// of ranks and the number of threads change nothing.
//
// Where half of the claim is within the slack of noise, the slack is not taken off before: it would
// hide most of the delay.
//
// own is what the rank is charged without the slack, left its excess less the term: of two or three ranks it stands for the
// noise, for what one is late by is in the excess of the others.
func (s *series) test(c cell, form shape, own, left []float64) chance {
	k, r, d := c.piece, c.rank, form.claim
	n := len(s.peers[s.of[r]])
	if of := s.Pieces[k].Ranks; of != nil {
		n = 0
		for _, q := range of {
			if s.of[q] == s.of[r] {
				n++
			}
		}
	}
	if n < 2 || d <= 0 {
		return chance{p: 1}
	}
	x := s.timesAboveHalf(k, r, d, own)
	sum := 0.0
	for _, e := range x {
		if int(e.rank) == r {
			sum += e.x
		}
	}
	out := chance{p: 1, block: s.blockLength(k, r, d, left, x, sum)}
	out.blocks = (s.Intervals + out.block - 1) / out.block
	y, struck := s.blockSums(x, out.block, r)
	out.struck = struck
	if struck < fewestStruck || out.blocks < fewestBlocks || sum <= 0 {
		return out
	}
	if part := s.weight(k) * s.formWeight(k, n, form.strikes); part > 0 {
		out.p = min(1, float64(s.Ranks)/part*tail(y, n, sum))
	}
	return out
}

// weight returns the part of the level that a piece gets.
func (s *series) weight(k int) float64 {
	all := 0.0
	for i := range s.charge {
		all += s.charge[i].sum
	}
	w := evenly / float64(len(s.Pieces))
	if all > 0 {
		w += (1 - evenly) * s.charge[k].sum / all
	}
	return w
}

// formWeight returns the part of a piece's level for a form of a delay: a level no more than the charges are steady, either
// way of striking half of the rest. A level has all where as many intervals as strikes may have of those recorded are too few
// for one rank of n to be certain.
func (s *series) formWeight(k, n int, strikes bool) float64 {
	steady, recorded := s.steadiness(k)
	level := min(max(steady, evenly), 1.0/forms)
	if most := math.Ceil(mostStruck*float64(recorded)) - 1; math.Pow(float64(n), 1-most) > gates.Supported/forms {
		level = 1
	}
	if strikes {
		return (1 - level) / 2
	}
	return level
}

// steadiness returns the part of the intervals of a piece over which its largest charges are spread, (Σx)² / (n Σx²): 1 where
// all are alike; k/n where k of n are, and the others nothing. recorded is how many there are.
func (s *series) steadiness(k int) (part float64, recorded int) {
	sum, squares := 0.0, 0.0
	for i, x := range s.charge[k].largest {
		if s.Step(i, k) >= 0 {
			recorded++
			sum += x
			squares += x * x
		}
	}
	if squares == 0 {
		return 1, recorded
	}
	return sum * sum / (float64(recorded) * squares), recorded
}

// timesAboveHalf returns the time beyond half of a claim and no more than it, of a rank and its peers.
func (s *series) timesAboveHalf(k, r int, d float64, own []float64) []entry {
	out, set := make([]entry, 0, 64), s.of[r]
	if d < 2*slackOfNoise*s.noise[k] {
		lead := s.lead[s.Pieces[k].Point]
		for n := range s.Intervals {
			if s.Step(n, k) < 0 {
				continue
			}
			for _, q := range s.peers[set] {
				i := n*s.Ranks + q
				x := float64(min(s.excess[k][i], lead[i]))
				if q == r {
					x = own[n]
				}
				if x > d/2 {
					out = append(out, entry{int32(n), int32(q), min(x-d/2, d/2)})
				}
			}
		}
		return out
	}
	for _, e := range s.charge[k].entries {
		if e.x > d/2 && s.of[e.rank] == set {
			e.x = min(e.x-d/2, d/2)
			out = append(out, e)
		}
	}
	return out
}

// blockLength returns how many intervals count as one: as many as the excess of the other ranks stays correlated over, where it
// comes near the claim, or their excursions beyond half of it. Ranks that end the piece together with it are no others.
func (s *series) blockLength(k, r int, d float64, left []float64, x []entry, own float64) int {
	set := s.peers[s.of[r]]
	if len(set) <= fewRanks {
		up, down := make([]float64, len(left)), make([]float64, len(left))
		for i, v := range left {
			up[i], down[i] = min(max(v-d/2, 0), d/2), min(max(-v-d/2, 0), d/2)
		}
		t := newAutocovariance([][]float64{up, down}).tau()
		if upperTenth(absolute(left)) > small*d {
			t = max(t, newAutocovariance([][]float64{slices.Clone(left)}).tau())
		}
		if len(set) > 2 {
			t = max(t, s.excursions(r, x, own).tau())
		}
		return int(math.Ceil(t))
	}
	t := s.excursions(r, x, own).tau()
	together := s.endTogether(k, r)
	if s.quietBut(k, together, set, d) {
		return int(math.Ceil(t))
	}
	if s.spread[k] == nil {
		columns := make([][]float64, s.Ranks)
		for q := range columns {
			columns[q] = s.column(s.excess[k], q)
		}
		s.spread[k] = newAutocovariance(columns)
	}
	return int(math.Ceil(max(t, s.spread[k].tau(together...))))
}

// absolute returns the sizes of values.
func absolute(v []float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = math.Abs(x)
	}
	return out
}

// endTogether returns the ranks that end a piece together with one, and that rank: as long as one of them is late in it all are.
func (s *series) endTogether(k, r int) []int {
	for _, w := range s.Within {
		for _, set := range w.Sets {
			if w.Stage == s.Pieces[k].Stage && slices.Contains(set, r) {
				return set
			}
		}
	}
	return []int{r}
}

// quietBut reports whether the ranks of a set other than those that end a piece together are within a small part of d in all
// intervals.
func (s *series) quietBut(k int, together, set []int, d float64) bool {
	for n := range s.Intervals {
		low, high := int64(math.MaxInt64), int64(math.MinInt64)
		for _, q := range set {
			if !slices.Contains(together, q) {
				x := s.excess[k][n*s.Ranks+q]
				low, high = min(low, x), max(high, x)
			}
		}
		if float64(high-low) > small*d {
			return false
		}
	}
	return true
}

// excursions returns the excursions of the other ranks beyond half of the claim, except ranks with as many as r, which may
// share its cause.
func (s *series) excursions(r int, x []entry, own float64) *autocovariance {
	total, index := make([]float64, s.Ranks), make([]int, s.Ranks) // of each rank, from 1
	for _, e := range x {
		total[e.rank] += e.x
	}
	var columns [][]float64
	for _, e := range x {
		if int(e.rank) == r || len(s.peers[s.of[r]]) > fewRanks && total[e.rank] >= alike*own {
			continue
		}
		if index[e.rank] == 0 {
			columns = append(columns, make([]float64, s.Intervals))
			index[e.rank] = len(columns)
		}
		columns[index[e.rank]-1][e.at] = e.x
	}
	return newAutocovariance(columns)
}

// blockSums returns the sums of x over blocks of so many intervals, ascending, for each block of the ranks with any; and the
// number of blocks in which rank r has one.
func (s *series) blockSums(x []entry, length, r int) (y [][]float64, struck int) {
	sums, of := make([]float64, s.Ranks), make([]int32, 0, s.Ranks) // ranks that have any
	all := make([]float64, 0, len(x))
	flush := func() {
		if len(of) == 0 {
			return
		}
		if sums[r] > 0 {
			struck++
		}
		from := len(all)
		for _, q := range of {
			all, sums[q] = append(all, sums[q]), 0
		}
		slices.Sort(all[from:])
		y, of = append(y, all[from:]), of[:0]
	}
	end := 0
	for _, e := range x {
		if int(e.at) >= end {
			flush()
			end = (int(e.at)/length + 1) * length
		}
		if sums[e.rank] == 0 {
			of = append(of, e.rank)
		}
		sums[e.rank] += e.x
	}
	flush()
	return y, struck
}

// Chance bounds the probability that one given of n ranks which are alike is charged so much, where the
// charges of each block, ascending, may fall on any of them: inf_λ exp(−λ·own) Π_b mean_q exp(λ y[b, q]).
func Chance(charges [][]float64, n int, own float64) float64 {
	if own <= 0 || len(charges) == 0 {
		return 1
	}
	return tail(charges, n, own)
}

// tail returns inf_λ exp(−λ·own) Π_b mean_q exp(λ y[b, q]) over n ranks, where ranks without a block have 0. The
// logarithm is convex in λ; Newton's steps find its least.
func tail(y [][]float64, n int, own float64) float64 {
	scale := 0.0
	for _, row := range y {
		scale = max(scale, row[len(row)-1])
	}
	if scale <= 0 {
		return 1
	}
	const most, rounds, near = 400.0, 60, 1e-3 // of the logarithm
	// low and high hold the least between them.
	low, high, lambda, best := 0.0, most, 1.0, 0.0
	for round := range rounds {
		value, slope, curve := logMean(y, n, lambda/scale)
		value -= lambda * own / scale
		slope = slope/scale - own/scale
		gained := best - value
		best = min(best, value)
		if round > 4 && gained >= 0 && gained < near {
			break
		}
		if slope < 0 {
			low = lambda
		} else {
			high = lambda
		}
		next := lambda - slope*scale*scale/max(curve, 1e-300)
		if !(next > low && next < high) {
			next = (low + high) / 2
		}
		if math.Abs(next-lambda) < 1e-6*lambda || high-low < 1e-6 {
			break
		}
		lambda = next
	}
	return math.Exp(best)
}

// atOnce is of how many blocks the logarithm of the product is taken: means are above one in the
// number of ranks, and their product stays a number.
const atOnce = 16

// logMean returns Σ_b log mean_q exp(λ y) with its first and second derivative.
func logMean(y [][]float64, n int, lambda float64) (value, slope, curve float64) {
	product, in := 1.0, 0
	tops := 0.0
	for _, row := range y {
		top := row[len(row)-1]
		sum, first, second := float64(n-len(row))*math.Exp(-lambda*top)+1, top, top*top
		for _, v := range row[:len(row)-1] {
			e := math.Exp(lambda * (v - top))
			sum += e
			first += e * v
			second += e * v * v
		}
		mean := first / sum
		tops += top
		if product *= sum / float64(n); in == atOnce-1 {
			value, product, in = value+math.Log(product), 1, -1
		}
		in++
		slope += mean
		curve += second/sum - mean*mean
	}
	return value + math.Log(product) + lambda*tops, slope, curve
}

// autocovariance answers how long columns of values stay correlated. Each column is taken less
// its mean, clipped at three standard deviations, and none counts more than twice the middle
// variance.
type autocovariance struct {
	columns [][]float64
	weight  []float64
	lags    [][]float64 // [lag][column] Σ x[t]·x[t+lag]/(T − lag), weighted; as many lags as were asked for
	sum     []float64   // [lag] over columns
}

const clipped = 3

func newAutocovariance(columns [][]float64) *autocovariance {
	a := &autocovariance{columns: columns, weight: make([]float64, len(columns))}
	var positive []float64
	for q, x := range columns {
		mean := 0.0
		for _, v := range x {
			mean += v
		}
		mean /= float64(len(x))
		v := 0.0
		for t := range x {
			x[t] -= mean
			v += x[t] * x[t]
		}
		edge := clipped * math.Sqrt(v/float64(len(x)))
		v = 0
		for t := range x {
			x[t] = min(max(x[t], -edge), edge)
			v += x[t] * x[t]
		}
		a.weight[q] = v / float64(len(x))
		if a.weight[q] > 0 {
			positive = append(positive, a.weight[q])
		}
	}
	if len(positive) == 0 {
		return a
	}
	middle := median(positive)
	for q, v := range a.weight {
		if v > 0 {
			a.weight[q] = min(1, 2*middle/v)
		}
	}
	return a
}

// oneByOne is how many lags are summed one after another, in O(T) each. Longer ones, of which values that change their level
// take as many as a third of T, come from one transform.
const oneByOne = 512

// lag returns the weighted autocovariance at a lag, of each column and of all.
func (a *autocovariance) lag(k int) (per []float64, sum float64) {
	if k >= oneByOne && len(a.lags) <= k {
		a.transform()
	}
	for len(a.lags) <= k {
		j := len(a.lags)
		per, sum := make([]float64, len(a.columns)), 0.0
		for q, x := range a.columns {
			if a.weight[q] == 0 {
				continue
			}
			c := 0.0
			for t, v := range x[j:] {
				c += v * x[t]
			}
			per[q] = a.weight[q] * c / float64(len(x)-j)
			sum += per[q]
		}
		a.lags, a.sum = append(a.lags, per), append(a.sum, sum)
	}
	return a.lags[k], a.sum[k]
}

// transform computes the lags up to a third of the values that were not asked for yet: the autocovariance is the transform
// of the squared spectrum (Wiener and Khinchin), of values between as many zeros. O(T log T) for each column.
func (a *autocovariance) transform() {
	T, from := len(a.columns[0]), len(a.lags)
	n := 1
	for n < T+T/3 {
		n *= 2
	}
	fft, padded := fourier.NewFFT(n), make([]float64, n)
	for range T/3 - from {
		a.lags, a.sum = append(a.lags, make([]float64, len(a.columns))), append(a.sum, 0)
	}
	var spectrum []complex128
	for q, x := range a.columns {
		if a.weight[q] == 0 {
			continue
		}
		clear(padded[copy(padded, x):])
		spectrum = fft.Coefficients(spectrum, padded)
		for i, c := range spectrum {
			spectrum[i] = complex(real(c)*real(c)+imag(c)*imag(c), 0)
		}
		fft.Sequence(padded, spectrum)
		for j := from; j < len(a.lags); j++ {
			a.lags[j][q] = a.weight[q] * padded[j] / float64(n) / float64(T-j)
			a.sum[j] += a.lags[j][q]
		}
	}
}

// leastCorrelation ends the sum of autocorrelations; so does one that is less than its own standard
// error, 1/√n of n independent values (Bartlett 1946, Suppl. J. R. Stat. Soc. 8:27–41), which in short
// runs is larger.
const leastCorrelation = 0.1

// tau returns the integrated autocorrelation time of the columns but one (−1: of all), 1 + 2Σ c_j until c_j is small.
// Subtracting the mean makes short series look less correlated than they are, by about τ/T (Marriott and Pope 1954, Biometrika
// 41:390–402), which is added.
func (a *autocovariance) tau(without ...int) float64 {
	if len(a.columns) == 0 || len(a.columns[0]) < 8 {
		return 1
	}
	T := len(a.columns[0])
	at := func(k int) float64 {
		per, sum := a.lag(k)
		for _, q := range without {
			sum -= per[q]
		}
		return sum
	}
	v := at(0)
	if !(v > 0) {
		return 1
	}
	before, chance := 1.0, a.standardError(without)
	for range 3 {
		bias, t := min(0.5, before/float64(T)), 1.0
		for k := 1; k < T/3; k++ {
			recorded := at(k) / v
			c := recorded*(1-bias) + bias
			if c < leastCorrelation || recorded < chance {
				break
			}
			t += 2 * c
		}
		if math.Abs(t-before) < 0.5 {
			return t
		}
		before = t
	}
	return before
}

// standardError returns the standard error of an autocorrelation where there is none.
func (a *autocovariance) standardError(without []int) float64 {
	n := 0
	for q, w := range a.weight {
		if w > 0 && !slices.Contains(without, q) {
			n++
		}
	}
	return 1 / math.Sqrt(float64(max(1, n)*len(a.columns[0])))
}
