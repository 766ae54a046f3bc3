package needleman

// band is the cells that are computed: of row i, after i rows are taken, the
// columns from left[i] to right[i].
type band struct {
	left, right []int
	// Whether row i may be paired above the band, or below it.
	above, below []bool
	cells        int64
	widest       int
	whole        bool
}

// newBand lays a band around the windows, or around the diagonals from both corners where
// rows may pair with anything, width cells wider on either side.
func newBand(s Scores, width int) *band {
	n, m := s.Size()
	b := &band{left: make([]int, n+1), right: make([]int, n+1), above: make([]bool, n+1), below: make([]bool, n+1), whole: true}
	if !b.fitWindows(s) {
		for i := range n + 1 {
			b.left[i], b.right[i] = min(i, i+m-n), max(i, i+m-n)
		}
	}
	for i := range n + 1 {
		b.left[i], b.right[i] = max(0, b.left[i]-width), min(m, b.right[i]+width)
	}
	b.connect(n, m)
	for i := range n + 1 {
		if i > 0 {
			from, to := clip(s, i-1)
			b.above[i] = from < to && (to > b.right[i] || to-1 > b.right[i-1])
			b.below[i] = from < to && (from < b.left[i-1] || from+1 < b.left[i])
		}
		w := b.right[i] - b.left[i] + 1
		b.cells += int64(w)
		b.widest = max(b.widest, w)
		b.whole = b.whole && w == m+1
	}
	return b
}

// fitWindows sets both edges to the windows' and makes them increase. It is false where
// that spares less than half of the table.
func (b *band) fitWindows(s Scores) bool {
	n, m := s.Size()
	left, right := m, 0
	for i := n; i >= 0; i-- { // the least column of this row or of any later
		if i < n {
			if from, to := clip(s, i); from < to {
				left = min(left, from)
			}
		}
		b.left[i] = left
	}
	var cells int64
	for i := range n + 1 {
		if i > 0 {
			if from, to := clip(s, i-1); from < to {
				right = max(right, to)
			}
		}
		b.right[i] = right
		cells += int64(max(0, right-b.left[i]))
	}
	return cells < int64(n+1)*int64(m+1)/2
}

// clip returns the window of a row within the table.
func clip(s Scores, row int) (from, to int) {
	_, m := s.Size()
	from, to = s.Window(row)
	return max(from, 0), min(to, m)
}

// connect makes the band one piece from corner to corner, with both edges never
// decreasing.
func (b *band) connect(n, m int) {
	b.left[0], b.right[n] = 0, m
	for i := n - 1; i >= 0; i-- {
		b.left[i] = min(b.left[i], b.left[i+1])
	}
	for i := 1; i <= n; i++ {
		b.right[i] = max(b.right[i], b.right[i-1])
	}
	for i := range n {
		b.left[i] = min(b.left[i], b.right[i])
		b.right[i] = max(b.right[i], b.left[i+1])
	}
	for i := n - 1; i >= 0; i-- {
		b.left[i] = min(b.left[i], b.left[i+1])
	}
}
