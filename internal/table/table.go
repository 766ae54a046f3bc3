// Package table holds results as rows of typed cells, and sets them as text for a terminal,
// Markdown, HTML, CSV and LaTeX.
//
// A value goes in as a number and is scaled and rounded here, by the kind of its column, so
// that the formats of one table cannot disagree. Cells and heads may come from hostile
// inputs: each format shows control characters as escapes and quotes what it would take for
// markup.
package table

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
)

// Table is rows of typed cells. Footnotes are numbered from 1; cells and columns
// refer to them. Without columns it is a list of facts: a name and what there is to
// say about it in each row.
type Table struct {
	Title     string
	Label     string // by which a text refers to the table in LaTeX; "" for none
	Columns   []Column
	Rows      [][]Cell
	Footnotes []string
	Caption   string   // a sentence below the rows, "" for none
	Notes     []string // sentences behind the table, each a paragraph; CSV has no place for them
	OneUnit   bool     // all lengths have the unit of the longest
	Keys      int      // how many columns name a row, from the first; 0: one
}

// Kind is what the cells of a column are. In a table with a column of [Words] all are shown
// in full and stand to the left, whole numbers have no gaps between their digits, and what is
// not known is left empty.
type Kind uint8

// The kinds.
const (
	Text       Kind = iota // a word or few
	Uncut                  // words that are always shown in full
	Wrapped                // words over as many lines as they take; then all columns are set so
	Name                   // a name of the input: may be shortened, is quoted in Markdown
	Key                    // a name that the row is looked up by: never shortened, where there is no room above its row
	List                   // items; as many are shown as fit
	Integer                // a whole number
	ID                     // a whole number that names something
	Part                   // how many of how many: 3/50
	Length                 // nanoseconds, scaled to one unit for the column
	Fraction               // a fraction, shown as a percentage
	Rate                   // a rate, shown as a percentage with two decimals
	Fine                   // a small fraction, shown as a percentage with three decimals
	Factor                 // a ratio about 1, shown with two decimals
	Hundredths             // a number with two decimals
	Unit                   // a number from 0 to 1, shown with three decimals
	Precise                // a number with six significant digits
	Real                   // any other number
	Amount                 // words that stand to the right, as numbers do
	Bar                    // a bar as long as its part of the column's largest value
)

func (k Kind) name() bool { return k == Name || k == Key }

func (k Kind) numeric() bool {
	switch k {
	case Integer, ID, Part, Length, Fraction, Rate, Fine, Factor, Hundredths, Unit, Precise, Real:
		return true
	}
	return false
}

// Column describes the cells under it. In the head of a column of lengths, and of
// any where all have one unit, %s stands for the unit.
type Column struct {
	Head  string
	Kind  Kind
	Means string // one sentence, "" where the head speaks for itself
	Note  int
	Spare bool // left out where the page is too narrow, and in Markdown
	Last  bool // left out where the page is too narrow for all names
}

// Heads returns columns of one kind.
func Heads(k Kind, heads ...string) []Column {
	out := make([]Column, len(heads))
	for i, head := range heads {
		out[i] = Column{Head: head, Kind: k}
	}
	return out
}

// Words returns columns of words, shown in full over as many lines as they take.
func Words(heads ...string) []Column { return Heads(Wrapped, heads...) }

// Cell is one value; the zero cell is "nothing known". Words may stand in a column of
// any kind.
type Cell struct {
	Note   int
	Strong bool // stands out

	holds content
	text  string
	items []string
	whole int64
	of    int64
	real  float64
}

// content is which of a cell's values is set.
type content uint8

const (
	nothing content = iota
	words
	list
	whole
	part
	number
)

// HasValue reports whether the cell holds anything.
func (c Cell) HasValue() bool { return c.holds != nothing }

// Number returns the value of a RealCell.
func (c Cell) Number() float64 { return c.real }

// TextCell returns a cell of text, absent for "".
func TextCell(s string) Cell {
	if s == "" {
		return Cell{}
	}
	return Cell{holds: words, text: s}
}

// NoFigure returns the cell that stands where there is no figure, in a column of any kind and in CSV too.
func NoFigure() Cell { return TextCell(Absent) }

// Texts returns cells of words.
func Texts(s ...string) []Cell {
	out := make([]Cell, len(s))
	for i, each := range s {
		out[i] = TextCell(each)
	}
	return out
}

// ListCell returns a cell of a list, absent without items.
func ListCell(items []string) Cell {
	if len(items) == 0 {
		return Cell{}
	}
	return Cell{holds: list, items: items}
}

// WholeCell returns a cell of a whole number.
func WholeCell[T int | int64](n T) Cell { return Cell{holds: whole, whole: int64(n)} }

