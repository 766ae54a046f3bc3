package gotoh

import "math"

// open says which run of skipped rows or columns the walk is in.
type open uint8

const (
	closed open = iota
	openRows
	openColumns
)

// walker is how far the best path has been walked.
type walker struct {
	j     int   // columns taken
	state open  // what the last step left open, and so costs less to go on with
	need  int32 // the score of the rest of the path
}

// walkRows takes rows lo to hi, given row hi of the pass from the end.
func (t *tracer) walkRows(lo, hi int, end kept) {
	var rows [leaf + 1]kept
	rows[hi-lo] = end
	t.load(lo, hi, end)
	for i := hi - 1; i >= lo; i-- {
		rows[i-lo] = t.pooled(i-lo, t.band.right[i]-t.band.left[i]+1)
		t.backward(i, &rows[i-lo])
	}
	if lo == 0 {
		t.walk.need = rows[0].h[0]
		t.res.Score = int64(t.walk.need)
	}
	for i := lo + 1; i <= hi; i++ {
		t.scores(t.score, i)
		pairs := len(t.res.Pairs)
		t.step(i, rows[i-1-lo], rows[i-lo])
		if other := t.through(i, rows[i-lo]); len(t.res.Pairs) > pairs {
			t.res.Pairs[pairs].Margin = t.margin(other)
		}
	}
}

// pooled is memory for row k of a piece.
func (t *tracer) pooled(k, w int) kept {
	if cap(t.pool[k].h) < w {
		t.pool[k] = kept{make([]int32, w+w/8), make([]int32, w+w/8), make([]int32, w+w/8)}
	}
	p := &t.pool[k]
	return kept{p.h[:w], p.x[:w], p.y[:w]}
}

// step walks from row i−1 to row i: over skipped columns, then a pair or a skipped row.
func (t *tracer) step(i int, here, next kept) {
	w := &t.walk
	ro, re, co, _ := t.costs()
	from, to := t.band.left[i], t.band.right[i]
	for ; ; w.j++ {
		if j := w.j + 1; j >= from && j <= to && t.score[j]+next.h[j-from] == w.need {
			t.res.Pairs = append(t.res.Pairs, Pair{Row: i - 1, Column: w.j})
			*w = walker{j: j, need: next.h[j-from]}
			return
		}
		if j := w.j; j >= from && j <= to {
			rest := max(next.h[j-from], next.x[j-from]+ro)
			if rest-re-pay(w.state != openRows, ro) == w.need {
				w.need, w.state = rest, openRows
				return
			}
		}
		k := w.j + 1 - t.band.left[i-1]
		if k >= len(here.h) {
			panic("gotoh: the best path leaves the band") // the certificate says that it does not
		}
		w.need, w.state = max(here.h[k], here.y[k]+co), openColumns
	}
}

// pay is the cost of opening a gap, if it is opened.
func pay(opens bool, cost int32) int32 {
	if opens {
		return cost
	}
	return 0
}

// through replaces row i−1 of the pass from the beginning by row i, and tells what the best alignment scores without the best pair of that row:
// with its second best, or with none.
func (t *tracer) through(i int, next kept) (other int32) {
	left, right := t.band.left[i], t.band.right[i]
	diagonal, y := int32(Never), int32(Never)
	if left > t.band.left[i-1] {
		diagonal = t.front.h[left-1]
	}
	first, second, skipped := int32(Never), int32(Never), int32(Never)
	ro, re, co, ce := t.costs()
	h, x, s := t.front.h[left:right+1], t.front.x[left:right+1], t.score[left:right+1]
	hb, xb := next.h[:len(h)], next.x[:len(h)]
	for j, above := range h {
		skip := max(above-ro, x[j]) - re
		paired := diagonal + s[j]
		skipped = max(skipped, skip+max(hb[j], xb[j]+ro))
		if all := paired + hb[j]; all > second {
			if all > first {
				first, second = all, first
			} else {
				second = all
			}
		}
		best := max(skip, y, paired)
		diagonal = above
		h[j], x[j] = best, skip
		y = max(best-co, y) - ce
	}
	return max(second, skipped)
}

// margin is how much less than the best alignment another one scores.
func (t *tracer) margin(other int32) int32 {
	if !t.band.whole {
		other = max(other, int32(max(t.res.Beyond, Never)))
	}
	return int32(min(max(t.res.Score-int64(other), 0), math.MaxInt32))
}
