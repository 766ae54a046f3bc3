package main

import (
	"fmt"
	"io"

	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/report"
)

// writeComparison prints in how many jobs of two tables the verdict is right in both, in one
// or in neither, by family and variant, and which are right in the old table only.
func writeComparison(w io.Writer, before, after []row) error {
	was := map[[4]string]row{}
	for _, r := range before {
		was[r.name()] = r
	}
	type group [3]string
	of := func(r row) group { return group{r.Source, r.Family, r.Variant} }
	counts, onlyAfter := map[group]*[4]int{{"all"}: {}}, 0
	var lost []row
	for _, r := range after {
		old, ok := was[r.name()]
		if !ok {
			onlyAfter++
			continue
		}
		delete(was, r.name())
		which := 3
		switch {
		case old.Right && r.Right:
			which = 0
		case r.Right:
			which = 1
		case old.Right:
			which = 2
			lost = append(lost, r)
		}
		if counts[of(r)] == nil {
			counts[of(r)] = &[4]int{}
		}
		counts[of(r)][which]++
		counts[group{"all"}][which]++
	}
	t := &table.Table{Columns: append(table.Words("source", "family", "variant"), table.Heads(table.Integer, "jobs", "both right", "only new", "only old", "neither")...)}
	for _, g := range append(distinct(after, of), group{"all"}) {
		if n := counts[g]; n != nil {
			t.Row(g[0], g[1], g[2], n[0]+n[1]+n[2]+n[3], n[0], n[1], n[2], n[3])
		}
	}
	if err := printTables(w, t); err != nil {
		return err
	}
	if len(was)+onlyAfter > 0 {
		fmt.Fprintf(w, "\nnot compared: %d rows only in the old table, %d only in the new one\n", len(was), onlyAfter)
	}
	if len(lost) > 0 {
		fmt.Fprintln(w, "\nright in the old table only:")
	}
	for _, r := range lost {
		variant := ""
		if r.Variant != "" {
			variant = " (" + r.Variant + ")"
		}
		fmt.Fprintf(w, "  %s/%s/%s%s: %s\n", r.Source, r.Family, r.Job, variant, r.Wrong)
	}
	return nil
}

// printTables prints tables as text, 200 columns wide at most.
func printTables(w io.Writer, tables ...*table.Table) error {
	return report.Output{W: w, Style: report.Style{Width: 200}}.Tables(tables...)
}
