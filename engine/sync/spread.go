package sync

import (
	"math"
	"slices"

	"github.com/sfstat/sfstat/internal/ordered"
)

// learnedCohorts is the number of cohorts of a place from which its lag is learned.
const learnedCohorts = 64

// Sample returns up to about 64 cohorts: the cohorts with the widest spread, which carry the information, and a regular
// sample of the rest. Several groups have equal parts of it; otherwise a group with a rank that is late in every step
// would supply all wide cohorts.
func (t *Waits) Sample(all []Cohort) (out []Cohort) {
	if len(all) <= learnedCohorts {
		return all
	}
	var groups ordered.List[int32, []Cohort]
	for _, c := range all {
		of, _ := groups.Of(t.Call(c[0]).Group)
		*of = append(*of, c)
	}
	if n := len(groups.All); n == 1 || n > learnedCohorts/2 {
		return t.sampleWide(all, learnedCohorts)
	}
	for _, of := range groups.All {
		out = append(out, t.sampleWide(of, learnedCohorts/len(groups.All))...)
	}
	return out
}

// sampleWide returns about most cohorts.
func (t *Waits) sampleWide(all []Cohort, most int) (out []Cohort) {
	if len(all) <= most {
		return all
	}
	spread := make([]int64, len(all))
	for i, c := range all {
		spread[i] = Span(c, func(e Entry) int64 { return t.Time(Previous(e, 1)) })
	}
	limit := slices.Clone(spread)
	wide := quantile(limit, len(all)-most/2, len(all))
	every := max(1, len(all)/(most/2))
	for i, c := range all {
		if spread[i] > wide || i%every == 0 {
			out = append(out, c)
		}
	}
	return out
}

// Span returns the largest value of f over the entries of a cohort, less the smallest.
func Span(c Cohort, f func(Entry) int64) int64 {
	low, high := int64(math.MaxInt64), int64(math.MinInt64)
	for _, e := range c {
		low, high = min(low, f(e)), max(high, f(e))
	}
	return high - low
}

// gathersRanks reports whether ranks that are always late at the call before are no longer late here.
func (t *Waits) gathersRanks(sample []Cohort) bool {
	before := t.distances(sample, func(e Entry) int64 { return t.Time(Previous(e, 1)) })
	return t.distances(sample, t.Time).constant*2 < before.constant
}

// medians returns the median of each set of values. It reorders them.
func medians(of [][]int64) []int64 {
	out := make([]int64, len(of))
	for i, x := range of {
		out[i] = median(x)
	}
	return out
}

// Deviations returns how far the value of each entry is from the median of its cohort, by rank and, where there are
// several, by clock.
func (t *Waits) Deviations(sample []Cohort, of func(Entry) int64) (ranks, clocks [][]int64) {
	ranks, clocks = make([][]int64, len(t.Ranks)), make([][]int64, len(t.Clocks))
	var x, sorted []int64
	for _, c := range sample {
		x = x[:0]
		for _, e := range c {
			x = append(x, of(e))
		}
		sorted = append(sorted[:0], x...)
		mid := median(sorted)
		for i, e := range c {
			if ranks[e.Process] == nil {
				ranks[e.Process] = make([]int64, 0, len(sample))
			}
			ranks[e.Process] = append(ranks[e.Process], x[i]-mid)
			if d := t.Domain[e.Process]; len(t.Clocks) > 1 {
				clocks[d] = append(clocks[d], x[i]-mid)
			}
		}
	}
	return ranks, clocks
}

// commonVariation returns how much the work of whole cohorts varies, ns in sum. If all ranks wait for a rank that is
// late from some step on, and the wait is not taken off, all of them look slower from that step on.
func (t *Waits) commonVariation(sample []Cohort, lag int8) (sum int64) {
	var mids []int64
	for _, c := range sample {
		mids = append(mids, middleOf(c, func(e Entry) int64 { return t.WorkSince(e, lag) }))
	}
	level := median(slices.Clone(mids))
	for i, mid := range mids {
		sum += int64(len(sample[i])) * abs(mid-level)
	}
	return sum
}

// scatter returns how much work differs between the members of cohorts, and how much of that is within the ranks.
func (t *Waits) scatter(sample []Cohort, lag int8) (all, within int64) {
	d := t.distances(sample, func(e Entry) int64 { return t.WorkSince(e, lag) })
	return d.all, d.within
}

// distances sum up how far values of the entries of cohorts are from
//
//	asRead      the median of the cohort
//	all         that median and the usual difference of the clock, which may be its offset
//	within      the usual difference of the rank
//	aboutTrend  the nearest of that, its line and its two levels
//	constant    and how far the usual difference of each rank is from that of its clock
//
// A rank with fewer than three entries has no usual difference.
type distances struct{ all, within, aboutTrend, constant, asRead int64 }

// minLineValues is the number of values that a line needs to differ from a level.
const minLineValues = 8

// distanceToLine returns how far values are, in sum, from the line between the medians of their two halves. It fits a
// rank whose delay grows. Too few values give [math.MaxInt64].
func distanceToLine(x []int64) (sum int64) {
	n := len(x)
	if n < minLineValues {
		return math.MaxInt64
	}
	first, last := median(slices.Clone(x[:n/2])), median(slices.Clone(x[n-n/2:]))
	for i, v := range x {
		at := i - (n/2-1)/2 // from where a growing half has its lower median
		sum += abs(v - first - int64(float64(last-first)*float64(at)/float64(n-n/2)))
	}
	return sum
}

// minLevelValues is the number of values that a level needs.
const minLevelValues = 5

// distanceToStep returns how far values are, in sum, from two levels: one up to the change, one after it. It fits a rank
// whose delay begins or ends at some step. Too few values give [math.MaxInt64].
func distanceToStep(x []int64) int64 {
	if len(x) < 2*minLevelValues {
		return math.MaxInt64
	}
	// Where the level changes, the sum is furthest from the line to that of all (Page 1955).
	sum, all, at, most := 0.0, 0.0, 0, -1.0
	for _, v := range x {
		all += float64(v)
	}
	for i, v := range x[:len(x)-minLevelValues] {
		sum += float64(v)
		if off := math.Abs(sum - all*float64(i+1)/float64(len(x))); i+1 >= minLevelValues && off > most {
			at, most = i+1, off
		}
	}
	before, after := x[:at], x[at:]
	return distanceTo(before, median(slices.Clone(before))) + distanceTo(after, median(slices.Clone(after)))
}

// distanceTo returns how far values are from a level, in sum.
func distanceTo(x []int64, level int64) (sum int64) {
	for _, v := range x {
		sum += abs(v - level)
	}
	return sum
}

// distances returns the distances of the values of of over the entries of cohorts.
func (t *Waits) distances(sample []Cohort, of func(Entry) int64) (d distances) {
	ranks, clocks := t.Deviations(sample, of)
	level := medians(clocks)
	for r, x := range ranks {
		own, clock := int64(0), int64(0)
		if len(x) >= 3 {
			own, clock = median(slices.Clone(x)), level[t.Domain[r]]
		}
		d.constant += abs(own - clock)
		for _, v := range x {
			d.asRead += abs(v)
			d.all += abs(v - clock)
		}
		within := distanceTo(x, own)
		d.within += within
		d.aboutTrend += min(within, distanceToLine(x), distanceToStep(x))
	}
	return d
}