// PartCell returns a cell that says how many of how many.
func PartCell(k, n int) Cell { return Cell{holds: part, whole: int64(k), of: int64(n)} }

// RealCell returns a cell of a number, absent for NaN and infinities.
func RealCell(f float64) Cell {
	if !Finite(f) {
		return Cell{}
	}
	return Cell{holds: number, real: f}
}

// OptionalCell returns a cell of what a pointer points to, absent for nil.
func OptionalCell(f *float64) Cell {
	if f == nil {
		return Cell{}
	}
	return RealCell(*f)
}

// Add appends a row; what it lacks at its end is absent.
func (t *Table) Add(row ...Cell) { t.Rows = append(t.Rows, row) }

// Row appends a row of plain values, as Cells has them.
func (t *Table) Row(values ...any) { t.Add(t.Cells(values...)...) }

// Cells returns plain values as cells of the columns: words, lists of them, numbers as the kind of
// their column has them, what names itself, what points to one of these; nil is nothing, and a cell
// is itself.
func (t *Table) Cells(values ...any) []Cell {
	out := make([]Cell, len(values))
	for i, v := range values {
		out[i] = t.Columns[i].cell(v)
	}
	return out
}

func (c Column) cell(v any) Cell {
	switch v := v.(type) {
	case Cell:
		return v
	case string:
		return TextCell(v)
	case []string:
		return ListCell(v)
	case fmt.Stringer:
		return TextCell(v.String())
	}
	switch x := reflect.Indirect(reflect.ValueOf(v)); {
	case x.Kind() == reflect.String:
		return TextCell(x.String())
	case x.CanFloat():
		return RealCell(x.Float())
	case x.CanInt() && (c.Kind == Bar || c.Kind.numeric() && c.Kind != Integer && c.Kind != ID):
		return RealCell(float64(x.Int()))
	case x.CanInt():
		return WholeCell(x.Int())
	}
	return Cell{}
}

// Fact appends a row to a list of facts: a name, and what there is to say about it.
func (t *Table) Fact(name, format string, args ...any) {
	t.Add(TextCell(name), TextCell(fmt.Sprintf(format, args...)))
}

// square returns the table with rows of equal length.
func (t *Table) square() *Table {
	short := func(row []Cell) bool { return len(row) < len(t.Columns) }
	if !slices.ContainsFunc(t.Rows, short) {
		return t
	}
	out := *t
	out.Rows = make([][]Cell, len(t.Rows))
	for i, row := range t.Rows {
		out.Rows[i] = make([]Cell, len(t.Columns))
		copy(out.Rows[i], row)
	}
	return &out
}

// wordy reports whether all cells are shown in full, over as many lines as they take.
func (t *Table) wordy() bool {
	return slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Kind == Wrapped })
}

// largest returns the largest absolute value of a column of reals; for bars of all
// bars, so that they compare.
func (t *Table) largest(col int) float64 {
	m := 0.0
	for _, row := range t.Rows {
		for i, c := range row {
			if i == col || t.Columns[i].Kind == Bar && t.Columns[col].Kind == Bar {
				m = max(m, math.Abs(c.real))
			}
		}
	}
	return m
}

// reading returns how to read the columns, with the caption.
func (t *Table) reading() string {
	var s []string
	for _, c := range t.Columns {
		if c.Means != "" {
			s = append(s, c.Means)
		}
	}
	if t.Caption != "" {
		s = append(s, t.Caption)
	}
	return strings.Join(s, " ")
}

// remove takes out the columns for which drop holds.
func (t *Table) remove(drop func(col int) bool) {
	out := *t
	out.Columns, out.Rows = nil, make([][]Cell, len(t.Rows))
	for i, c := range t.Columns {
		if drop(i) {
			continue
		}
		out.Columns = append(out.Columns, c)
		for r, row := range t.Rows {
			out.Rows[r] = append(out.Rows[r], row[i])
		}
	}
	*t = out
}

// Tidy removes the columns in which nothing is known and moves a note that all
// cells of a column carry to its head.
func (t *Table) Tidy() *Table {
	t.remove(func(col int) bool {
		return !slices.ContainsFunc(t.Rows, func(row []Cell) bool { return row[col].HasValue() })
	})
	for col := range t.Columns {
		t.liftNote(col)
	}
	return t
}

func (t *Table) liftNote(col int) {
	note := 0
	for _, row := range t.Rows {
		c := row[col]
		if !c.HasValue() {
			continue
		}
		if c.Note == 0 || note != 0 && c.Note != note {
			return
		}
		note = c.Note
	}
	if note == 0 {
		return
	}
	t.Columns[col].Note = note
	for r := range t.Rows {
		t.Rows[r][col].Note = 0
	}
}
