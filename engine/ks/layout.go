package ks

import "slices"

// Layout places workers on a plane of two coordinates of their role, such as
// dp × pp, for a heat map.
type Layout struct {
	Rows, Cols []int // coordinates that occur, ascending
	// Worker[i·len(Cols)+j] is, of the workers at Rows[i] and Cols[j], the one
	// with the largest mean distance; −1 where there is none with one.
	Worker []int
}

// Layout places worker w at (row[w], col[w]).
func (r *Result) Layout(row, col []int) Layout {
	if len(row) != len(r.Scores) || len(col) != len(r.Scores) {
		panic("ks: coordinates do not match the workers")
	}
	distinct := func(x []int) []int {
		x = slices.Clone(x)
		slices.Sort(x)
		return slices.Compact(x)
	}
	l := Layout{Rows: distinct(row), Cols: distinct(col)}
	l.Worker = slices.Repeat([]int{-1}, len(l.Rows)*len(l.Cols))
	for _, w := range slices.Backward(r.Ranking) { // the largest is written last
		i, _ := slices.BinarySearch(l.Rows, row[w])
		j, _ := slices.BinarySearch(l.Cols, col[w])
		l.Worker[i*len(l.Cols)+j] = w
	}
	return l
}
