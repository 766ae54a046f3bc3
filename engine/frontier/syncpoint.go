package frontier

import (
	"math"
	"slices"

	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/internal/robust"
)

// Where do ranks synchronise? Two kinds of evidence, both from durations alone.
//
// Slope. Let x be when a rank begins a stage and y how long the stage takes
// it, prefixes running on across steps. In a stage where ranks wait for the
// last one, a rank that comes a millisecond later waits a millisecond less: y
// falls by as much as x rises, slope −1. In any other stage y does not care,
// slope 0. A slow rank and a waiting rank look the same in averages (one has
// long callbacks, or the seven others have a long backward?), but never in
// fluctuations, so x and y are taken as deviations from the step's mean over
// ranks and from each rank's own line over the steps. That also removes what
// is unknown: the ranks' start skew and their clocks' drift. Both operations
// are linear, so an exact synchronisation point keeps its slope of exactly −1. One slope per
// step, and the median of them with its order-statistic interval, which no
// spike can move far.
//
// Collapse. Count each rank from its previous end of the stage. Where ranks
// synchronise, the last rank's lead over the median one is large when the stage
// begins and gone when it ends. It is weaker evidence, used only when no slope
// of the window is certain (a few steps, or no noise), and never for two ranks:
// it tells one late rank from one early rank by which of them is the minority.

// findSyncPoint tests every recorded stage. named, if not "", settles it. Wall
// time need not hold what passes between steps: where arrivals that run on show
// nothing, those counted within a step may.
// Expected O(T·S·R) time, O(S·(R + T)) memory.
func findSyncPoint(m *rows, g gates.Gates, named string) SyncPoint {
	v := newView(m, CutCarried, 0)
	out := syncPointOf(v, g)
	if out.Evidence != SyncShown && !m.open {
		open := *m
		open.open = true
		if apart := syncPointOf(newView(&open, CutCarried, 0), g); apart.Evidence > out.Evidence || out.At < 0 && suggestsReducing(apart.Boundaries) {
			out = apart
		}
	}
	// Where waits have stages of their own, a backward pass holds none of them.
	if out.Evidence != SyncShown && (out.At < 0 || !slices.ContainsFunc(v.names, waiting)) {
		if at := reducing(out.Boundaries, g); at >= 0 {
			out.At, out.Evidence = at, SyncLikely
		}
	}
	if named != "" {
		out.At, out.Evidence = slices.Index(v.names, named), SyncNamed
	}
	if out.At >= 0 {
		out.Name = v.names[out.At]
	}
	return out
}

// suggestsReducing reports whether ranks may wait, by its slope, in a stage that reduces
// gradients by its name: the interval contains −1 and not 0.
func suggestsReducing(boundaries []Boundary) bool {
	return slices.ContainsFunc(boundaries, func(b Boundary) bool {
		return reducesGradients(b.Name) && b.Low <= -1 && b.High >= -1 && b.High < 0
	})
}

// syncPointOf is what the times of a carried view show.
func syncPointOf(v *view, g gates.Gates) SyncPoint {
	out := SyncPoint{At: -1}
	if v.ranks() < 2 {
		return out
	}
	out.Boundaries = slopeBoundaries(v, g, everyone(v.ranks()))
	sloped := slices.Clone(out.Boundaries)
	if v.open {
		dropLoose(v, out.Boundaries)
	}
	syncWithin(v, out.Boundaries, g)
	takeLast(out.Boundaries, sloped)
	if out.At = tightest(out.Boundaries); out.At >= 0 {
		out.Evidence = SyncShown
	} else if out.At = collapsing(v, out.Boundaries, g); out.At >= 0 {
		out.Evidence = SyncLikely
	}
	return out
}

// dropLoose takes back slopes that come from the stage before. Where arrivals are
// counted within a step, a rank that is late in one stage in many steps on end, and by
// as much shorter in the next, fits both orders: late in the first and waited for in the
// second, or early in the second and waiting in the first. Where that begins and ends
// only one of them fits: from one end of the stage where ranks synchronise to the next,
// all take as long, but for what is not recorded.
func dropLoose(v *view, boundaries []Boundary) {
	const deviations = 4 // of noise, by which a spread is larger than another
	spreads := endSpreads(v)
	least := slices.Min(spreads) * (1 + deviations/math.Sqrt(float64((v.ranks()-1)*v.paired())))
	for i := range boundaries {
		if spreads[i] > least {
			boundaries[i].Syncs = false
		}
	}
}

