package frontier

import (
	"math"
	"slices"
)

// Detectable is how large a delay of one rank in one stage must be before the
// default judgement names it.
//
// A delay δ of one rank in every step makes the others wait for δ less what it
// would have waited for the last of them itself, L on average over ranks and
// steps. With steps of M it is charged δ − L of a step that has become as much
// longer, and is named from a part g on:
//
//	(δ − L) ÷ (M + δ − L) = g   ⇒   δ = L + M·g ÷ (1 − g)
//
// L is measured at the synchronisation point that follows the stage. What the
// model leaves out (the noise of the mean over steps, and what ranks leave a
// synchronisation point apart) is a twentieth of that in simulated jobs of 2 to
// 32 ranks and 12 to 200 steps, and is added: most delays of the size given are
// named, and next to none a fifth smaller.
type Detectable struct {
	Stage  int   // index in Stages
	Delay  int64 // ns in every step; 0 where Hidden or where no delay is named
	Hidden bool  // all ranks record a delay in it alike: up to all of its time may be one
	// Hides is the time of the stage in a step, ns, where Hidden.
	Hides int64
}

// unmodelled is what a delay must be larger by than the model says.
const unmodelled = 1.05

// Detectable lists, for every stage, the smallest delay that would have been
// named if it takes at least the part minGain of the time. nil where nothing is
// known of when ranks arrive: of one rank, below the denominator floor, without
// model fit.
func (r *Result) Detectable(minGain float64) []Detectable {
	if len(r.slip) != len(r.Stages) || r.Steps == 0 || !(minGain >= 0 && minGain < 1) {
		return nil
	}
	step := float64(r.Makespan) / float64(r.Steps)
	least := step * minGain / (1 - minGain)
	out := make([]Detectable, len(r.Stages))
	for g, s := range r.Stages {
		out[g].Stage = g
		switch {
		case r.hidden[g]:
			out[g].Hidden, out[g].Hides = true, s.Advance/int64(r.Steps)
		case enough(r.Steps, len(r.Ranks)):
			out[g].Delay = int64(math.Ceil(unmodelled * (max(0, r.slip[g]) + least)))
		}
	}
	return out
}

// enough reports whether a rank that is late in all steps is late beyond chance.
func enough(steps, ranks int) bool {
	n := float64(ranks)
	return 2*n*math.Pow(n, -float64(steps)) <= likelyLate
}

// slips sums how far the ranks are behind the last of the others where they
// synchronise.
type slips struct {
	sum   []float64 // [row] Σ over synchronisation points of the mean over ranks, ns
	count []int
	atEnd float64 // the same at the ends of steps; where no row has any
	ends  int
}

func newSlips(rows int) *slips { return &slips{sum: make([]float64, rows), count: make([]int, rows)} }

// slips are those of a course.
func (c *course) slips() *slips {
	s := newSlips(len(c.syncs))
	whole := slices.ContainsFunc(c.syncs, func(g *gathering) bool { return g != nil && g.whole() })
	for t := range c.v.steps {
		for i, g := range c.syncs {
			if g != nil && g.whole() {
				s.sum[i] += slipOf(c.arrivals(t, i))
				s.count[i]++
			}
		}
		if !whole && c.v.over(t) {
			s.atEnd += slipOf(c.end(t))
			s.ends++
		}
	}
	return s
}

// slipOf is the mean over ranks of the last other arrival after its own, ns.
func slipOf(x []int64) float64 {
	last, second, _ := topTwo(x)
	sum := int64(0)
	for _, reached := range x {
		sum += last - reached
	}
	// For the last one itself the last of the others is the second.
	return float64(sum-(last-second)) / float64(len(x))
}

func (s *slips) merge(o *slips) {
	for i := range s.sum {
		s.sum[i] += o.sum[i]
		s.count[i] += o.count[i]
	}
	s.atEnd += o.atEnd
	s.ends += o.ends
}

// detectability fills what Result.Detectable needs: for every stage the slip
// where ranks synchronise next, in the cyclic order of rows.
func (a *accounting) detectability() {
	if a.slips == nil || a.v.ranks() < 2 || !a.interpretable() {
		return
	}
	a.r.slip, a.r.hidden = make([]float64, len(a.groups)), make([]bool, len(a.groups))
	whole := a.syncsAnywhere()
	for g, rows := range a.groups {
		a.r.slip[g] = a.slips.next(slices.Max(rows))
		a.r.hidden[g] = slices.ContainsFunc(rows, func(i int) bool { return a.sync[i] != nil }) || !whole && reducesGradients(a.v.groups[g])
	}
}

// next is the mean slip at the first synchronisation point from a row on, or at
// the ends of steps where there is none.
func (s *slips) next(row int) float64 {
	for k := range s.sum {
		if i := (row + k) % len(s.sum); s.count[i] > 0 {
			return s.sum[i] / float64(s.count[i])
		}
	}
	return s.atEnd / float64(max(1, s.ends))
}
