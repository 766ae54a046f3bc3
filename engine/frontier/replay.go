package frontier

// timeline is the model of a view in which ranks run on freely and wait for
// each other only in the stages where they meet. A meeting splits each rank's
// duration: wait until the last rank has arrived, then productive time.
// Without any meeting stage the model is the recorded prefixes themselves.
//
// It walks the view once and shows every piece of it to the listeners.
type timeline struct {
	v     *view
	meets []bool // [row]
}

// listener hears a timeline. Slices are valid during the call only. x is the
// time that each rank has reached, in nanoseconds since the cut's step began
// (since the window began, for the carried cut).
type listener interface {
	// work: every rank spends d in row i without waiting.
	work(t, i int, d []int64)
	// meet: ranks arrive at x in row i, and leave together at last; d is what
	// they spent in the row, wait included.
	meet(t, i int, x, d []int64, last int64)
	// productive: after the meeting, ranks spend c in the row.
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
			if !l.meets[i] {
				addMax(x, d)
				for _, to := range listeners {
					to.work(t, i, d)
				}
				continue
			}
			last := maxInt(x)
			for _, to := range listeners {
				to.meet(t, i, x, d, last)
			}
			for r, reached := range x {
				c[r] = max(0, d[r]-(last-reached))
				x[r] = last + c[r]
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

// waits sums, for each meeting row, the time waited, takes the median of the
// productive time over ranks in every step, and sums each rank's productive
// time per row.
type waits struct {
	ranks   int
	wait    []int64   // [row] Σ_t Σ_r
	medians [][]int64 // [row][step]; nil for rows without a meeting
	spent   []int64   // [row][rank] Σ_t
	scratch []int64
}

func newWaits(v *view) *waits {
	S, R := len(v.order), v.ranks()
	return &waits{ranks: R, wait: make([]int64, S), medians: make([][]int64, S),
		spent: make([]int64, S*R), scratch: make([]int64, R)}
}

func (w *waits) work(_, i int, d []int64) {
	sum := w.of(i)
	for r, x := range d {
		sum[r] += x
	}
}

func (w *waits) meet(_, i int, x, d []int64, last int64) {
	for r, reached := range x {
		w.wait[i] += min(d[r], last-reached)
	}
}

func (w *waits) productive(t, i int, c []int64) {
	w.work(t, i, c)
	w.medians[i] = append(w.medians[i], medianOf(c, w.scratch))
}

func (w *waits) end(int, []int64) {}

// of is the productive time of row i by rank.
func (w *waits) of(i int) []int64 { return w.spent[i*w.ranks : (i+1)*w.ranks] }
