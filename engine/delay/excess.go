package delay

import (
	"cmp"
	"math"
	"slices"

	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/internal/robust"
)

// series is a run between two moments, divided where its ranks synchronise, less the
// terms found so far.
type series struct {
	*points.Division
	peers  [][]int     // ranks that are compared with one another
	of     []int       // [rank] its set of peers
	rest   [][]int64   // [piece] work less the terms; Division.Work where there is none
	common [][]float64 // [piece][interval] what all ranks take at least half of the time: the lower median of rest
	arrive [][]int64   // [point][interval][rank]: the pieces that lead to it, summed
	lead   [][]int64   // the same less the median of the rank's peers
	excess [][]int64   // [piece][interval][rank] less the median of the rank's peers
	noise  []float64   // [piece] standard deviation of the excess, from its differences in time
	charge []charges   // [piece]
	spread []*autocovariance
	took   []float64 // [interval] length as recorded
	step   float64   // median length of an interval
	whole  float64   // length of the run
	joint  float64   // part of the run that goes without the terms
}

// charges are what the peers of ranks waited for because of one piece.
type charges struct {
	entries []entry   // of ranks and intervals that are charged anything, by interval
	total   []float64 // [rank]
	sum     float64
	largest []float64 // [interval] of all ranks, noise and all
}

type entry struct {
	at, rank int32
	x        float64
}

func newSeries(d *points.Division, peers []int) *series {
	s := &series{Division: d, of: make([]int, d.Ranks)}
	if peers == nil && d.Peers != nil {
		peers = setIndices(d.Peers, d.Ranks)
	}
	if d.Classes != nil {
		peers = intersect(peers, setIndices(d.Classes, d.Ranks))
	}
	s.group(peers)
	K := len(d.Pieces)
	s.rest, s.excess, s.common, s.noise = make([][]int64, K), make([][]int64, K), make([][]float64, K), make([]float64, K)
	s.charge, s.spread = make([]charges, K), make([]*autocovariance, K)
	for k := range d.Pieces {
		s.rest[k] = d.Work[k]
		s.excess[k], s.common[k] = d.Memory.Take(len(d.Work[k])), make([]float64, d.Intervals)
		s.subtractPeers(s.excess[k], s.rest[k], s.common[k])
		s.noise[k] = s.noiseOf(k)
	}
	P := len(d.Arrivals)
	s.arrive, s.lead = make([][]int64, P), make([][]int64, P)
	for p := range P {
		s.arrive[p] = d.Arrivals[p]
		s.lead[p] = d.Memory.Take(len(s.arrive[p]))
		s.recharge(p)
	}
	s.took = s.lengths(s.arrive)
	for _, x := range s.took {
		s.whole += x
	}
	if d.Free() {
		s.whole = s.length(s.arrive)
	}
	s.step = median(s.took)
	return s
}

// setIndices returns the number of the set that each rank is in.
func setIndices(sets [][]int, ranks int) []int {
	out := make([]int, ranks)
	for i, set := range sets {
		for _, r := range set {
			out[r] = i
		}
	}
	return out
}

// intersect returns the sets of ranks that are in one set of both divisions; nil: all ranks are in one.
func intersect(a, b []int) []int {
	if a == nil {
		return b
	}
	out, number := make([]int, len(a)), map[[2]int]int{}
	for r := range a {
		at := [2]int{a[r], b[r]}
		if _, ok := number[at]; !ok {
			number[at] = len(number)
		}
		out[r] = number[at]
	}
	return out
}

func (s *series) group(peers []int) {
	for r := range s.Ranks {
		g := 0
		if peers != nil {
			g = peers[r]
		}
		for len(s.peers) <= g {
			s.peers = append(s.peers, nil)
		}
		s.of[r] = g
		s.peers[g] = append(s.peers[g], r)
	}
}

// comparesSome reports whether not all ranks are compared with all others in all pieces.
func (s *series) comparesSome() bool { return len(s.peers) > 1 || s.Classes != nil }

