package frontier

import (
	"slices"
)

// gathering is who waits for whom in a synchronisation point: disjoint sets of columns that
// cover all ranks. Most synchronisation points have one set.
type gathering struct {
	sets [][]int
}

// everyone is the gathering of all ranks.
func everyone(ranks int) *gathering {
	all := make([]int, ranks)
	for r := range all {
		all[r] = r
	}
	return &gathering{sets: [][]int{all}}
}

// whole reports whether all ranks wait for each other.
func (g *gathering) whole() bool { return len(g.sets) == 1 }

// among is the gathering as a selection of columns sees it.
func (g *gathering) among(columns []int) *gathering {
	if g == nil {
		return nil
	}
	out := &gathering{}
	for _, set := range g.sets {
		var here []int
		for i, r := range columns {
			if slices.Contains(set, r) {
				here = append(here, i)
			}
		}
		if len(here) > 0 {
			out.sets = append(out.sets, here)
		}
	}
	return out
}

// pass takes ranks that arrive at x and spend d in the row through a
// synchronisation point: busy becomes what each rank spends in it after the last of its
// set has come, x when it leaves. It returns Σ over ranks of the time waited.
func (g *gathering) pass(x, d, busy []int64) (waited int64) {
	if g.whole() {
		last := slices.Max(x)
		d, busy = d[:len(x)], busy[:len(x)]
		for r, arrived := range x {
			c := max(0, d[r]-(last-arrived))
			busy[r], x[r] = c, last+c
			waited += d[r] - c
		}
		return waited
	}
	for _, set := range g.sets {
		last := x[set[0]]
		for _, r := range set {
			last = max(last, x[r])
		}
		for _, r := range set {
			busy[r] = max(0, d[r]-(last-x[r]))
			x[r] = last + busy[r]
			waited += d[r] - busy[r]
		}
	}
	return waited
}

// course is a view in which ranks run on freely and wait for each other only in
// the stages where they synchronise. A synchronisation point splits each rank's
// duration: wait until the last rank has arrived, then productive time.
// Without any synchronising stage it is the recorded prefixes themselves.
//
// Times are in nanoseconds since the cut's step began (since the window began, for
// the carried cut).
type course struct {
	v      *view
	syncs  []*gathering // [row]; nil where ranks do not synchronise
	at     []int        // [row] its number among the rows where ranks synchronise
	points int          // rows where ranks synchronise

	arrived, busy []int64 // [step][synchronising row][rank]
	ended         []int64 // [step][rank]

	wait  []int64 // [row] Σ_t Σ_r of the time waited
	spent []int64 // [row][rank] Σ_t of productive time; 0 in stages that are measured waiting
}

// follow walks a view once. O(T·S·R) time, O((T·points + S)·R) memory.
func follow(v *view, syncs []*gathering, keep *buffers) *course {
	S, R := len(v.order), v.ranks()
	c := &course{v: v, syncs: syncs, at: make([]int, S), wait: make([]int64, S), spent: make([]int64, S*R)}
	for i, g := range syncs {
		if c.at[i] = c.points; g != nil {
			c.points++
		}
	}
	n := v.steps * c.points * R
	c.arrived, c.busy, c.ended = sized(&keep.arrived, n), sized(&keep.busy, n), sized(&keep.ended, v.steps*R)
	x := make([]int64, R)
	copy(x, v.start)
	for t := range v.steps {
		if v.cut != CutCarried {
			clear(x)
		}
		for i := range v.order {
			d := v.row(t, i)
			switch {
			case syncs[i] != nil:
				copy(c.arrivals(t, i), x)
				busy := c.productive(t, i)
				c.wait[i] += syncs[i].pass(x, d, busy)
				if !v.idle[i] {
					addTo(c.of(i), busy)
				}
			case v.idle[i]:
				addTo(x, d)
			default:
				addToBoth(x, c.of(i), d)
			}
		}
		copy(c.end(t), x)
	}
	return c
}

// arrivals is when the ranks arrive in a row where they synchronise, [rank].
func (c *course) arrivals(t, i int) []int64 { return c.point(c.arrived, t, i) }

// productive is what the ranks spend in a row after they have synchronised there, [rank].
func (c *course) productive(t, i int) []int64 { return c.point(c.busy, t, i) }

func (c *course) point(of []int64, t, i int) []int64 {
	R := c.v.ranks()
	k := (t*c.points + c.at[i]) * R
	return of[k : k+R]
}

// end is the time that the ranks have reached at the end of a step, [rank].
func (c *course) end(t int) []int64 {
	R := c.v.ranks()
	return c.ended[t*R : (t+1)*R]
}

// of is the productive time of row i by rank.
func (c *course) of(i int) []int64 {
	R := c.v.ranks()
	return c.spent[i*R : (i+1)*R]
}

// over reports whether a stretch in which prefixes are not reset ends with a step.
func (v *view) over(t int) bool { return v.cut != CutCarried || t == v.steps-1 }
