package gotoh

// Rows are kept at most fanout to a level, and leaf at the lowest.
const (
	fanout = 16
	leaf   = 64
)

// kept is one row of the pass from the end, over its band. y is only kept at the lowest
// level.
type kept struct{ h, x, y []int32 }

// tracer walks the best path and finds margins, row by row, while the pass from
// the end is computed again piece by piece.
type tracer struct {
	*problem
	back  layer // the row of the pass from the end that is being computed
	front layer // of the pass from the beginning
	score []int32
	walk  walker
	pool  [leaf]kept
	free  []kept
	res   *Result
}

// trace finds the pairs of the best path of the band and their margins.
func (p *problem) trace(f found) *Result {
	t := &tracer{problem: p, back: newLayer(p.m), front: newLayer(p.m), score: make([]int32, p.m+2)}
	t.res = &Result{Whole: p.band.whole, Beyond: f.beyond, Cells: p.band.cells}
	t.front.h[0] = 0
	p.firstRow(t.front)
	if p.n == 0 {
		t.res.Score = int64(t.front.h[p.m])
	} else {
		t.sweep(0, p.n, t.lastRow())
	}
	return t.res
}

// lastRow is row n of the pass from the end: columns skipped to the end.
func (t *tracer) lastRow() kept {
	left := t.band.left[t.n]
	k := t.row(t.m - left + 1)
	for j := range k.h {
		k.x[j] = Never
	}
	k.h[t.m-left] = 0
	for j := t.m - 1; j >= left; j-- {
		k.h[j-left] = -t.cols.Open - int32(t.m-j)*t.cols.Extend
	}
	return k
}

// row is memory for a row of w cells, of one that is not needed any more if there is
// one.
func (t *tracer) row(w int) kept {
	if n := len(t.free); n > 0 && cap(t.free[n-1].h) >= w {
		k := t.free[n-1]
		t.free = t.free[:n-1]
		return kept{h: k.h[:w], x: k.x[:w]}
	}
	return kept{h: make([]int32, w), x: make([]int32, w)}
}

// sweep walks rows lo to hi, given row hi of the pass from the end.
func (t *tracer) sweep(lo, hi int, end kept) {
	if hi-lo <= leaf {
		t.walkRows(lo, hi, end)
		return
	}
	step := max((hi-lo+fanout-1)/fanout, leaf)
	var marks []int
	for i := lo; i < hi; i += step {
		marks = append(marks, i)
	}
	rows := make([]kept, len(marks))
	t.load(lo, hi, end)
	for i, k := hi-1, len(marks)-1; i > lo && k > 0; i-- { // row lo is not needed again
		if i == marks[k] {
			rows[k] = t.row(t.band.right[i] - t.band.left[i] + 1)
			t.backward(i, &rows[k])
			k--
			continue
		}
		t.backward(i, nil)
	}
	for k, from := range marks {
		to, next := hi, end
		if k+1 < len(marks) {
			to, next = marks[k+1], rows[k+1]
		}
		t.sweep(from, to, next)
		if k+1 < len(marks) {
			t.free = append(t.free, next)
		}
	}
}

// load makes a kept row the one that is being computed from.
func (t *tracer) load(lo, hi int, end kept) {
	for j := t.band.left[lo]; j <= t.band.right[hi]; j++ {
		t.back.h[j], t.back.x[j] = Never, Never
	}
	copy(t.back.h[t.band.left[hi]:], end.h)
	copy(t.back.x[t.band.left[hi]:], end.x)
}

// backward replaces row i+1 by row i, and keeps it if asked to.
func (t *tracer) backward(i int, keep *kept) {
	left, right := t.band.left[i], t.band.right[i]
	diagonal, y := int32(Never), int32(Never)
	if right < t.band.right[i+1] {
		diagonal = t.back.h[right+1]
	}
	t.scores(t.score, i+1)
	ro, re, co, ce := t.costs()
	h, x := t.back.h[left:right+1], t.back.x[left:right+1]
	x = x[:len(h)]
	s := t.score[left+1:]
	s = s[:len(h)] // behind the last column no diagonal comes in
	for j := len(h) - 1; j >= 0; j-- {
		below := h[j]
		skip := max(below-ro, x[j]) - re
		best := max(skip, y, diagonal+s[j])
		diagonal = below
		h[j], x[j] = best, skip
		if keep != nil {
			keep.h[j], keep.x[j] = best, skip
			if keep.y != nil {
				keep.y[j] = y
			}
		}
		y = max(best-co, y) - ce
	}
}

func (t *tracer) costs() (ro, re, co, ce int32) {
	return t.problem.rows.Open, t.problem.rows.Extend, t.cols.Open, t.cols.Extend
}