// subtractPeers writes values, [interval][rank], less the median of the rank's peers, and the lower medians
// over all ranks where they are asked for. A rank without any peer is its own.
func (s *series) subtractPeers(dst, v []int64, common []float64) {
	R := s.Ranks
	if R == 1 {
		clear(dst[:len(v)])
		for n := range common {
			common[n] = float64(v[n])
		}
		return
	}
	scratch, own := make([]int64, R), make([]int64, R)
	for n := 0; n < len(v); n += R {
		row, out := v[n:n+R], dst[n:n+R]
		if len(s.peers) == 1 {
			m := robust.MiddleOf(row, scratch)
			at, above, equal, below := m.MediansWithout()
			out = out[:len(row)]
			for r, x := range row {
				others := equal
				if x > at {
					others = above
				}
				if x < at {
					others = below
				}
				out[r] = x - others
			}
			if common != nil {
				common[n/R] = float64(m.Lower())
			}
			continue
		}
		if common != nil {
			common[n/R] = float64(robust.MiddleOf(row, scratch).Lower())
		}
		for _, set := range s.peers {
			for i, r := range set {
				own[i] = row[r]
			}
			if len(set) == 0 {
				continue
			}
			m := robust.MiddleOf(own[:len(set)], scratch)
			for _, r := range set {
				out[r] = row[r] - m.MedianWithout(row[r])
			}
		}
	}
}

// noiseValues bounds how many differences the noise is the median of: more change
// nothing in the second digit.
const noiseValues = 1 << 14

// alternating is how many times its first quartile the median of absolute differences must be
// for something to come and go in them; of normal values it is 2.1 times, of values with heavy
// tails little more.
const alternating = 4

// noiseOf returns the standard deviation of a piece's excess, from its differences in time: from levels a persistent delay
// between two ranks would be its own noise. Where a delay comes and goes within few steps, differences contain it, and levels
// less each rank's own do not; then the smaller counts. Of few ranks one or two late ones make half of the differences: there
// the smallest estimate counts of those that contain less.
func (s *series) noiseOf(k int) float64 {
	v := s.differences(k, 1)
	middle := robust.UpperTime(v)
	out := robust.SigmaOfDifference*float64(middle) + 1
	if len(v) >= 8 && middle > alternating*robust.Select(v, len(v)/4) {
		out = min(out, s.noiseOfLevels(k))
	}
	if slices.ContainsFunc(s.peers, func(set []int) bool { return len(set) > 1 && len(set) <= halfLate }) {
		out = min(out, s.noiseOfLags(k), s.noiseInParts(k))
	}
	return out
}

// differences returns those in time of a piece's excess, absolute, of intervals so far apart, or of some of them.
func (s *series) differences(k, lag int) []int64 {
	R, e := s.Ranks, s.excess[k]
	stride := max(1, len(e)/noiseValues)
	v := make([]int64, 0, len(e)/stride+R)
	for n := lag; n < s.Intervals; n += stride {
		if s.Step(n, k) < 0 || s.Step(n-lag, k) < 0 {
			continue
		}
		a, b := e[(n-lag)*R:(n-lag+1)*R], e[n*R:(n+1)*R]
		for r, x := range b {
			v = append(v, max(x-a[r], a[r]-x))
		}
	}
	return v
}

const (
	// mostLag is how many intervals apart differences are taken at most: what comes back in every so many
	// is in none of them.
	mostLag = 8
	// halfLate is of how many ranks half may be late now and then by one cause: so many share a host.
	halfLate = 8
	// oneInParts is which part of the variance must be left, at most, where a rank's values are cut in two for them to be
	// of two levels: of a normal distribution 1 − 2/π = 0.36 is, of a uniform one a quarter, of an exponential one 0.35.
	oneInParts = 1.0 / 16
	// fewestInPart is the smallest part, values.
	fewestInPart = 3
)

// noiseOfLags returns the least standard deviation from differences of intervals up to mostLag apart.
func (s *series) noiseOfLags(k int) float64 {
	out := math.Inf(1)
	for lag := 2; lag <= min(mostLag, s.Intervals/4); lag++ {
		out = min(out, robust.SigmaOfDifference*float64(robust.UpperTime(s.differences(k, lag)))+1)
	}
	return out
}

