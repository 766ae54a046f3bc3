package tables

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/internal/table"
)

// Index is the page of a campaign: its tables and figures, and what differs from
// the published figures.
type Index struct {
	Name    string
	Tables  []Artifact
	Figures []Picture
}

// Picture is a figure that lies in the folder of the page.
type Picture struct {
	File string // from the folder, with slashes
}

// Name returns the name of the file, without its ending.
func (p Picture) Name() string { return strings.TrimSuffix(path.Base(p.File), path.Ext(p.File)) }

// Caption returns the caption of the figure.
func (p Picture) Caption() string {
	for _, c := range published().Captions {
		if strings.HasPrefix(p.Name(), c.Figure) {
			return c.Caption + " (" + p.Name() + ")"
		}
	}
	return p.Name()
}

// Cells returns the figures of all tables that have a published twin.
func (x *Index) Cells() []Cell {
	var out []Cell
	for i := range x.Tables {
		out = append(out, x.Tables[i].Cells...)
	}
	return out
}

// DifferingCells returns the cells that differ.
func (x *Index) DifferingCells() []Cell {
	return slices.DeleteFunc(x.Cells(), func(c Cell) bool { return !c.Differs() })
}

// CountEqual returns how many figures equal their published twin.
func (x *Index) CountEqual() int { return len(x.Cells()) - len(x.DifferingCells()) }

// Difference returns ours less the published figure: of counts in percentage points.
func (c Cell) Difference() string {
	k, n, ok := fraction(c.Ours)
	p, q, ok2 := fraction(c.Published)
	if ok && ok2 {
		return fmt.Sprintf("%+.0f points", 100*(float64(k)/float64(n)-float64(p)/float64(q)))
	}
	a, err := strconv.ParseFloat(c.Ours, 64)
	b, err2 := strconv.ParseFloat(c.Published, 64)
	if err != nil || err2 != nil {
		return none
	}
	return fmt.Sprintf("%+.2f", a-b)
}

// IsMarked reports whether a cell of the table differs from its published twin. The row is as
// people see it.
func (a Artifact) IsMarked(row []string, column int) bool {
	t := a.Table
	return slices.ContainsFunc(a.Cells, func(c Cell) bool {
		return c.Row == rowName(t, row) && c.Column == t.Columns[column].Head && c.Differs()
	})
}

//go:embed index.html
var indexText string

var indexTemplate = template.Must(template.New("index").Parse(indexText))

// WriteHTML writes the page, which needs the files of the figures and nothing
// else.
func (x *Index) WriteHTML(w io.Writer) error { return indexTemplate.Execute(w, x) }

// WriteCSV writes the figures that have a published twin, a row for each.
func (x *Index) WriteCSV(w io.Writer) error {
	var rows [][]string
	for _, c := range x.Cells() {
		difference := ""
		if c.Differs() {
			difference = c.Difference()
		}
		explained := ""
		if c.Differs() {
			explained = strconv.FormatBool(c.IsExplained())
		}
		rows = append(rows, []string{c.Artifact, c.Row, c.Column, c.Ours, c.Published, strconv.FormatBool(c.Differs()), difference, explained, c.Reason})
	}
	return table.WriteCSV(w, []string{"table", "row", "figure", "ours", "published", "differs", "difference", "explained", "reason"}, rows)
}
