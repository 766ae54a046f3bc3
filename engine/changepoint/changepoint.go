// Package changepoint asks when a measure changed: before which of a row of
// values, in the order of time, their level became another one.
//
// With r the ranks of n values and S the sum of those from i to j, the statistic of
// values i to j being of another level than the rest is the rank sum of Wilcoxon,
// standardised:
//
//	T(i, j) = |S − k(n+1)/2| / √(k(n−k)(n+1)/12),   k = j − i
//
// Its largest value with j = n is a change (as Pettitt 1979, Appl. Statist.
// 28:126–135), tested at four fifths of the level; that over all i and j is a stretch
// that came and went, which a search for one change is blind to (circular binary
// segmentation: Olshen and others 2004, Biostatistics 5:557–572; of many values i
// and j lie on a grid of 64 places), at the rest. Ranks take one run that stalled for
// one run and no more.
//
// p is the part of series drawn under a null with a T as large. [Exchangeable]: values
// come in no order; draws are permutations, exact for any distribution. [Autoregressive]:
// each value depends on the one before it,
//
//	x(t) − μ = φ·(x(t−1) − μ) + e(t)
//
// and draws put residuals together again in any order. Days that depend on one another move to other levels by themselves, so
// that ranks do not tell a change of a hundred deviations from one of three: there sizes count as well. With x in place of ranks
// the statistic is the part of the sum of squares that the levels explain, between 0 and 1, as F of two levels or more is by
//
//	u(i, j) = (Σ from i to j of x − x̄)²·n / (k(n−k)·Σ(x − x̄)²)
//
// against draws whose residuals are those about the levels of its own cuts: a jump is no noise. Three quarters of the level
// are for ranks, one for sizes. φ is the correlation of
// neighbours once the sought change (for a stretch: the two of least squares) is taken
// off and values are held within three standard deviations. The m levels that were taken
// off bias it, which is put back, and two standard errors keep chance from making it too
// small:
//
//	φ = r + m(1 + 3r)/n + 2√((1 − r²)/n) ≤ 0.97
//
// Permutations that cannot change p are not drawn: where Bernstein's inequality puts a T as large below one in 10⁹ of all draws, p is the
// least there is, a 10,000th. Of more than 16,384 values blocks of ranks are permuted, which are exchangeable where ranks are, so that p
// stays exact and changes of fewer values than a block are not seen.
//
// The parts are searched likewise, one of ℓ values at the level α·ℓ/n, so that all
// tests of parts without a change together stay below α.
//
// A change is placed between its neighbours where absolute deviations from the
// medians on its sides are least, which ranks are not sure about, and dropped where
// it alone is not at the level.
//
// The interval of the position is the percentile one of the same search over values
// resampled on either side of the change.
//
// Assumptions: apart from the changes, values are as the null has them. A slow drift is
// found as one change or several. O(B·n) for B permutations of every part, O(B·n log n)
// for autoregressive draws.
//
// The package is pure. Values have any unit.
package changepoint

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/internal/robust"
)

// Change is one change of level.
type Change struct {
	At        int     // position of the first value after it
	Low, High int     // At lies from Low to High at 95 %
	P         float64 // over all values and tests
	Before    float64 // median of the values back to the change before, or the first
	After     float64 // median of those up to the next
}

// Options of a search. The zero value is usable.
type Options struct {
	Level float64 // chance of finding any change where there is none; 0: gates.Supported
	Tests int     // rows of values that share the level; 0: 1
	Null  Null
	Seed  uint64
	// Points leaves out the intervals of positions, which take a thousand searches: Low and High are At.
	Points bool
}

// Null is how values come where there is no change.
type Null uint8

const (
	Exchangeable   Null = iota // in no order
	Autoregressive             // each depends on the one before it
)

// String returns the name of a null.
func (n Null) String() string {
	if n == Autoregressive {
		return "autoregressive"
	}
	return "exchangeable"
}

const (
	permutations = 9999 // the smallest p that a part can have is a hundredth of gates.Strong
	resamples    = 999  // so that the ends of an interval are the 25th from either side
	cut          = 24   // of the resamples, on either side of an interval: 95 % are within
	// least is how many values a side of a change has: one value is a run that
	// stalled, and two may be chance.
	least = 3
	grid  = 64 // places of a stretch: their pairs are tried, of which there must not be n²
	// passes is how often changes are placed anew between their neighbours: the
	// first is found with the others on its sides.
	passes = 2
	// placings is how often the place of a change and the levels beside it are
	// found from one another.
	placings = 8
)

