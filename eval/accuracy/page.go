package main

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"maps"
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

// tablesOf are a table for each source: a row for each family, with how many jobs have a fault
// that has to be named, how many are right, in each variant, and what is wrong with the others.
func tablesOf(rows []row) []*table.Table {
	var out []*table.Table
	for _, source := range distinct(rows, func(r row) string { return r.Source }) {
		of := slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return r.Source != source })
		variants := distinct(of, func(r row) string { return r.Variant })
		t := &table.Table{Title: source, Columns: slices.Concat(table.Words("family"), table.Heads(table.Integer, "due"), table.Words(recordedName),
			table.Words(variants[1:]...), table.Words("what is wrong"))}
		line := func(name string, of []row) {
			cells := []table.Cell{table.TextCell(name), table.WholeCell(dueOf(of, variants[0]))}
			for _, v := range variants {
				cells = append(cells, table.TextCell(rightOf(of, v)))
			}
			t.Add(append(cells, table.TextCell(wrongs(of, variants[0])))...)
		}
		families := distinct(of, func(r row) string { return r.Family })
		for _, family := range families {
			line(family, slices.DeleteFunc(slices.Clone(of), func(r row) bool { return r.Family != family }))
		}
		if len(families) > 1 {
			line("all", of)
		}
		out = append(out, t)
	}
	return out
}

// distinct are the values of a column in the order of the rows.
func distinct(rows []row, of func(row) string) []string {
	var out []string
	for _, r := range rows {
		if x := of(r); !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	return out
}

// dueOf is in how many rows of a variant a fault has to be named.
func dueOf(rows []row, variant string) int {
	n := 0
	for _, r := range rows {
		if r.Variant == variant && r.Due > 0 {
			n++
		}
	}
	return n
}

// rightOf is how many rows of a variant are right: "18 of 20".
func rightOf(rows []row, variant string) string {
	right, n := 0, 0
	for _, r := range rows {
		if r.Variant == variant {
			n++
			if r.Right {
				right++
			}
		}
	}
	if n == 0 {
		return "–"
	}
	return fmt.Sprintf("%d of %d", right, n)
}

// wrongs counts what is wrong, the most frequent first.
func wrongs(rows []row, variant string) string {
	count := map[string]int{}
	for _, r := range rows {
		if r.Variant == variant && !r.Right {
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
var generatedSources = []string{"scenarios", "jobs", "campaign", "windows", "operators"}

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
	for _, t := range tablesOf(rows) {
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
