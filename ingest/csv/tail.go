package csv

import (
	"strings"

	"github.com/sfstat/sfstat/trace/input"
)

// tail describes the cells of the last column of a file, if it has times. A file whose writer was killed may end inside
// its last cell, which then reads as a tenth or a thousandth of the time. Such a cell is shorter than all others, or has
// fewer digits after the point where all others have equally many.
type tail struct {
	column      int // −1: it has no times
	rows        int // before the last
	shortest    int // of these, bytes
	least, most int // digits behind the point of these
	last        string
	length      int // of the last
	digits      int
}

// minTailRows is the number of rows that show the usual cells of a column. In a file with as many rows, the last cell is
// the shortest by chance with probability 1/minTailRows.
const minTailRows = 16

// timeColumn returns the column of that name if it holds times, else −1.
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
	return t.column >= 0 && t.rows >= minTailRows && t.last != "" && !isMissing(t.last) && (t.length < t.shortest || t.least == t.most && t.digits < t.least)
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
