package csv

import (
	"strings"

	"github.com/sfstat/sfstat/trace/input"
)

// tail is what the cells of the last column of a file look like, when that has times. A file whose writer was killed may end inside of the last
// of them, and what is left is a number all the same, a tenth or a thousandth of what was measured. It is told by its text: shorter than every
// other in its column, or with fewer digits behind the point where all others have as many.
type tail struct {
	column      int // −1: it has no times
	rows        int // before the last
	shortest    int // of these, bytes
	least, most int // digits behind the point of these
	last        string
	length      int // of the last
	digits      int
}

// fewTails is how many rows show what the cells of a column look like: a last one that is shorter than so many others is so by chance in
// one of as many files.
const fewTails = 16

// timeColumn returns the column of that name where it has times; −1 for all others.
func (l *layout) timeColumn(name string) int {
	for i, c := range l.columns {
		if l.names[i] == name && (c.kind == stage || c.kind == wall) {
			return i
		}
	}
	return -1
}

// add counts a row.
func (t *tail) add(cells []string) {
	if t.column < 0 {
		return
	}
	if t.last != "" {
		if t.rows++; t.rows == 1 {
			t.shortest, t.least, t.most = t.length, t.digits, t.digits
		}
		t.shortest, t.least, t.most = min(t.shortest, t.length), min(t.least, t.digits), max(t.most, t.digits)
	}
	t.last = cells[t.column]
	t.length, t.digits = len(t.last), 0
	if at := strings.LastIndexAny(t.last, ".,"); at >= 0 {
		t.digits = len(t.last) - at - 1
	}
}

// isCut reports whether the last cell is evidently a part of one.
func (t *tail) isCut() bool {
	return t.column >= 0 && t.rows >= fewTails && t.last != "" && !isMissing(t.last) && (t.length < t.shortest || t.least == t.most && t.digits < t.least)
}

// err returns the error of a file that ends in such a cell.
func (t *tail) err() error {
	return input.Bad(input.ErrTruncated, "the input ends inside of a cell, as when a job is killed: %.40q has fewer digits than every cell before it, and no line end follows; its row is left out", t.last)
}

// dropLast takes back the row that was added last, and reports whether it could.
func (g *group) dropLast() bool {
	if g.shelf != nil || len(g.rows) == 0 {
		return false
	}
	last := len(g.rows) - 1
	g.rows, g.times = g.rows[:last], g.times[:last*len(g.layout.stages)]
	for i, samples := range g.side {
		if n := len(samples); n > 0 && samples[n-1].row == last {
			g.side[i] = samples[:n-1]
		}
	}
	return true
}