// noiseInParts returns the standard deviation from differences inside parts: where the values of a rank lie in two parts
// far from each other, it is late in one and not in the other.
func (s *series) noiseInParts(k int) float64 {
	stride := 1 + s.Intervals/noiseValues
	var v []int64
	own := make([]int64, 0, s.Intervals/stride+1)
	for r := range s.Ranks {
		own = own[:0]
		for n := 0; n < s.Intervals; n += stride {
			if s.Step(n, k) >= 0 {
				own = append(own, s.excess[k][n*s.Ranks+r])
			}
		}
		cut, ok := partsOf(own)
		last := [2]int64{}
		seen := [2]bool{}
		for _, x := range own {
			part := 0
			if ok && x > cut {
				part = 1
			}
			if seen[part] {
				v = append(v, max(x-last[part], last[part]-x))
			}
			last[part], seen[part] = x, true
		}
	}
	if len(v) == 0 {
		return math.Inf(1)
	}
	return robust.SigmaOfDifference*float64(robust.UpperTime(v)) + 1
}

// partsOf returns the cut above which values are of an upper part, where cutting them in two leaves hardly any of their variance;
// else false.
func partsOf(values []int64) (cut int64, ok bool) {
	x := slices.Sorted(slices.Values(values))
	if len(x) < 2*fewestInPart {
		return 0, false
	}
	n, sum, squares := float64(len(x)), 0.0, 0.0
	for _, v := range x {
		d := float64(v - x[0])
		sum, squares = sum+d, squares+d*d
	}
	all := squares - sum*sum/n
	best, left, low := all, 0.0, 0.0
	for i, v := range x[:len(x)-fewestInPart] {
		d := float64(v - x[0])
		low += d
		if i+1 < fewestInPart {
			continue
		}
		// What is left of the squares beside the means of both parts.
		m := float64(i + 1)
		if left = squares - low*low/m - (sum-low)*(sum-low)/(n-m); left < best {
			best, cut = left, v+(x[i+1]-v)/2
		}
	}
	return cut, all > 0 && best < oneInParts*all
}

// noiseOfLevels returns the standard deviation of a piece's excess less each rank's median, from its median absolute value.
func (s *series) noiseOfLevels(k int) float64 {
	var all []int64
	own := make([]int64, 0, s.Intervals)
	for r := range s.Ranks {
		own = own[:0]
		for n := range s.Intervals {
			if s.Step(n, k) >= 0 {
				own = append(own, s.excess[k][n*s.Ranks+r])
			}
		}
		m := robust.MedianTimeOf(own, make([]int64, len(own)))
		for _, x := range own {
			all = append(all, max(x-m, m-x))
		}
	}
	return robust.SigmaOfMAD*float64(robust.UpperTime(all)) + 1
}

// recharge computes who led at a point, and charges the pieces that lead to it.
func (s *series) recharge(p int) {
	s.subtractPeers(s.lead[p], s.arrive[p], nil)
	for k, piece := range s.Pieces {
		if piece.Point == p {
			s.charge[k].fill(s.excess[k], s.lead[p], int64(slackOfNoise*s.noise[k]), s.Ranks)
			s.spread[k] = nil
		}
	}
}

// slackOfNoise is how many standard deviations of noise are charged to nobody.
const slackOfNoise = 2

// usualEntries is of how many values one is charged, where there is noise alone.
const usualEntries = 32

// fill charges each rank with its excess beyond the slack, but no more than it led by:
// what nobody waited for is nobody's delay.
func (c *charges) fill(excess, lead []int64, slack int64, R int) {
	c.entries, c.sum = slices.Grow(c.entries[:0], len(excess)/usualEntries), 0
	if c.total == nil {
		c.total = make([]float64, R)
	}
	if c.largest == nil {
		c.largest = make([]float64, len(excess)/R)
	}
	clear(c.total)
	for n := 0; n < len(excess); n += R {
		e, l := excess[n:n+R], lead[n:n+R]
		most := int64(0)
		for r, x := range e {
			most = max(most, min(x, l[r]))
			if x <= slack || l[r] <= 0 { // nearly all
				continue
			}
			x = min(x-slack, l[r])
			c.entries = append(c.entries, entry{int32(n / R), int32(r), float64(x)})
			c.total[r] += float64(x)
		}
		c.largest[n/R] = float64(most)
	}
	for _, x := range c.total {
		c.sum += x
	}
}

