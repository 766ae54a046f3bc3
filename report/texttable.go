package report

import (
	"slices"
	"strings"
)

const (
	gap      = "  " // between two columns
	barRoom  = 12   // columns that a bar asks for
	barLeast = 6    // columns without which it goes
	longName = 32   // columns of a name that bars make room for
	barEase  = 24   // columns that it has before spare columns get any
	barLimit = 32   // columns that a bar takes at most
)

// shrink is the order in which columns give way when a table is too wide, and
// how far: bars first, words last.
var shrink = [...]struct {
	kind  kind
	floor int
}{{kindBar, barLeast}, {kindName, 16}, {kindList, 16}, {kindKey, 24}, {kindName, 12}, {kindList, 10}, {kindText, 10}, {kindKey, 12}, {kindName, 8}, {kindText, 6}, {kindList, 6}}

func (t *textWriter) table(in *table) {
	if in.wordy() {
		t.words(in)
		t.legend(in)
		return
	}
	room := t.style.width() - len(t.indent())
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
		plain[i] = align(c, c.head+mark(c.note), widths[i])
	}
	t.row(plain, plain, room)
	for _, row := range tab.rows {
		row = t.keysAbove(cols, widths, row)
		for i, c := range cols {
			plain[i] = t.cell(c, row[i], widths[i])
			painted[i] = plain[i]
			if c.kind == kindBar {
				painted[i] = t.paintBar(plain[i], row[i])
			}
		}
		t.row(plain, painted, room)
	}
	t.legend(&tab)
}

// keysAbove writes the keys of a row that are too wide for their columns on lines of
// their own, and returns the rest of the row.
func (t *textWriter) keysAbove(cols []shown, widths []int, row []cell) []cell {
	rest := row
	for i, c := range cols {
		if v := c.value(row[i]); c.kind == kindKey && columns(v) > widths[i] {
			t.paragraph("", "", v)
			rest = slices.Clone(rest)
			rest[i] = cell{}
		}
	}
	return rest
}

// legend is the caption and the notes.
func (t *textWriter) legend(tab *table) {
	if c := tab.reading(); c != "" {
		t.paragraph("", "", c)
	}
	for i, n := range tab.notes {
		t.paragraph(mark(i+1)+" ", "  ", n)
	}
}

// row writes the painted cells, or the beginning of the plain ones where even
// two columns are too wide.
func (t *textWriter) row(plain, painted []string, room int) {
	l := strings.Join(painted, gap)
	if p := strings.TrimRight(strings.Join(plain, gap), " "); columns(p) > room {
		l = clip(p, room)
	}
	t.line(t.indent() + strings.TrimRight(l, " "))
}

// paintBar colours a bar without its padding.
func (t *textWriter) paintBar(padded string, c cell) string {
	sgr := "2"
	if c.strong {
		sgr = t.hue
	}
	bar := strings.TrimRight(padded, " ")
	return t.paint(bar, sgr) + padded[len(bar):]
}

// cell is one cell, padded to n columns. A column in which some cell has a
// note keeps a place for the mark in all.
func (t *textWriter) cell(s shown, c cell, n int) string {
	if s.kind == kindBar {
		return padRight(s.bar(c, n), n)
	}
	if !s.noted {
		return align(s, s.fit(c, n), n)
	}
	v, m := s.fit(c, n-1), mark(c.note)
	if s.kind.numeric() {
		return padLeft(v+padRight(m, 1), n)
	}
	return padRight(v+m, n)
}

func align(s shown, v string, n int) string {
	if s.kind.numeric() || s.kind == kindAmount {
		return padLeft(v, n)
	}
	return padRight(v, n)
}

// dropSpare removes spare columns from the right until the table fits as it
// would like to be.
func (t *table) dropSpare(room int) {
	for {
		_, widths := t.natural()
		last := -1
		for i, c := range t.columns {
			if c.spare {
				last = i
			}
			if c.kind == kindBar {
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
func (t *table) dropForNames(room int) {
	if t.namesFit(room) {
		return
	}
	t.remove(func(col int) bool { return t.columns[col].kind == kindBar })
	for i := len(t.columns) - 1; i >= 0 && !t.namesFit(room); i-- {
		if t.columns[i].last {
			t.remove(func(col int) bool { return col == i })
		}
	}
}

// namesFit reports whether the table has room for its names.
func (t *table) namesFit(room int) bool {
	cols, widths := t.natural()
	for i, c := range cols {
		switch c.kind {
		case kindBar:
			widths[i] = barLeast
		case kindList:
			widths[i] = min(widths[i], longName)
		case kindName:
			widths[i] = columns(c.head)
			for _, row := range t.rows {
				widths[i] = max(widths[i], min(stemColumns(c.value(row[i])), longName))
			}
		}
	}
	return total(widths) <= room
}

// natural is the width that each column asks for.
func (t *table) natural() ([]shown, []int) {
	cols := make([]shown, len(t.columns))
	widths := make([]int, len(t.columns))
	for i := range t.columns {
		s := t.show(i)
		cols[i] = s
		widths[i] = columns(s.head + mark(s.note))
		if s.kind == kindBar {
			widths[i] = max(widths[i], barRoom)
			continue
		}
		extra := 0
		if s.noted {
			extra = 1
		}
		for _, row := range t.rows {
			widths[i] = max(widths[i], columns(s.value(row[i]))+extra)
		}
	}
	return cols, widths
}

// layout gives every column its width: what it asks for, less what has to be
// saved, and the rest to the bars.
func (t *table) layout(room int) ([]shown, []int) {
	cols, widths := t.natural()
	for _, s := range shrink {
		for total(widths) > room {
			widest := -1
			for i, c := range cols {
				floor := max(s.floor, columns(c.head))
				if c.kind == s.kind && widths[i] > floor && (widest < 0 || widths[i] > widths[widest]) {
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
		if cols[i].kind == kindName {
			cols[i].cuts = t.cuts(i, cols[i], widths[i])
		}
	}
	return cols, widths
}

// cuts are the names of a column in n columns of the page, less the place of
// their note.
func (t *table) cuts(col int, s shown, n int) map[string]string {
	if s.noted {
		n--
	}
	var names []string
	for _, row := range t.rows {
		if v := s.value(row[col]); !slices.Contains(names, v) {
			names = append(names, v)
		}
	}
	return distinct(names, n)
}

// growBars gives the room that is left to the bars, the same to each: equal
// values then have bars of equal length.
func growBars(cols []shown, widths []int, room int) {
	bars := 0
	for _, c := range cols {
		if c.kind == kindBar {
			bars++
		}
	}
	if bars == 0 {
		return
	}
	more := max(0, room-total(widths)) / bars
	for i, c := range cols {
		if c.kind == kindBar {
			widths[i] = min(widths[i]+more, max(barLimit, widths[i]))
		}
	}
}

func total(widths []int) int {
	n := len(gap) * (len(widths) - 1)
	for _, w := range widths {
		n += w
	}
	return n
}
