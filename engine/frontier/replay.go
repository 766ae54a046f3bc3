package frontier

import (
	"slices"

	"github.com/sfstat/sfstat/internal/robust"
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

// timeline is the model of a view in which ranks run on freely and wait for
// each other only in the stages where they synchronise. A synchronisation point splits each rank's
// duration: wait until the last rank has arrived, then productive time.
// Without any synchronising stage the model is the recorded prefixes themselves.
//
// It walks the view once and shows every piece of it to the listeners.
type timeline struct {
	v     *view
	syncs []*gathering // [row]; nil where ranks do not synchronise
}

// listener hears a timeline. Slices are valid during the call only. x is the
// time that each rank has reached, in nanoseconds since the cut's step began
// (since the window began, for the carried cut).
type listener interface {
	// work: every rank spends d in row i without waiting.
	work(t, i int, d []int64)
	// sync: ranks arrive at x in row i, where each set of the gathering leaves
	// when its last has come; d is what they spent in the row, wait included.
	sync(t, i int, x, d []int64, g *gathering)
	// productive: after the synchronisation point, ranks spend c in the row.
	productive(t, i int, c []int64)
	// end: a stretch in which prefixes are not reset is over.
	end(t int, x []int64)
}

// walk costs O(T·S·R) beside what the listeners do.
func (l timeline) walk(listeners ...listener) {
	v := l.v
	R := v.ranks()
	x, c := make([]int64, R), make([]int64, R)
	copy(x, v.start)
	for t := range v.steps {
		if v.cut != CutCarried {
			clear(x)
		}
		for i := range v.order {
			d := v.row(t, i)
			if l.syncs[i] == nil {
				addTo(x, d)
				for _, to := range listeners {
					to.work(t, i, d)
				}
				continue
			}
			for _, to := range listeners {
				to.sync(t, i, x, d, l.syncs[i])
			}
			for _, set := range l.syncs[i].sets {
				last := lastOf(x, set)
				for _, r := range set {
					c[r] = max(0, d[r]-(last-x[r]))
					x[r] = last + c[r]
				}
			}
			for _, to := range listeners {
				to.productive(t, i, c)
			}
		}
		if v.cut != CutCarried || t == v.steps-1 {
			for _, to := range listeners {
				to.end(t, x)
			}
		}
	}
}

func lastOf(x []int64, set []int) int64 {
	last := x[set[0]]
	for _, r := range set {
		last = max(last, x[r])
	}
	return last
}

// waits sums, for each synchronisation point row, the time waited, takes the median of the
// productive time over ranks in every step, and sums each rank's productive
// time per row. A stage that was measured as waiting is none of it.
type waits struct {
	ranks   int
	idle    []bool    // [row] the stage is measured waiting
	wait    []int64   // [row] Σ_t Σ_r
	medians [][]int64 // [row][step]; nil for rows without a synchronisation point
	spent   []int64   // [row][rank] Σ_t
	scratch []int64
}

func newWaits(v *view) *waits {
	S, R := len(v.order), v.ranks()
	w := &waits{ranks: R, idle: make([]bool, S), wait: make([]int64, S), medians: make([][]int64, S),
		spent: make([]int64, S*R), scratch: make([]int64, R)}
	for i := range v.order {
		w.idle[i] = waiting(v.name(i))
	}
	return w
}

func (w *waits) work(_, i int, d []int64) {
	if w.idle[i] {
		return
	}
	sum := w.of(i)
	for r, x := range d {
		sum[r] += x
	}
}

func (w *waits) sync(_, i int, x, d []int64, g *gathering) {
	for _, set := range g.sets {
		last := lastOf(x, set)
		for _, r := range set {
			w.wait[i] += min(d[r], last-x[r])
		}
	}
}

func (w *waits) productive(t, i int, c []int64) {
	w.work(t, i, c)
	w.medians[i] = append(w.medians[i], robust.MedianTimeOf(c, w.scratch))
}

func (w *waits) end(int, []int64) {}

// of is the productive time of row i by rank.
func (w *waits) of(i int) []int64 { return w.spent[i*w.ranks : (i+1)*w.ranks] }
