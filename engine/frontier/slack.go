package frontier

import "slices"

// Slack is how long a rank may be delayed in a stage, ns a step, before others wait for it longer than
// they wait for the last of the others: the mean over ranks and steps, where the ranks synchronise
// next. 0 where nothing is known of when ranks arrive: of one rank, below the denominator floor.
func (r *Result) Slack(stage int) float64 {
	if stage >= len(r.slip) {
		return 0
	}
	return r.slip[stage]
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

// slack fills what Result.Slack needs: for every stage the slip where ranks synchronise next, in
// the cyclic order of rows.
func (a *accounting) slack() {
	if a.slips == nil || a.v.ranks() < 2 || !a.interpretable() {
		return
	}
	a.r.slip = make([]float64, len(a.groups))
	for g, rows := range a.groups {
		a.r.slip[g] = a.slips.next(slices.Max(rows))
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
