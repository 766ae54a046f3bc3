package gotoh

// problem is one table with its band.
type problem struct {
	s          Scores
	n, m       int
	rows, cols Gap
	band       *band
}

// found is what the pass from the beginning finds.
type found struct {
	score  int64 // of the best path of the band
	beyond int64 // no path that leaves the band scores more
}

// layer is one row of the recurrence, by column: paths of one kind.
type layer struct{ h, x []int32 }

func newLayer(m int) layer {
	l := layer{make([]int32, m+1), make([]int32, m+1)}
	for j := range l.h {
		l.h[j], l.x[j] = Never, Never
	}
	return l
}

// certify runs the recurrence and its relaxation, in which everything above the band and
// everything below is one place each for every row.
func (p *problem) certify() found {
	if p.band.whole {
		return found{beyond: Never}
	}
	in, out := newLayer(p.m), newLayer(p.m)
	score := make([]int32, p.m+2)
	above, below := int32(Never), int32(Never)
	in.h[0] = 0
	p.firstRow(in)
	above = p.leave(0, in, out, above)
	for i := 1; i <= p.n; i++ {
		above += p.most(i, p.band.above)
		below = p.sink(i, in, out, below)
		p.scores(score, i)
		back := returned{above: above, below: below}
		p.forward(i, in, score, nil)
		p.forward(i, out, score, &back)
		above = p.leave(i, in, out, above)
	}
	return found{int64(in.h[p.m]), int64(out.h[p.m])}
}

// firstRow sets row 0: columns skipped from the start.
func (p *problem) firstRow(l layer) {
	for j := 1; j <= p.band.right[0]; j++ {
		l.h[j] = -p.cols.Open - int32(j)*p.cols.Extend
	}
}

// most is what row i may be worth outside, on the side that may says of.
func (p *problem) most(i int, may []bool) int32 {
	if may[i] {
		return p.s.Best(i - 1)
	}
	return 0
}

// leave is the best path above the band in row i: one that was there, or that
// steps off the right end of the row.
func (p *problem) leave(i int, in, out layer, above int32) int32 {
	r := p.band.right[i]
	if r == p.m {
		return Never
	}
	return max(above, in.h[r], out.h[r])
}

// sink is the best path below the band in row i: one that was there, or that was in
// cells of the row before which this row has no more.
func (p *problem) sink(i int, in, out layer, below int32) int32 {
	for j := p.band.left[i-1]; j < min(p.band.left[i], p.band.right[i-1]+1); j++ {
		below = max(below, in.h[j], out.h[j])
	}
	if p.band.left[i] == 0 {
		return Never
	}
	return max(below+p.most(i, p.band.below), Never)
}

// scores sets dst[j] to the score of the pair that ends in the cell (i, j).
func (p *problem) scores(dst []int32, i int) {
	from := max(p.band.left[i], 1)
	if to := p.band.right[i]; to >= from {
		p.s.Row(dst[from:to+1], i-1, from-1)
	}
}

// returned is how well paths that come back from outside score.
type returned struct{ above, below int32 }

// forward replaces row i−1 in l by row i.
func (p *problem) forward(i int, l layer, score []int32, back *returned) {
	left, right := p.band.left[i], p.band.right[i]
	diagonal, y := int32(Never), int32(Never)
	if left > p.band.left[i-1] {
		diagonal = l.h[left-1]
	}
	if back != nil {
		y = back.below
		for j := p.band.right[i-1] + 1; j <= right; j++ { // no path of this layer has been there before
			l.h[j], l.x[j] = Never, back.above+p.rows.Extend
		}
	}
	ro, re, co, ce := p.rows.Open, p.rows.Extend, p.cols.Open, p.cols.Extend
	h, x, s := l.h[left:right+1], l.x[left:right+1], score[left:right+1]
	x, s = x[:len(h)], s[:len(h)]
	for j, above := range h {
		skip := max(above-ro, x[j]) - re
		best := max(skip, y, diagonal+s[j]) // before the first column no diagonal comes in
		diagonal = above
		h[j], x[j] = best, skip
		y = max(best-co, y) - ce
	}
}