// rankCharges returns the charges of one rank, [interval].
func (c *charges) rankCharges(r, intervals int) []float64 {
	out := make([]float64, intervals)
	for _, e := range c.entries {
		if int(e.rank) == r {
			out[e.at] = e.x
		}
	}
	return out
}

// remove takes d, [interval], off a rank's piece. Of two ranks one is late by what it takes longer than the other: no more than that and
// the noise is taken off it, or the other would be late in intervals in which it takes less.
func (s *series) remove(k, r int, d []float64) {
	p, set := s.Pieces[k].Point, s.peers[s.of[r]]
	slack := int64(slackOfNoise * s.noise[k])
	s.detach(&s.rest[k], s.Work[k])
	s.detach(&s.arrive[p], s.Arrivals[p])
	for n, x := range d {
		if x != 0 {
			y := int64(math.Round(x))
			if len(set) == 2 {
				other := set[0] + set[1] - r
				y = min(y, max(0, s.rest[k][n*s.Ranks+r]-s.rest[k][n*s.Ranks+other]+slack))
			}
			s.rest[k][n*s.Ranks+r] -= y
			s.arrive[p][n*s.Ranks+r] -= y
		}
	}
	s.subtractPeers(s.excess[k], s.rest[k], s.common[k])
	s.recharge(p)
}

// detach makes a copy of values that are still those of the division.
func (s *series) detach(v *[]int64, recorded []int64) {
	if len(recorded) > 0 && &(*v)[0] == &recorded[0] {
		*v = s.Memory.Take(len(recorded))
		copy(*v, recorded)
	}
}

// lengths returns how long each interval takes, by its last arrivals.
func (s *series) lengths(arrive [][]int64) []float64 {
	out := make([]float64, s.Intervals)
	for p := range arrive {
		for n := range out {
			out[n] += float64(slices.Max(arrive[p][n*s.Ranks : (n+1)*s.Ranks]))
			if p < len(s.After) {
				out[n] += float64(s.After[p][n])
			}
		}
	}
	return out
}

// lengthOf returns the median length of the intervals struck, as recorded.
func lengthOf(took []float64, struck []bool) int64 {
	var of []float64
	for i, hit := range struck {
		if hit {
			of = append(of, took[i])
		}
	}
	if len(of) == 0 {
		return 0
	}
	return int64(robust.Median(of))
}

// length returns the length of the run: Σ lengths where ranks wait for one another; where they run freely the last rank's.
func (s *series) length(arrive [][]int64) float64 {
	if !s.Free() {
		sum := 0.0
		for _, x := range s.lengths(arrive) {
			sum += x
		}
		return sum
	}
	R := s.Ranks
	own := make([]int64, R)
	for n := range s.Intervals {
		for r, x := range arrive[0][n*R : (n+1)*R] {
			own[r] += x
		}
	}
	return float64(slices.Max(own))
}

// column returns a column of values, [interval][rank].
func (s *series) column(v []int64, r int) []float64 {
	out := make([]float64, s.Intervals)
	for n := range out {
		out[n] = float64(v[n*s.Ranks+r])
	}
	return out
}

// median returns the mean of the two middle values; it keeps the order of v.
func median(v []float64) float64 { return robust.Median(slices.Clone(v)) }

// winsorizedMean returns the mean of values with those beyond the quartiles moved to them: a level that half of the values show.
func winsorizedMean(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	s := slices.Clone(v)
	slices.SortFunc(s, cmp.Compare[float64])
	low, high := sortedQuantile(s, 0.25), sortedQuantile(s, 0.75)
	sum := 0.0
	for _, x := range v {
		sum += min(max(x, low), high)
	}
	return sum / float64(len(v))
}

func sortedQuantile(s []float64, p float64) float64 {
	place := p * float64(len(s)-1)
	k := int(place)
	if k+1 >= len(s) {
		return s[len(s)-1]
	}
	return s[k] + (place-float64(k))*(s[k+1]-s[k])
}
