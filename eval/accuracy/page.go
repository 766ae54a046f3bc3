package main

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"text/template"

	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/report"
)

// pageText is docs/accuracy.md without its tables.
//
//go:embed page.md.tmpl
var pageText string

// recordedName is the column of jobs as they were recorded.
const recordedName = "right"

// tablesOf returns a table for each source, a row for each family: how many jobs have a fault that has to be named, how many
// are right in each variant, and the faults of the other verdicts. bounds adds the interval of the part of jobs that are right
// as recorded.
func tablesOf(rows []row, bounds bool) []*table.Table {
	var out []*table.Table
	for _, source := range distinct(rows, func(r row) string { return r.Source }) {
		of := rowsOfKind(rows, func(r row) bool { return r.Source == source })
		variants := distinct(of, func(r row) string { return r.Variant })
		heads := []string{recordedName}
		if bounds {
			heads = append(heads, "95 %")
		}
		t := &table.Table{Title: source, Columns: slices.Concat(table.Words("family"), table.Heads(table.Integer, "due"), table.Words(heads...),
			table.Words(variants[1:]...), table.Words("what is wrong"))}
		line := func(name string, of []row) {
			recorded := rowsOfKind(of, func(r row) bool { return r.Variant == variants[0] })
			cells := []any{name, len(rowsOfKind(recorded, func(r row) bool { return r.Due > 0 }))}
			for i, v := range variants {
				cells = append(cells, rightOf(rowsOfKind(of, func(r row) bool { return r.Variant == v })))
				if i == 0 && bounds {
					cells = append(cells, boundsOf(len(rowsOfKind(recorded, func(r row) bool { return r.Right })), len(recorded)))
				}
			}
			t.Row(append(cells, wrongs(recorded))...)
		}
		families := distinct(of, func(r row) string { return r.Family })
		for _, family := range families {
			line(family, rowsOfKind(of, func(r row) bool { return r.Family == family }))
		}
		if len(families) > 1 {
			line("all", of)
		}
		out = append(out, t)
	}
	return out
}

// rowsOfKind returns the rows of a kind.
func rowsOfKind(rows []row, is func(row) bool) (out []row) {
	for _, r := range rows {
		if is(r) {
			out = append(out, r)
		}
	}
	return out
}

// distinct returns the values of a column in the order of the rows.
func distinct[T comparable](rows []row, of func(row) T) (out []T) {
	for _, r := range rows {
		if x := of(r); !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	return out
}

// rightOf returns the count of right rows: "18 of 20".
func rightOf(rows []row) string {
	if len(rows) == 0 {
		return "–"
	}
	return fmt.Sprintf("%d of %d", len(rowsOfKind(rows, func(r row) bool { return r.Right })), len(rows))
}

// boundsOf returns the interval of a part in percent, at 95 %: "78–99" (Wilson 1927, JASA 22:209–212).
func boundsOf(k, n int) string {
	if n == 0 {
		return "–"
	}
	const z = 1.959964
	N := float64(n)
	part, squares := float64(k)/N, z*z/N
	middle, half := part+squares/2, z*math.Sqrt((part*(1-part)+squares/4)/N)
	return fmt.Sprintf("%.3g–%.3g", 100*max(0, middle-half)/(1+squares), 100*min(1, (middle+half)/(1+squares)))
}

// wrongs counts what is wrong, the most frequent first.
func wrongs(rows []row) string {
	count := map[string]int{}
	for _, r := range rows {
		if !r.Right {
			count[r.Wrong]++
		}
	}
	var out []string
	frequentFirst := func(a, b string) int { return cmp.Or(count[b]-count[a], strings.Compare(a, b)) }
	for _, what := range slices.SortedFunc(maps.Keys(count), frequentFirst) {
		out = append(out, fmt.Sprintf("%s %d", what, count[what]))
	}
	return strings.Join(out, ", ")
}

// generatedSources share a table on the page, with a row for each; all others but comparisons
// are recordings, which share another.
var generatedSources = []string{"scenarios", "composed", "jobs", "campaign", "windows", "operators"}

// writePage writes the page about a table.
func writePage(w io.Writer, rows []row) error {
	rows = slices.Clone(rows)
	for i := range rows {
		r := &rows[i]
		switch {
		case slices.Contains(generatedSources, r.Source):
			r.Source, r.Family = "generated", r.Source
		case r.Source != "comparisons":
			r.Source, r.Family = "recordings", r.Source
		}
	}
	tables := map[string]string{}
	for _, t := range tablesOf(rows, false) {
		source := t.Title
		t.Title = ""
		var out bytes.Buffer
		if err := (report.Output{W: &out, Format: report.Markdown}).Tables(t); err != nil {
			return err
		}
		tables[source] = strings.TrimSpace(out.String())
	}
	return template.Must(template.New("page").Parse(pageText)).Execute(w, tables)
}
