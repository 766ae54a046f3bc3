package report

import (
	"slices"
	"strings"

	"github.com/sfstat/sfstat/diagnose/evidence"
)

// A document is what text and Markdown render: blocks from top to bottom.
type document []block

// A block is a headline, heading, prose, remark, hint, brief, bullets, terms, *table or
// *heatmap.
type block interface{ isBlock() }

type (
	// headline is the one sentence that a tired reader must see.
	headline struct {
		text  string
		level evidence.Confidence
	}
	heading string
	prose   string
	bullets []string
	// terms explains words, one line each.
	terms []term
	// brief are the two lines under the headline; remark is one more line of the
	// paragraph before.
	brief  []term
	remark string
	// hint is a remark on the command line: it means nothing on a page.
	hint string
	term struct{ name, text string }
)

// table is rows of typed cells. Notes are numbered from 1; cells and columns
// refer to them.
type table struct {
	columns []column
	rows    [][]cell
	notes   []string
	caption string // a sentence below the rows, "" for none
	oneUnit bool   // all lengths have the unit of the longest
}

func (headline) isBlock() {}
func (heading) isBlock()  {}
func (prose) isBlock()    {}
func (bullets) isBlock()  {}
func (terms) isBlock()    {}
func (brief) isBlock()    {}
func (remark) isBlock()   {}
func (hint) isBlock()     {}
func (*table) isBlock()   {}

// kind is what the cells of a column are.
type kind uint8

const (
	kindText     kind = iota // a word or few
	kindWrapped              // words that are always shown in full; then all columns are
	kindName                 // a name of the input: may be shortened, is quoted in Markdown
	kindKey                  // a name that the row is looked up by: never shortened, where there is no room above its row
	kindList                 // items; as many are shown as fit
	kindInteger              // a whole number
	kindID                   // a whole number that names something
	kindLength               // nanoseconds, scaled to one unit for the column
	kindFraction             // a fraction, shown as a percentage
	kindFine                 // a small fraction, shown as a percentage with three decimals
	kindFactor               // a ratio about 1, shown with two decimals
	kindUnit                 // a number from 0 to 1, shown with three decimals
	kindReal                 // any other number
	kindAmount               // words that stand to the right, as numbers do
	kindBar                  // a bar as long as its part of the column's largest value
)

func (k kind) name() bool { return k == kindName || k == kindKey }

func (k kind) numeric() bool {
	return k == kindInteger || k == kindID || k == kindLength || k == kindFraction || k == kindFine || k == kindFactor || k == kindUnit || k == kindReal
}

// column describes the cells under it. In the head of a column of lengths, and of
// any where all have one unit, %s stands for the unit.
type column struct {
	head  string
	kind  kind
	means string // one sentence, "" where the head speaks for itself
	note  int
	spare bool // left out where the page is too narrow, and in Markdown
	last  bool // left out where the page is too narrow for all names
}

// cell is one value; the zero cell is "nothing known".
type cell struct {
	set    bool
	text   string
	items  []string
	whole  int64
	real   float64
	note   int
	strong bool // stands out
}

func textCell(s string) cell            { return cell{set: s != "", text: s} }
func listCell(items []string) cell      { return cell{set: len(items) > 0, items: items} }
func wholeCell[T int | int64](n T) cell { return cell{set: true, whole: int64(n)} }

// realCell is absent for NaN and infinities.
func realCell(f float64) cell { return cell{set: finite(f), real: f} }

func optionalCell(f *float64) cell {
	if f == nil {
		return cell{}
	}
	return realCell(*f)
}

// largest is the largest absolute value of a column of reals; for bars of all
// bars, so that they compare.
func (t *table) largest(col int) float64 {
	m := 0.0
	for _, row := range t.rows {
		for i, c := range row {
			if c.set && (i == col || t.columns[i].kind == kindBar && t.columns[col].kind == kindBar) {
				m = max(m, c.real, -c.real)
			}
		}
	}
	return m
}

// reading says how to read the columns, with the caption.
func (t *table) reading() string {
	var s []string
	for _, c := range t.columns {
		if c.means != "" {
			s = append(s, c.means)
		}
	}
	if t.caption != "" {
		s = append(s, t.caption)
	}
	return strings.Join(s, " ")
}

// remove takes out the columns for which drop holds.
func (t *table) remove(drop func(col int) bool) {
	out := *t
	out.columns, out.rows = nil, make([][]cell, len(t.rows))
	for i, c := range t.columns {
		if drop(i) {
			continue
		}
		out.columns = append(out.columns, c)
		for r, row := range t.rows {
			out.rows[r] = append(out.rows[r], row[i])
		}
	}
	*t = out
}

// tidy removes the columns in which nothing is known and moves a note that all
// cells of a column carry to its head.
func (t *table) tidy() *table {
	t.remove(func(col int) bool {
		return !slices.ContainsFunc(t.rows, func(row []cell) bool { return row[col].set })
	})
	for col := range t.columns {
		t.liftNote(col)
	}
	return t
}

func (t *table) liftNote(col int) {
	note := 0
	for _, row := range t.rows {
		c := row[col]
		if !c.set {
			continue
		}
		if c.note == 0 || note != 0 && c.note != note {
			return
		}
		note = c.note
	}
	if note == 0 {
		return
	}
	t.columns[col].note = note
	for r := range t.rows {
		t.rows[r][col].note = 0
	}
}
