package delay

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/internal/robust"
)

// leastOfGrowth is how many independent values a growth must go through, leastOfCut of how many of few values a level is.
const leastOfGrowth, leastOfCut = 3, 2

// rampChance is the chance of a slope up to which a rank's delay is taken to go along a line: below that of a claim, since
// slow noise of a rank looks like one.
const rampChance = 0.001

// line is a straight line through values.
type line struct{ start, slope float64 }

// lineThrough returns the least-squares line through values, what is left of each beside it, and the sum of its squares.
// The values, and then what is left, are clipped to their central 98 %, and the line is fitted again.
func lineThrough(x []float64) (l line, left []float64, squares float64) {
	n := float64(len(x))
	values, middle, sxx := slices.Clone(x), (n-1)/2, n*(n*n-1)/12
	clip98(values)
	for range 3 {
		mean, sxy := 0.0, 0.0
		for _, v := range values {
			mean += v / n
		}
		for i, v := range values {
			sxy += (float64(i) - middle) * (v - mean)
		}
		l.slope = sxy / sxx
		l.start = mean - l.slope*middle
		left = left[:0]
		for i, v := range x {
			left = append(left, v-l.value(i))
		}
		squares = clip98(left)
		for i := range values {
			values[i] = l.value(i) + left[i]
		}
	}
	return l, left, squares
}

// value returns the line at value i.
func (l line) value(i int) float64 { return l.start + l.slope*float64(i) }

// clip98 clips values to their central 98 %, and returns the sum of their squares.
func clip98(x []float64) (squares float64) {
	s := slices.Clone(x)
	low, high := robust.Quantile(s, 0.01), robust.Quantile(s, 0.99)
	for i, v := range x {
		x[i] = min(max(v, low), high)
		squares += x[i] * x[i]
	}
	return squares
}

// splitResiduals returns the squares that are left beside a level up to a value and another from there on.
func splitResiduals(x []float64, at int) float64 {
	left := make([]float64, 0, len(x))
	for _, part := range [][]float64{x[:at], x[at:]} {
		level := median(slices.Clone(part))
		for _, v := range part {
			left = append(left, v-level)
		}
	}
	return clip98(left)
}

// rise returns the line through values that go along it rather than from one level to another, and the chance of as steep
// a one either way: Student's t of the slope, of as many values as are independent. The autocorrelation time that
// counts them is that of what is left beside the line, and counts twice, since less is left than there was. p is 1 of other values.
func rise(x []float64) (l line, p float64) {
	n := len(x)
	if n < shortest {
		return l, 1
	}
	edge := shortest
	if n < 2*edge {
		edge = leastOfCut
	}
	l, rest, left := lineThrough(x)
	if at, _ := bestCut(x, edge); splitResiduals(x, at) <= left {
		return l, 1
	}
	values := float64(n) / (2*newAutocovariance([][]float64{rest}).tau() - 1)
	if values < leastOfGrowth {
		return l, 1
	}
	explained := l.slope * l.slope * float64(n) * (float64(n)*float64(n) - 1) / 12
	t := math.Sqrt((values - 2) * explained / max(left, math.SmallestNonzeroFloat64))
	return l, min(1, 2*distuv.StudentsT{Sigma: 1, Nu: values - 2}.Survival(t))
}

// growth returns what all ranks have in common where it grows along a line from the first step to the last, better than
// from one level to another, corrected for the stages. level is the row without the growth.
func (s *trend) growth(c shared, o Options) (f claim.Claim, level shared, ok bool) {
	n := len(c.x)
	if l, _, _ := lineThrough(c.x); l.slope*float64(n-1) < leastShift*s.step {
		return f, c, false
	}
	l, p := rise(c.x)
	cost := 0.0
	level = c
	level.x = slices.Clone(c.x)
	for i, x := range c.x {
		cost += x - l.start
		level.x[i] -= l.slope * float64(i)
	}
	if p = min(1, p*float64(len(s.rows))); p > o.Strong || cost < leastCommon*s.whole {
		return f, c, false
	}
	f = s.commonFinding(c, claim.Regression, slices.Repeat([]bool{true}, n), cost)
	f.Steps.Pattern, f.Steps.Period, f.Steps.List, f.P, f.Certainty = claim.Span, 0, nil, p, claim.Supported
	f.Before, f.From, f.Grows = int64(l.start), int64(l.value(n-1)), true
	return f, level, true
}

// ramp returns the form of a delay that grows or falls along a line, of which e is a rank's excess in recorded intervals,
// 0 in others; false where a level is as likely. at are the intervals.
func (s *series) ramp(e []float64, at []int) (shape, bool) {
	x := make([]float64, len(at))
	for i, n := range at {
		x[i] = e[n]
	}
	l, p := rise(x)
	last := len(x) - 1
	if last < 0 || math.Abs(l.slope)*float64(last) < leastShift*s.step || p > rampChance || max(l.start, l.value(last)) <= 0 {
		return shape{}, false
	}
	out := shape{d: make([]float64, len(e)), pattern: claim.Constant}
	var sizes []float64
	for i, n := range at {
		if d := l.value(i); d > leastOfStep*s.step {
			out.d[n] = d
			sizes = append(sizes, d)
		}
	}
	if float64(len(sizes)) < mostStruck*float64(len(at)) {
		out.pattern = claim.Span
	}
	if len(sizes) == 0 {
		return shape{}, false
	}
	out.claim, out.grows = robust.Median(sizes), &[2]float64{max(0, l.start), max(0, l.value(last))}
	return out, true
}
