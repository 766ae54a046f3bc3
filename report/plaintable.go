package report

import (
	"bytes"
	"slices"
	"strings"
)

// Table is cells of text, for results that are not of one of the analyses above.
// Without a head it is a list of facts, a name and what there is to say about it
// in each row. Cells may come from hostile inputs.
type Table struct {
	Title string
	Head  []string
	Rows  [][]string
	Notes []string // sentences below the rows; CSV has no place for them
}

// Tables writes tables one below the other, in any format but JSON.
func (o Output) Tables(list []Table) error {
	var out bytes.Buffer
	switch o.Format {
	case CSV:
		for i := range list {
			if i > 0 {
				out.WriteByte('\n')
			}
			if err := list[i].csv().write(&out); err != nil {
				return err
			}
		}
	case LaTeX:
		for i := range list {
			writeLaTeX(&out, &list[i])
		}
	default:
		var d document
		for i := range list {
			d = append(d, list[i].blocks()...)
		}
		return o.show(d)
	}
	_, err := o.W.Write(out.Bytes())
	return err
}

// blocks are the table on a page.
func (t *Table) blocks() document {
	var d document
	if t.Title != "" {
		d = append(d, heading(t.Title))
	}
	if t.Head == nil {
		var facts terms
		for _, row := range t.Rows {
			facts = append(facts, term{row[0], row[1]})
		}
		d = append(d, facts)
	} else {
		d = append(d, t.cells())
	}
	for _, n := range t.Notes {
		d = append(d, prose(n))
	}
	return d
}

// cells are the rows as words; what a row lacks at its end is absent.
func (t *Table) cells() *table {
	out := &table{}
	for _, head := range t.Head {
		out.columns = append(out.columns, column{head: head, kind: kindWrapped})
	}
	for _, row := range t.Rows {
		cells := make([]cell, len(t.Head))
		for i := range min(len(row), len(cells)) {
			cells[i] = textCell(row[i])
		}
		out.rows = append(out.rows, cells)
	}
	return out
}

// csv is the rows as CSV has them.
func (t *Table) csv() *csvTable {
	out := &csvTable{head: t.Head}
	for _, row := range t.Rows {
		cells := make([]string, len(t.Head))
		for i := range min(len(row), len(cells)) {
			cells[i] = harmless(Visible(row[i]))
		}
		out.rows = append(out.rows, cells)
	}
	return out
}

// wordy reports whether all cells of a table are words: then all are shown, over
// as many lines as they take.
func (t *table) wordy() bool {
	return !slices.ContainsFunc(t.columns, func(c column) bool { return c.kind != kindWrapped })
}

// longWord is how wide a column of words always may get: longer words are broken.
const longWord = 24

// words sets a table of words within the page: as it is; turned, where it has
// many columns and few rows; or its rows one below the other.
func (t *textWriter) words(tab *table) {
	lines := tab.lines()
	if widths, ok := t.wordWidths(lines); ok {
		t.wrapped(lines, widths)
	} else if turned := turn(lines); len(tab.rows) < len(tab.columns) {
		if widths, ok := t.wordWidths(turned); ok {
			t.wrapped(turned, widths)
		} else {
			t.records(tab)
		}
	} else {
		t.records(tab)
	}
}

// lines are the cells of a table as people see them, its head first.
func (t *table) lines() [][]string {
	out := make([][]string, 1+len(t.rows))
	for i, c := range t.columns {
		out[0] = append(out[0], Visible(c.head))
		for r, row := range t.rows {
			out[r+1] = append(out[r+1], Visible(row[i].text))
		}
	}
	return out
}

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

// wordWidths are the widths of columns that fit the page without breaking a word
// that is not long; ok is false where there are none.
func (t *textWriter) wordWidths(lines [][]string) (widths []int, ok bool) {
	widths = make([]int, len(lines[0]))
	least := make([]int, len(widths))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], columns(cell))
			for _, word := range strings.Fields(cell) {
				least[i] = max(least[i], min(columns(word), longWord))
			}
		}
	}
	for total(widths) > t.style.width()-len(t.indent()) {
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

// wrapped sets each row over as many lines as its longest cell takes. A path or name that
// a row begins with is not broken: one that is too long stands above its row.
func (t *textWriter) wrapped(rows [][]string, widths []int) {
	for _, row := range rows {
		if columns(row[0]) > widths[0] && len(strings.Fields(row[0])) == 1 {
			t.paragraph("", "", row[0])
			row = append([]string{""}, row[1:]...)
		}
		parts := make([][]string, len(row))
		most := 1
		for i, cell := range row {
			parts[i] = wrap(cell, widths[i])
			most = max(most, len(parts[i]))
		}
		for n := range most {
			plain := make([]string, len(row))
			for i, p := range parts {
				if n < len(p) {
					plain[i] = p[n]
				}
				plain[i] = padRight(plain[i], widths[i])
			}
			t.row(plain, plain, t.style.width())
		}
	}
}

// records sets the rows of a table that is too wide one below the other, a line
// for each cell.
func (t *textWriter) records(tab *table) {
	for n, row := range tab.rows {
		if n > 0 {
			t.out.WriteByte('\n')
		}
		var facts terms
		for i, c := range row {
			if c.set {
				facts = append(facts, term{tab.columns[i].head, c.text})
			}
		}
		t.terms(facts)
	}
}