// endSpreads is, per stage, how much ranks differ in the time from one end of the stage
// to the next: the sum of squares of deviations from the step's mean and the rank's.
func endSpreads(v *view) []float64 {
	R := v.ranks()
	sums, squares, end := make([]float64, len(v.order)*R), make([]float64, len(v.order)), make([]int64, R)
	eachArrivalSinceItsEnd(v, func(t, i int, since, d []int64) {
		for r := range end {
			end[r] = since[r] + d[r]
		}
		c := centreOf(end)
		for r, x := range end {
			dev := c.deviation(x)
			sums[i*R+r] += dev
			squares[i] += dev * dev
		}
	})
	for k, sum := range sums {
		squares[k/R] -= sum * sum / float64(v.paired())
	}
	return squares
}

// takeLast settles what times alone leave open. Where sets synchronise along one axis
// in one stage and along another in the next, each stage looks like a synchronisation point
// of sets, since a set's own transfer keeps its exits together, though between
// them all ranks wait for all. Then the last stage with a certain slope over
// all ranks, which is where gradients are reduced, closes the step.
func takeLast(boundaries, sloped []Boundary) {
	last := -1
	for i, b := range sloped {
		if boundaries[i].Syncs {
			return
		}
		if b.Syncs {
			last = i
		}
	}
	if last >= 0 {
		boundaries[last] = sloped[last]
	}
}

// slopeBoundaries computes the slope of every stage and its interval, ranks
// being compared with those of their set.
func slopeBoundaries(v *view, g gates.Gates, among *gathering) []Boundary {
	slopes := stageSlopes(v, among)
	block := blockOf(v.paired(), v.ranks()-len(among.sets))
	out := make([]Boundary, len(v.order))
	for i := range out {
		b := &out[i]
		*b = Boundary{Stage: i, Name: v.names[i], Slope: math.NaN(), Low: math.NaN(), High: math.NaN()}
		if among.whole() {
			b.slopes = slopes[i].values
		}
		far := *b
		if v.open {
			far.lies(slopes[i].widest(), g)
		}
		if 2*len(slopes[i].values)*block >= v.paired() {
			b.lies(slopes[i].values, g)
		}
		if far.Syncs && !b.Syncs {
			*b = far
		}
	}
	return out
}

// lies sets the interval of the slope, and whether it is a synchronisation point's,
// unless there are too few slopes. It puts them in another order.
func (b *Boundary) lies(slopes []float64, g gates.Gates) {
	if lo, mid, hi, ok := robust.MedianInterval(slopes, g.SyncPoint.Confidence); ok {
		b.Slope, b.Low, b.High = mid, lo, hi
		// Beyond the gate on the one side, within its inverse on the other:
		// a synchronisation point's slope is near −1, not anything negative.
		b.Syncs = hi <= g.SyncPoint.Slope && mid >= 1/g.SyncPoint.Slope
	}
}

// tightest is the synchronisation point with the narrowest interval, −1 without any.
func tightest(boundaries []Boundary) int {
	best := -1
	for i, b := range boundaries {
		if b.Syncs && (best < 0 || b.High-b.Low < boundaries[best].High-boundaries[best].Low) {
			best = i
		}
	}
	return best
}

// collapsing is the stage in which leads collapse most, if they do in every
// step in which a rank was surely late, and there are two such steps or more;
// it marks the boundary. −1 without one.
func collapsing(v *view, boundaries []Boundary, g gates.Gates) int {
	if v.ranks() < 3 {
		return -1
	}
	best, least := -1, math.Inf(1)
	before, after := stageLeads(v)
	for i := range boundaries {
		b := &boundaries[i]
		b.Before, b.After = robust.MedianTime(slices.Clone(before[i])), robust.MedianTime(slices.Clone(after[i]))
		worst, late := 0.0, 0
		for t, lead := range before[i] {
			if lead > saturated(2, int64(g.Leader.GapAbs)) {
				late++
				worst = max(worst, float64(after[i][t])/float64(lead))
			}
		}
		if late >= 2 && 2*late >= len(before[i]) && worst <= -g.SyncPoint.Slope && worst < least && !b.excludesSync(g) {
			best, least = i, worst
		}
	}
	if best >= 0 {
		boundaries[best].Syncs = true
	}
	return best
}

// reducing is the last stage that reduces gradients by its name, unless its
// slope excludes a synchronisation point; it marks the boundary. −1 without one. Two ranks
// need it often: they give a slope few degrees of freedom, and no minority.
func reducing(boundaries []Boundary, g gates.Gates) int {
	for i := len(boundaries) - 1; i >= 0; i-- {
		b := &boundaries[i]
		if reducesGradients(b.Name) && b.Within == "" {
			b.Syncs = !b.excludesSync(g)
			if b.Syncs {
				return i
			}
			return -1
		}
	}
	return -1
}

