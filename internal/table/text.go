package table

import (
	"slices"
	"strings"

	"github.com/sfstat/sfstat/internal/glyph"
)

const (
	barRoom  = 12 // columns that a bar asks for
	barLeast = 6  // columns without which it goes
	longName = 32 // columns of a name that bars make room for
	barEase  = 24 // columns that it has before spare columns get any
	barLimit = 32 // columns that a bar takes at most
)

// shrink is the order in which columns give way when a table is too wide, and
// how far: bars first, words last.
var shrink = [...]struct {
	Kind  Kind
	floor int
}{{Bar, barLeast}, {Name, 16}, {List, 16}, {Key, 24}, {Name, 12}, {List, 10}, {Text, 10}, {Key, 12}, {Name, 8}, {Text, 6}, {List, 6}}

// Text sets the table on a terminal. Its title and notes are left to the page around it.
func (t *Table) Text(p *glyph.Page) {
	w, t := writer{p}, t.square()
	switch {
	case t.Columns == nil:
		p.Terms(t.facts())
		return
	case t.wordy():
		w.words(t)
	default:
		t = w.table(t)
	}
	w.legend(t)
}

// writer sets tables on a terminal.
type writer struct{ *glyph.Page }

// table sets the columns that there is room for, and returns what is left of the table.
func (w writer) table(in *Table) *Table {
	room := w.Room()
	tab := *in
	tab.dropSpare(room)
	tab.dropForNames(room)
	cols, widths := tab.layout(room)
	for total(widths) > room && len(cols) > 2 {
		last := len(cols) - 1
		tab.remove(func(col int) bool { return col == last })
		cols, widths = tab.layout(room)
	}
	plain, painted := make([]string, len(cols)), make([]string, len(cols))
	for i, c := range cols {
		plain[i] = align(c, c.Head+mark(c.Note), widths[i])
	}
	w.row(plain, plain, room)
	for _, row := range tab.Rows {
		row = w.keysAbove(cols, widths, row)
		for i, c := range cols {
			plain[i] = w.cell(c, row[i], widths[i])
			painted[i] = plain[i]
			if c.Kind == Bar {
				painted[i] = w.paintBar(plain[i], row[i])
			}
		}
		w.row(plain, painted, room)
	}
	return &tab
}

// keysAbove writes the keys of a row that are too wide for their columns on lines of
// their own, and returns the rest of the row.
func (w writer) keysAbove(cols []shownColumn, widths []int, row []Cell) []Cell {
	rest := row
	for i, c := range cols {
		if v := c.value(row[i]); c.Kind == Key && glyph.Columns(v) > widths[i] {
			w.Paragraph("", "", v)
			rest = slices.Clone(rest)
			rest[i] = Cell{}
		}
	}
	return rest
}

// legend writes the caption and the notes.
func (w writer) legend(tab *Table) {
	if c := tab.reading(); c != "" {
		w.Paragraph("", "", c)
	}
	for i, n := range tab.Footnotes {
		w.Paragraph(mark(i+1)+" ", "  ", n)
	}
}

// row writes the painted cells, or the beginning of the plain ones where even
// two columns are too wide.
func (w writer) row(plain, painted []string, room int) {
	l := strings.Join(painted, glyph.Gap)
	if p := strings.TrimRight(strings.Join(plain, glyph.Gap), " "); glyph.Columns(p) > room {
		l = glyph.Clip(p, room)
	}
	w.Line(w.Indent() + strings.TrimRight(l, " "))
}

// paintBar colours a bar without its padding.
func (w writer) paintBar(padded string, c Cell) string {
	sgr := "2"
	if c.Strong {
		sgr = w.Hue
	}
	bar := strings.TrimRight(padded, " ")
	return w.Paint(bar, sgr) + padded[len(bar):]
}

// cell returns one cell, padded to n columns. A column in which some cell has a
// note keeps a place for the mark in all.
func (w writer) cell(s shownColumn, c Cell, n int) string {
	if s.Kind == Bar {
		return glyph.PadRight(s.bar(c, n), n)
	}
	if !s.noted {
		return align(s, s.fit(c, n), n)
	}
	v, m := s.fit(c, n-1), mark(c.Note)
	if s.Kind.numeric() {
		return glyph.PadLeft(v+glyph.PadRight(m, 1), n)
	}
	return glyph.PadRight(v+m, n)
}

