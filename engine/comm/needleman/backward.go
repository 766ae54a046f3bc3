package needleman

import (
	"math"
	"slices"
)

// leastPiece is how many rows of the pass from the end are computed again at once, at least.
const leastPiece = 64

// tracer walks the best path and finds margins, row by row, while the pass from
// the end is computed again piece by piece.
type tracer struct {
	*problem
	back   []int32 // the row of the pass from the end that is being computed
	front  []int32 // of the pass from the beginning
	score  []int32
	pool   [][]int32 // rows of a piece
	beyond int64
	res    *Result

	column int   // how far the best path has been walked
	need   int32 // the score of its rest
}

// trace finds the pairs of the best path of the band and their margins.
func (p *problem) trace(f found) *Result {
	t := &tracer{problem: p, back: newLayer(p.m), front: newLayer(p.m), score: make([]int32, p.m+2), beyond: f.beyond}
	t.res = &Result{whole: p.band.whole, cells: p.band.cells}
	p.firstRow(t.front)
	if p.n == 0 {
		t.res.Score = int64(t.front[p.m])
		return t.res
	}
	piece := max(leastPiece, int(math.Sqrt(float64(p.n))))
	t.pool = make([][]int32, piece)
	for k, end := range t.keep(piece) {
		t.walkRows(k*piece, min((k+1)*piece, p.n), end)
	}
	return t.res
}

// keep returns the rows of the pass from the end that end each piece.
func (t *tracer) keep(piece int) [][]int32 {
	kept := make([][]int32, (t.n+piece-1)/piece)
	kept[len(kept)-1] = t.lastRow()
	t.load(0, t.n, t.lastRow())
	for i := t.n - 1; i > 0; i-- { // row 0 ends none
		if row := t.backward(i); i%piece == 0 {
			kept[i/piece-1] = slices.Clone(row)
		}
	}
	return kept
}

// lastRow returns row n of the pass from the end: columns skipped to the end.
func (t *tracer) lastRow() []int32 {
	left := t.band.left[t.n]
	row := make([]int32, t.m-left+1)
	for j := range row {
		row[j] = -int32(t.m-left-j) * t.gap
	}
	return row
}

// load makes a kept row the one that is being computed from.
func (t *tracer) load(lo, hi int, end []int32) {
	for j := t.band.left[lo]; j <= t.band.right[hi]; j++ {
		t.back[j] = Never
	}
	copy(t.back[t.band.left[hi]:], end)
}

// backward replaces row i+1 by row i, and returns it.
func (t *tracer) backward(i int) []int32 {
	left, right := t.band.left[i], t.band.right[i]
	diagonal, behind := int32(Never), int32(Never)
	if right < t.band.right[i+1] {
		diagonal = t.back[right+1]
	}
	t.scores(t.score, i+1)
	h := t.back[left : right+1]
	s := t.score[left+1:]
	s = s[:len(h)] // behind the last column no diagonal comes in
	for j := len(h) - 1; j >= 0; j-- {
		below := h[j]
		behind = max(max(below, behind)-t.gap, diagonal+s[j])
		diagonal, h[j] = below, behind
	}
	return h
}

// walkRows takes rows lo to hi, given row hi of the pass from the end.
func (t *tracer) walkRows(lo, hi int, end []int32) {
	rows := make([][]int32, hi-lo+1)
	rows[hi-lo] = end
	t.load(lo, hi, end)
	for i := hi - 1; i >= lo; i-- {
		t.pool[i-lo] = append(t.pool[i-lo][:0], t.backward(i)...)
		rows[i-lo] = t.pool[i-lo]
	}
	if lo == 0 {
		t.need = rows[0][0]
		t.res.Score = int64(t.need)
	}
	for i := lo + 1; i <= hi; i++ {
		t.scores(t.score, i)
		pairs := len(t.res.Pairs)
		t.step(i, rows[i-1-lo], rows[i-lo])
		if other := t.advance(i, rows[i-lo]); len(t.res.Pairs) > pairs {
			t.res.Pairs[pairs].Margin = t.margin(other)
		}
	}
}

// step walks from row i−1 to row i: over skipped columns, then a pair or a skipped row.
func (t *tracer) step(i int, here, next []int32) {
	from, to := t.band.left[i], t.band.right[i]
	for ; ; t.column++ {
		if j := t.column + 1; j >= from && j <= to && t.score[j]+next[j-from] == t.need {
			t.res.Pairs = append(t.res.Pairs, Pair{Row: i - 1, Column: t.column})
			t.column, t.need = j, next[j-from]
			return
		}
		if j := t.column; j >= from && j <= to && next[j-from]-t.gap == t.need {
			t.need = next[j-from]
			return
		}
		k := t.column + 1 - t.band.left[i-1]
		if k >= len(here) {
			panic("needleman: the best path leaves the band") // the certificate says that it does not
		}
		t.need = here[k]
	}
}

// advance replaces row i−1 of the pass from the beginning by row i, and tells what the best alignment scores without the best pair of that row:
// with its second best, or with none.
func (t *tracer) advance(i int, next []int32) (other int32) {
	left, right := t.band.left[i], t.band.right[i]
	diagonal, before := int32(Never), int32(Never)
	if left > t.band.left[i-1] {
		diagonal = t.front[left-1]
	}
	first, second, skipped := int32(Never), int32(Never), int32(Never)
	h, s := t.front[left:right+1], t.score[left:right+1]
	rest := next[:len(h)]
	for j, above := range h {
		paired := diagonal + s[j]
		skipped = max(skipped, above-t.gap+rest[j])
		if all := paired + rest[j]; all > second {
			if all > first {
				first, second = all, first
			} else {
				second = all
			}
		}
		before = max(max(above, before)-t.gap, paired)
		diagonal, h[j] = above, before
	}
	return max(second, skipped)
}

// margin returns how much less than the best alignment another one scores.
func (t *tracer) margin(other int32) int32 {
	if !t.band.whole {
		other = max(other, int32(max(t.beyond, Never)))
	}
	return int32(min(max(t.res.Score-int64(other), 0), math.MaxInt32))
}
