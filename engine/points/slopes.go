package points

import (
	"math"
	"slices"

	"github.com/sfstat/sfstat/internal/robust"
)

// slopePoints returns all stages with the slope of duration on arrival.
//
// Where wall time closes the steps, arrivals run on from step to step. Where it does
// not, unrecorded time accumulates in them until they no longer show when a rank
// arrives; then (open) an arrival is counted from the rank's end of the same stage in
// the step before: where ranks synchronise that was one moment for all.
func slopePoints(c *Steps, open bool, g Gates) []Point {
	S, R := len(c.Stages), c.Ranks
	values, wide := make([][]float64, S), make([][]float64, S)
	spread, spreads := make([]float64, S), 0
	steps := 0
	for _, at := range c.stretches() {
		n := at[1] - at[0]
		if open {
			n--
		}
		if n < 2 {
			continue
		}
		steps += n
		visitStages(c, at, open, func(k int, x, y []float64) {
			v, s := blockSlopes(x, y, R, R-1)
			values[k] = append(values[k], v...)
			wide[k] = append(wide[k], s...)
			for i := range x {
				spread[k] += (x[i] + y[i]) * (x[i] + y[i])
			}
		})
		spreads += n
	}
	out := make([]Point, S)
	block := blockOf(steps, R-1)
	for k := range out {
		out[k] = unknownPoint(k)
		far := out[k]
		if open {
			far.judge(widest(values[k], wide[k]), g)
		}
		if 2*len(values[k])*block >= steps {
			out[k].judge(slices.Clone(values[k]), g)
		}
		if far.Evidence == Shown && out[k].Evidence != Shown {
			out[k] = far
		}
	}
	if open {
		dropLoose(out, spread, float64((R-1)*max(1, spreads)))
	}
	return out
}

// deviations of noise are by what a spread is larger than another.
const deviations = 4

// dropLoose takes back slopes that come from the stage before. Where arrivals are counted
// from the step before, a rank that is late in one stage in many steps on end, and by as much
// shorter in the next, fits both orders: late in the first and waited for in the second, or
// early in the second and waiting in the first. Where that begins and ends only one of them
// fits: from one end of the stage where ranks synchronise to the next, all take as long, but
// for what is not recorded.
func dropLoose(points []Point, spread []float64, freedom float64) {
	least := slices.Min(spread) * (1 + deviations/math.Sqrt(freedom))
	for k := range points {
		if spread[k] > least && points[k].Evidence == Shown {
			points[k].Evidence = None
		}
	}
}

// unknownPoint returns a stage of which no slope is known.
func unknownPoint(k int) Point {
	return Point{Stage: k, Slope: math.NaN(), Low: math.NaN(), High: math.NaN()}
}

// judge sets the slope and its interval, unless there are too few slopes.
func (p *Point) judge(slopes []float64, g Gates) {
	lo, mid, hi, ok := robust.MedianInterval(slopes, g.Confidence)
	if !ok {
		return
	}
	p.Slope, p.Low, p.High = mid, lo, hi
	if hi <= g.Slope && mid >= 1/g.Slope {
		p.Evidence = Shown
	}
}

// visitStages visits the stages of a stretch with what is left of arrivals and durations
// beyond the step's mean and the rank's line over the steps, [step][rank].
func visitStages(c *Steps, at [2]int, open bool, visit func(k int, x, y []float64)) {
	S, R, T := len(c.Stages), c.Ranks, at[1]-at[0]
	if open {
		T--
	}
	first := at[1] - T
	x, y := make([]float64, T*R), make([]float64, T*R)
	if !open {
		arrivals(c, at, x)
		detrend(x, R)
	}
	for k := range S {
		if open {
			endToArrival(c, first, k, x)
			detrend(x, R)
		}
		for t := range T {
			center(y[t*R:(t+1)*R], c.At(first+t, k))
		}
		detrend(y, R)
		visit(k, x, y)
		// A line is linear in what it is fitted to: what is left of an arrival and of
		// the duration after it add up to what is left of the next arrival.
		if !open {
			for i := range x {
				x[i] += y[i]
			}
		}
	}
}

// arrivals fills in when the ranks begin each step of a stretch, as deviations from the mean.
func arrivals(c *Steps, at [2]int, x []float64) {
	R := c.Ranks
	prefix := make([]int64, R)
	for t := range at[1] - at[0] {
		center(x[t*R:(t+1)*R], prefix)
		for k := range c.Stages {
			for r, d := range c.At(at[0]+t, k) {
				prefix[r] += d
			}
		}
	}
}

// endToArrival fills in how long after its end of stage k in the step before each rank begins it, as deviations from the mean.
func endToArrival(c *Steps, first, k int, x []float64) {
	R := c.Ranks
	since := make([]int64, R)
	for t := 0; t*R < len(x); t++ {
		c.exitToArrival(first+t, k, since)
		center(x[t*R:(t+1)*R], since)
	}
}

// center writes the deviations of v from their mean. Counted from the first value the
// numbers are small and exact.
func center(dst []float64, v []int64) {
	sum := int64(0)
	for _, x := range v {
		sum += x - v[0]
	}
	mean := float64(sum) / float64(len(v))
	for r, x := range v {
		dst[r] = float64(x-v[0]) - mean
	}
}

// detrend takes each rank's least-squares line over the steps out of y, [step][rank].
func detrend(y []float64, R int) {
	T := len(y) / R
	sum, rise := make([]float64, R), make([]float64, R)
	mid := float64(T-1) / 2
	for t := range T {
		row := y[t*R : (t+1)*R]
		w := float64(t) - mid
		for r, v := range row {
			sum[r] += v
			rise[r] += w * v
		}
	}
	n := float64(T)
	for r := range sum {
		sum[r] /= n
		if T > 1 {
			rise[r] /= n * (n*n - 1) / 12
		}
	}
	for t := range T {
		row := y[t*R : (t+1)*R]
		w := float64(t) - mid
		for r := range row {
			row[r] -= sum[r] + rise[r]*w
		}
	}
}

// blockSlopes returns the slopes of y on x over blocks of steps in which arrivals differ at all, and the spread of the arrivals
// of each. freedom is the ranks less one for each mean that was taken off.
func blockSlopes(x, y []float64, R, freedom int) (slopes, spread []float64) {
	T := len(x) / R
	block := blockOf(T, freedom)
	for t := 0; t+block <= T; t += block {
		xx, xy := 0.0, 0.0
		for i := t * R; i < (t+block)*R; i++ {
			xx += x[i] * x[i]
			xy += x[i] * y[i]
		}
		if xx > float64(R*block) { // below a nanosecond for each rank, what is left is rounding
			slopes, spread = append(slopes, xy/xx), append(spread, xx)
		}
	}
	return slopes, spread
}

// blockOf returns how many consecutive steps share one slope. A slope over few ranks is noisy and its ratio heavy-tailed, so
// that two ranks need steps together; but the interval needs a dozen slopes more than it needs good ones. freedom is the ranks
// less one.
func blockOf(steps, freedom int) int {
	const enough, slopes = 4, 12
	return max(1, min((enough+freedom-1)/freedom, steps/slopes))
}

// widest returns the slopes of the quarter with the widest spread of arrivals: where a rank is late in some steps only,
// unrecorded time outweighs the others.
func widest(slopes, spread []float64) (out []float64) {
	n := len(slopes)
	if n < 4 {
		return nil
	}
	least := robust.Select(slices.Clone(spread), n-n/4)
	for k, x := range spread {
		if x >= least {
			out = append(out, slopes[k])
		}
	}
	return out
}