// excludesSync reports whether the slope's interval lies beyond what a
// synchronisation point's may be, on either side.
func (b Boundary) excludesSync(g gates.Gates) bool {
	return b.Low > g.SyncPoint.Slope || b.High < 1/g.SyncPoint.Slope
}

// blockOf is how many consecutive steps share one slope. A slope over few ranks
// is noisy and its ratio heavy-tailed, so that two ranks need steps together;
// but the interval needs a dozen slopes more than it needs good ones.
// freedom is the ranks less the sets in which they are compared.
func blockOf(steps, freedom int) int {
	const enough, slopes = 4, 12
	return max(1, min((enough+freedom-1)/freedom, steps/slopes))
}

// eachArrival runs through a carried view: prefix is when each rank begins row
// i of step t, d how long it takes.
func eachArrival(v *view, visit func(t, i int, prefix, d []int64)) {
	prefix := make([]int64, v.ranks())
	for t := range v.steps {
		for i := range v.order {
			d := v.row(t, i)
			visit(t, i, prefix, d)
			addTo(prefix, d)
		}
	}
}

// centre is the mean of values. Taken from the first of them, the numbers are small and
// exact.
type centre struct {
	first int64
	mean  float64
}

func centreOf(v []int64) centre {
	sum := int64(0)
	for _, x := range v {
		sum += x
	}
	return centre{v[0], float64(sum-int64(len(v))*v[0]) / float64(len(v))}
}

// deviation of a value from the mean.
func (c centre) deviation(x int64) float64 { return float64(x-c.first) - c.mean }

// center writes the deviations of v from their mean.
func center(dst []float64, v []int64) {
	c := centreOf(v)
	for r, x := range v {
		dst[r] = c.deviation(x)
	}
}

// stageLeads is, per stage and step after the first, the last rank's lead over
// the median rank when the stage begins and when it ends, counted from where
// each rank ended that stage in the step before.
func stageLeads(v *view) (before, after [][]int64) {
	R, S := v.ranks(), len(v.order)
	before, after = make([][]int64, S), make([][]int64, S)
	previous := make([][]int64, S)
	for i := range previous {
		previous[i] = make([]int64, R)
	}
	from, to, scratch := make([]int64, R), make([]int64, R), make([]int64, R)
	eachArrival(v, func(t, i int, prefix, d []int64) {
		for r, p := range prefix {
			from[r] = p - previous[i][r]
			to[r] = from[r] + d[r]
			previous[i][r] = p + d[r]
		}
		if t > 0 {
			before[i] = append(before[i], slices.Max(from)-robust.MedianTimeOf(from, scratch))
			after[i] = append(after[i], slices.Max(to)-robust.MedianTimeOf(to, scratch))
		}
	})
	return before, after
}

// skew is how the ranks' time scales differ, seen where they synchronise.
type skew struct {
	start  []int64 // [rank] offset at the window's first step, ≥ 0
	spread int64   // largest offset
	drift  float64 // parts per million between the fastest and slowest clock
}

// skewAt fits each rank's end of stage i, as a deviation from the mean over
// ranks, with a line over the steps. At a synchronisation point those ends are one moment, so
// the intercept is the rank's offset and the slope its drift.
func skewAt(v *view, stage int) skew {
	R, T := v.ranks(), v.steps
	lines := make([]line, R)
	end, y := make([]int64, R), make([]float64, R)
	var total int64
	eachArrival(v, func(t, i int, prefix, d []int64) {
		if i != stage {
			return
		}
		for r, p := range prefix {
			end[r] = p + d[r]
		}
		total = end[0]
		center(y, end)
		for r := range y {
			lines[r].add(float64(t), y[r])
		}
	})
	s := skew{start: make([]int64, R)}
	top, low, high := math.Inf(-1), math.Inf(1), math.Inf(-1)
	for r := range lines {
		l := &lines[r]
		l.fit(T)
		top = max(top, l.at0)
		low, high = min(low, l.slope), max(high, l.slope)
	}
	for r, l := range lines {
		s.start[r] = int64(top - l.at0)
		s.spread = max(s.spread, s.start[r])
	}
	if total > 0 {
		s.drift = (high - low) * float64(T) / float64(total) * 1e6
	}
	return s
}