// ErrNotFinite is a value that is no number.
var ErrNotFinite = errors.New("changepoint: a value is not finite")

// Find returns the changes in ascending order of position.
func Find(values []float64, o Options) ([]Change, error) {
	o.Level, o.Tests = cmp.Or(o.Level, gates.Supported), cmp.Or(o.Tests, 1)
	switch {
	case !(o.Level > 0 && o.Level < 1):
		return nil, fmt.Errorf("changepoint: Level %v outside (0, 1)", o.Level)
	case o.Tests < 1:
		return nil, fmt.Errorf("changepoint: Tests %d, expected 1 or more", o.Tests)
	}
	for i, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("%w: value %d is %v", ErrNotFinite, i, v)
		}
	}
	s := &search{values: values, o: o}
	s.divide(0, len(values))
	slices.Sort(s.places)
	s.places = slices.Compact(s.places)
	s.settle()
	for i := range s.found {
		s.levels(i)
		if !o.Points {
			s.setInterval(i)
		}
	}
	return s.found, nil
}

// Shows reports whether so many values can show a change at all, at the level of o.
func Shows(n int, o Options) bool {
	o.Level, o.Tests = cmp.Or(o.Level, gates.Supported), cmp.Or(o.Tests, 1)
	if n < 2*least {
		return false
	}
	sided, _ := math.Lgamma(float64(n/2 + 1)) // the best order: all of one side before the other
	other, _ := math.Lgamma(float64(n - n/2 + 1))
	all, _ := math.Lgamma(float64(n + 1))
	return 2*math.Exp(sided+other-all) <= o.Level*oneChange.part/float64(o.Tests)
}

// search is values and what was found of them.
type search struct {
	values []float64
	o      Options
	places []int // where parts were divided
	found  []Change
	ranked valueRanks
}

// valueRanks is the ranks of the values that were ranked last.
type valueRanks struct {
	from, to int
	ranks    []float64
}

// ranks returns the ranks of the values from a position to another, which are not to be changed.
func (s *search) ranks(from, to int) []float64 {
	if r := &s.ranked; r.ranks == nil || r.from != from || r.to != to {
		s.ranked = valueRanks{from, to, meanRanks(s.values[from:to])}
	}
	return s.ranked.ranks
}

// divide looks for changes in the values from a position to another.
func (s *search) divide(from, to int) {
	n := to - from
	if n < 2*least {
		return
	}
	ranks := s.ranks(from, to)
	a, b := 0, n
	switch {
	case s.chance(from, to, oneChange) <= s.o.Level:
		a, _ = largest(ranks)
	case s.chance(from, to, oneStretch) <= s.o.Level:
		a, b, _ = stretch(ranks)
	default:
		return
	}
	if a > 0 {
		s.places = append(s.places, from+a)
	}
	if b < n {
		s.places = append(s.places, from+b)
	}
	s.divide(from, from+a)
	s.divide(from+a, from+b)
	s.divide(from+b, to)
}

// settle places every change between its neighbours and drops, one after the
// other, the least certain, until all are at the level.
func (s *search) settle() {
	for {
		s.found = nil
		for range passes {
			for i := range s.places {
				from, to := s.neighbours(i)
				s.places[i] = from + place(s.values[from:to], s.places[i]-from)
			}
		}
		worst := -1
		for i, at := range s.places {
			from, to := s.neighbours(i)
			p := s.chance(from, to, oneChange)
			s.found = append(s.found, Change{At: at, P: min(1, p)})
			if p > s.o.Level && (worst < 0 || p > s.found[worst].P) {
				worst = i
			}
		}
		if worst < 0 {
			return
		}
		s.places = slices.Delete(s.places, worst, worst+1)
	}
}

