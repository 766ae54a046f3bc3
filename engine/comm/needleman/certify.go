package needleman

// problem is one table with its band.
type problem struct {
	s    Scores
	n, m int
	gap  int32
	band *band
}

// found is what the pass from the beginning finds.
type found struct {
	score  int64 // of the best path of the band
	beyond int64 // no path that leaves the band scores more
}

// newLayer returns one row of the recurrence, by column.
func newLayer(m int) []int32 {
	l := make([]int32, m+1)
	for j := range l {
		l[j] = Never
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
	p.firstRow(in)
	above, below := p.leave(0, in, out, Never), int32(Never)
	for i := 1; i <= p.n; i++ {
		above += p.outsideBound(i, p.band.above)
		below = p.sink(i, in, out, below)
		p.scores(score, i)
		p.forward(i, in, score, nil)
		p.forward(i, out, score, &returnScores{above: above, below: below})
		above = p.leave(i, in, out, above)
	}
	return found{int64(in[p.m]), int64(out[p.m])}
}

// firstRow sets row 0: columns skipped from the start.
func (p *problem) firstRow(h []int32) {
	for j := range p.band.right[0] + 1 {
		h[j] = -int32(j) * p.gap
	}
}

// outsideBound returns what row i may be worth outside, on the side that may says of.
func (p *problem) outsideBound(i int, may []bool) int32 {
	if may[i] {
		return p.s.Best(i - 1)
	}
	return 0
}

// leave returns the best path above the band in row i: one that was there, or that
// steps off the right end of the row.
func (p *problem) leave(i int, in, out []int32, above int32) int32 {
	r := p.band.right[i]
	if r == p.m {
		return Never
	}
	return max(above, in[r], out[r])
}

// sink returns the best path below the band in row i: one that was there, or that was in
// cells of the row before which this row has no more.
func (p *problem) sink(i int, in, out []int32, below int32) int32 {
	for j := p.band.left[i-1]; j < min(p.band.left[i], p.band.right[i-1]+1); j++ {
		below = max(below, in[j], out[j])
	}
	if p.band.left[i] == 0 {
		return Never
	}
	return max(below+p.outsideBound(i, p.band.below), Never)
}

// scores sets dst[j] to the score of the pair that ends in the cell (i, j).
func (p *problem) scores(dst []int32, i int) {
	from := max(p.band.left[i], 1)
	if to := p.band.right[i]; to >= from {
		p.s.Row(dst[from:to+1], i-1, from-1)
	}
}

// returnScores is how well paths that come back from outside score.
type returnScores struct{ above, below int32 }

// forward replaces row i−1 in h by row i.
func (p *problem) forward(i int, h, score []int32, back *returnScores) {
	left, right := p.band.left[i], p.band.right[i]
	diagonal, before, entering := int32(Never), int32(Never), int32(Never)
	if left > p.band.left[i-1] {
		diagonal = h[left-1]
	}
	if back != nil {
		before, entering = back.below+p.gap, back.above
	}
	row, s := h[left:right+1], score[left:right+1]
	s = s[:len(row)]
	shared := p.band.right[i-1] - left + 1
	for j, above := range row[:shared] {
		before = max(max(above, before)-p.gap, diagonal+s[j]) // before the first column no diagonal comes in
		diagonal, row[j] = above, before
	}
	for j := shared; j < len(row); j++ { // no path of this layer has been above these
		before = max(entering, before-p.gap, diagonal+s[j])
		diagonal, row[j] = Never, before
	}
}