func align(s shownColumn, v string, n int) string {
	if s.right() {
		return glyph.PadLeft(v, n)
	}
	return glyph.PadRight(v, n)
}

// dropSpare removes spare columns from the right until the table fits as it
// would like to be.
func (t *Table) dropSpare(room int) {
	for {
		_, widths := t.natural()
		last := -1
		for i, c := range t.Columns {
			if c.Spare {
				last = i
			}
			if c.Kind == Bar {
				widths[i] = max(widths[i], barEase)
			}
		}
		if last < 0 || total(widths) <= room {
			return
		}
		t.remove(func(col int) bool { return col == last })
	}
}

// dropForNames removes the bars, and then what comes last, from the right, where
// names would have to be cut for them. A name without the suffix that most have
// is not cut, nor is a long one within its bounds.
func (t *Table) dropForNames(room int) {
	if t.namesFit(room) {
		return
	}
	t.remove(func(col int) bool { return t.Columns[col].Kind == Bar })
	for i := len(t.Columns) - 1; i >= 0 && !t.namesFit(room); i-- {
		if t.Columns[i].Last {
			t.remove(func(col int) bool { return col == i })
		}
	}
}

// namesFit reports whether the table has room for its names.
func (t *Table) namesFit(room int) bool {
	cols, widths := t.natural()
	for i, c := range cols {
		switch c.Kind {
		case Bar:
			widths[i] = barLeast
		case List:
			widths[i] = min(widths[i], longName)
		case Name:
			widths[i] = glyph.Columns(c.Head)
			for _, row := range t.Rows {
				widths[i] = max(widths[i], min(glyph.StemColumns(c.value(row[i])), longName))
			}
		}
	}
	return total(widths) <= room
}

// natural returns the width that each column asks for.
func (t *Table) natural() ([]shownColumn, []int) {
	cols := make([]shownColumn, len(t.Columns))
	widths := make([]int, len(t.Columns))
	for i := range t.Columns {
		s := t.show(i)
		cols[i] = s
		widths[i] = glyph.Columns(s.Head + mark(s.Note))
		if s.Kind == Bar {
			widths[i] = max(widths[i], barRoom)
			continue
		}
		extra := 0
		if s.noted {
			extra = 1
		}
		for _, row := range t.Rows {
			widths[i] = max(widths[i], glyph.Columns(s.value(row[i]))+extra)
		}
	}
	return cols, widths
}

// layout gives every column its width: what it asks for, less what has to be
// saved, and the rest to the bars.
func (t *Table) layout(room int) ([]shownColumn, []int) {
	cols, widths := t.natural()
	for _, s := range shrink {
		for total(widths) > room {
			widest := -1
			for i, c := range cols {
				floor := max(s.floor, glyph.Columns(c.Head))
				if c.Kind == s.Kind && widths[i] > floor && (widest < 0 || widths[i] > widths[widest]) {
					widest = i
				}
			}
			if widest < 0 {
				break
			}
			widths[widest]--
		}
	}
	growBars(cols, widths, room)
	for i := range cols {
		if cols[i].Kind == Name {
			cols[i].cuts = t.cuts(i, cols[i], widths[i])
		}
	}
	return cols, widths
}

// cuts returns the names of a column in n columns of the page, less the place of
// their note.
func (t *Table) cuts(col int, s shownColumn, n int) map[string]string {
	if s.noted {
		n--
	}
	var names []string
	for _, row := range t.Rows {
		if v := s.value(row[col]); !slices.Contains(names, v) {
			names = append(names, v)
		}
	}
	return glyph.Distinct(names, n)
}

// growBars gives the room that is left to the bars, the same to each: equal
// values then have bars of equal length.
func growBars(cols []shownColumn, widths []int, room int) {
	bars := 0
	for _, c := range cols {
		if c.Kind == Bar {
			bars++
		}
	}
	if bars == 0 {
		return
	}
	more := max(0, room-total(widths)) / bars
	for i, c := range cols {
		if c.Kind == Bar {
			widths[i] = min(widths[i]+more, max(barLimit, widths[i]))
		}
	}
}

func total(widths []int) int {
	n := len(glyph.Gap) * (len(widths) - 1)
	for _, w := range widths {
		n += w
	}
	return n
}