// meanRanks returns the ranks of values from 1 on, the mean of ties, about their mean.
func meanRanks(values []float64) []float64 {
	type placed struct {
		value float64
		at    int
	}
	order := make([]placed, len(values))
	for i, v := range values {
		order[i] = placed{v, i}
	}
	slices.SortFunc(order, func(a, b placed) int { return cmp.Compare(a.value, b.value) })
	out := make([]float64, len(values))
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && order[j].value == order[i].value {
			j++
		}
		for _, p := range order[i:j] {
			out[p.at] = float64(i+j+1)/2 - float64(len(values)+1)/2
		}
		i = j
	}
	return out
}

// largest returns where T² is largest, but for a factor that all places share, and
// what it is there.
func largest(ranks []float64) (at int, top float64) {
	sum, n := 0.0, len(ranks)
	for k := 1; k <= n-least; k++ {
		sum += ranks[k-1]
		if k < least {
			continue
		}
		if t := sum * sum / (float64(k) * float64(n-k)); t > top {
			at, top = k, t
		}
	}
	return max(at, least), top
}

// stretch returns the stretch of values whose T² is largest, and what it is there, as
// largest has it.
func stretch(ranks []float64) (from, to int, top float64) {
	n := len(ranks)
	at, top := largest(ranks)
	from, to = at, n
	stride := (n + grid - 1) / grid
	sums := make([]float64, 0, grid+1) // of the ranks before each place of the grid
	sum := 0.0
	for k := range n {
		if k%stride == 0 {
			sums = append(sums, sum)
		}
		sum += ranks[k]
	}
	for i := range sums {
		for j := i + 1; j < len(sums); j++ {
			a, b := i*stride, j*stride
			if a < least || b-a < least || n-b < least {
				continue
			}
			d := sums[j] - sums[i]
			if t := d * d / (float64(b-a) * float64(n-b+a)); t > top {
				from, to, top = a, b, t
			}
		}
	}
	return from, to, top
}

// place returns where a change of values lies, from a place nearby: Σ|x − before| +
// Σ|x − after| is least, with the medians on the sides of the place before, until
// it stays.
func place(values []float64, at int) int {
	for range placings {
		before, after := robust.Median(slices.Clone(values[:at])), robust.Median(slices.Clone(values[at:]))
		sum, lowest, best := 0.0, math.Inf(1), at
		for k := 1; k <= len(values)-least; k++ {
			sum += math.Abs(values[k-1]-before) - math.Abs(values[k-1]-after)
			if k >= least && sum < lowest {
				lowest, best = sum, k
			}
		}
		if best == at {
			break
		}
		at = best
	}
	return at
}

// statistic is one of ranks, and which part of the level it is tested at.
type statistic struct {
	of   func(ranks []float64) float64
	part float64
	cuts func(ranks []float64) []int // of the levels that the null takes off
}

var (
	oneChange = statistic{func(r []float64) float64 { _, t := largest(r); return t }, 0.8, func(r []float64) []int {
		at, _ := largest(r)
		return []int{at}
	}}
	oneStretch = statistic{func(r []float64) float64 { _, _, t := stretch(r); return t }, 0.2, twoCuts}
)

// chance returns the part of draws under the null that have a statistic as large, over all
// parts, tests and statistics; where it is above the level, a part of that.
func (s *search) chance(from, to int, what statistic) float64 {
	values, ranks := s.values[from:to], s.ranks(from, to)
	rng := rand.New(rand.NewPCG(s.o.Seed, uint64(from)<<32|uint64(to-from)))
	tests := float64(len(s.values)) / float64(len(ranks)) * float64(s.o.Tests) / what.part
	if s.o.Null == Exchangeable {
		if permutations*permutationBound(what.of(ranks), len(ranks)) < never {
			return tests / (permutations + 1)
		}
		ranks = blockSums(ranks)
		shuffled := slices.Clone(ranks)
		return s.shareReaching(what.of(ranks), tests, func() float64 {
			rng.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
			return what.of(shuffled)
		})
	}
	d := newRegression(values, what.cuts(ranks))
	p := s.shareReaching(what.of(ranks), tests/byRanks, func() float64 { return what.of(meanRanks(d.draw(rng))) })
	centred := slices.Clone(values)
	center(centred)
	cuts := what.cuts(centred)
	d = newRegression(residuals(values, cuts), nil)
	d.phi = correlation(values, cuts)
	return min(p, s.shareReaching(explainedPart(values, what), tests/bySizes, func() float64 { return explainedPart(d.draw(rng), what) }))
}

