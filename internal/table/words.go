package table

import (
	"strings"

	"github.com/sfstat/sfstat/internal/glyph"
)

// longWord is how wide a column of words always may get: longer words are broken.
const longWord = 24

// words sets a table of words within the page: as it is; turned, where it has
// many columns and few rows; or its rows one below the other.
func (w writer) words(tab *Table) {
	lines := tab.lines()
	if widths, ok := w.wordWidths(lines); ok {
		w.writeWrapped(lines, widths)
	} else if turned := turn(lines); len(tab.Rows) < len(tab.Columns) {
		if widths, ok := w.wordWidths(turned); ok {
			w.writeWrapped(turned, widths)
		} else {
			w.records(lines)
		}
	} else {
		w.records(lines)
	}
}

// facts returns the rows of a table without columns.
func (t *Table) facts() []glyph.Term {
	out := make([]glyph.Term, len(t.Rows))
	for i, row := range t.Rows {
		out[i] = glyph.Term{Name: row[0].text, Text: row[1].text}
	}
	return out
}

// lines returns the cells of a table as people see them, its head first.
func (t *Table) lines() [][]string { return t.cellLines(mark) }

// cellLines returns the lines of a table, with marks of notes as mark has them.
func (t *Table) cellLines(mark func(note int) string) [][]string {
	t = t.square()
	out := make([][]string, 1+len(t.Rows))
	for i := range t.Columns {
		s := t.show(i)
		out[0] = append(out[0], glyph.Visible(s.Head)+mark(s.Note))
		for r, row := range t.Rows {
			out[r+1] = append(out[r+1], s.value(row[i])+mark(row[i].Note))
		}
	}
	return out
}

// Heads returns the heads of the columns, without marks of notes.
func (t *Table) Heads() []string { return t.cellLines(withoutMark)[0] }

// Records returns the rows as people see them, without marks of notes.
func (t *Table) Records() [][]string { return t.cellLines(withoutMark)[1:] }

func withoutMark(int) string { return "" }

// turn makes columns of rows.
func turn(lines [][]string) [][]string {
	out := make([][]string, len(lines[0]))
	for _, line := range lines {
		for i, cell := range line {
			out[i] = append(out[i], cell)
		}
	}
	return out
}

// wordWidths returns the widths of columns that fit the page without breaking a word
// that is not long; ok is false where there are none.
func (w writer) wordWidths(lines [][]string) (widths []int, ok bool) {
	widths = make([]int, len(lines[0]))
	least := make([]int, len(widths))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], glyph.Columns(cell))
			for _, word := range strings.Fields(cell) {
				least[i] = max(least[i], min(glyph.Columns(word), longWord))
			}
		}
	}
	for total(widths) > w.Room() {
		widest := -1
		for i, n := range widths {
			if n > least[i] && (widest < 0 || n > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return nil, false
		}
		widths[widest]--
	}
	return widths, true
}

// writeWrapped sets each row over as many lines as its longest cell takes. A path or name that
// a row begins with is not broken: one that is too long stands above its row.
func (w writer) writeWrapped(rows [][]string, widths []int) {
	for _, row := range rows {
		if glyph.Columns(row[0]) > widths[0] && len(strings.Fields(row[0])) == 1 {
			w.Paragraph("", "", row[0])
			row = append([]string{""}, row[1:]...)
		}
		parts := make([][]string, len(row))
		most := 1
		for i, cell := range row {
			parts[i] = glyph.Wrap(cell, widths[i])
			most = max(most, len(parts[i]))
		}
		for n := range most {
			plain := make([]string, len(row))
			for i, p := range parts {
				if n < len(p) {
					plain[i] = p[n]
				}
				plain[i] = glyph.PadRight(plain[i], widths[i])
			}
			w.row(plain, plain, w.Width)
		}
	}
}

// records sets the rows of a table that is too wide one below the other, a line
// for each cell.
func (w writer) records(lines [][]string) {
	for n, row := range lines[1:] {
		if n > 0 {
			w.Out.WriteByte('\n')
		}
		var facts []glyph.Term
		for i, v := range row {
			if v != "" {
				facts = append(facts, glyph.Term{Name: lines[0][i], Text: v})
			}
		}
		w.Terms(facts)
	}
}