// never is how often draws may reach a statistic, on average, for none to be drawn.
const never = 1e-9

// permutationBound bounds the chance that a statistic of n ranks is reached when they are permuted, by the sum over all places: of fewer or more ranks
// Bernstein's inequality bounds that of a sum, which holds without replacement too (Hoeffding 1963, J. Amer. Statist. Assoc. 58:13–30), and no
// sum exceeds that of the highest ranks. The pairs of a grid have fewer than grid places for each number of ranks.
func permutationBound(top float64, n int) (p float64) {
	size, variance, most := float64(n), (float64(n)*float64(n)-1)/12, float64(n-1)/2
	for m := 1.0; m <= size/2; m++ {
		s := math.Sqrt(top * m * (size - m))
		if s <= m*(size-m)/2 {
			p += math.Exp(-s * s / (2 * (m*variance + most*s/3)))
		}
	}
	return 2 * (2 + grid) * p
}

// mostPermuted is how many values are permuted at most.
const mostPermuted = 1 << 14

// blockSums returns the sums of as many ranks each, about their mean, of more than mostPermuted: those are exchangeable where the ranks are. A
// change of fewer ranks is not seen, and what the last ranks say that fill no block.
func blockSums(ranks []float64) []float64 {
	block := (len(ranks) + mostPermuted - 1) / mostPermuted
	if block == 1 {
		return ranks
	}
	sums := make([]float64, len(ranks)/block)
	for i := range sums {
		for _, r := range ranks[i*block : (i+1)*block] {
			sums[i] += r
		}
	}
	center(sums)
	return sums
}

// Parts of the level of a statistic under [Autoregressive].
const (
	byRanks = 0.75
	bySizes = 0.25
)

// shareReaching returns the part of draws that reach top, so many times as there are tests; where it is above the level, a part of that.
func (s *search) shareReaching(top, tests float64, draw func() float64) float64 {
	const near = 1e-12 // sums in another order
	one := tests / (permutations + 1)
	p := one
	for range permutations {
		if p > s.o.Level {
			break // whatever follows
		}
		if draw() >= top*(1-near) {
			p += one
		}
	}
	return p
}

// explainedPart returns which part of the sum of squares of values the levels of a statistic explain.
func explainedPart(values []float64, what statistic) float64 {
	centred := slices.Clone(values)
	center(centred)
	squares := 0.0
	for _, v := range centred {
		squares += v * v
	}
	if squares == 0 {
		return 0
	}
	return what.of(centred) * float64(len(values)) / squares
}

// residuals returns values about the mean of each of the levels that cuts divide.
func residuals(values []float64, cuts []int) []float64 {
	out := slices.Clone(values)
	from := 0
	for _, to := range append(slices.Clone(cuts), len(out)) {
		center(out[from:to])
		from = to
	}
	return out
}

// neighbours returns the changes before and after a change.
func (s *search) neighbours(i int) (from, to int) {
	to = len(s.values)
	if i > 0 {
		from = s.places[i-1]
	}
	if i+1 < len(s.places) {
		to = s.places[i+1]
	}
	return from, to
}

// levels fills the levels of a change, from the values between its neighbours.
func (s *search) levels(i int) {
	c := &s.found[i]
	from, to := s.neighbours(i)
	c.Low, c.High = c.At, c.At
	c.Before, c.After = robust.Median(slices.Clone(s.values[from:c.At])), robust.Median(slices.Clone(s.values[c.At:to]))
}

// setInterval fills the interval of the place of a change, from the values between its neighbours.
func (s *search) setInterval(i int) {
	c := &s.found[i]
	from, to := s.neighbours(i)
	before, after := s.values[from:c.At], s.values[c.At:to]
	rng := rand.New(rand.NewPCG(s.o.Seed, uint64(c.At)<<32|uint64(to-from)))
	places := make([]int, resamples)
	drawn := make([]float64, to-from)
	for b := range places {
		for k := range drawn {
			if from+k < c.At {
				drawn[k] = before[rng.IntN(len(before))]
			} else {
				drawn[k] = after[rng.IntN(len(after))]
			}
		}
		places[b] = from + place(drawn, c.At-from)
	}
	slices.Sort(places)
	c.Low, c.High = min(c.At, places[cut]), max(c.At, places[resamples-1-cut])
}
