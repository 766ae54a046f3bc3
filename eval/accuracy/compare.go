package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/report"
)

// tally is how many of some jobs two tables have right.
type tally struct{ both, onlyNew, onlyOld, neither int }

func (t *tally) add(before, after bool) {
	switch {
	case before && after:
		t.both++
	case after:
		t.onlyNew++
	case before:
		t.onlyOld++
	default:
		t.neither++
	}
}

// comparison is two tables, job by job.
type comparison struct {
	groups  []group // in the order of the new table
	lost    []row   // right in the old table alone, as they are in the new one
	missing [2]int  // rows that only the old table has, and only the new one
}

// group is a family of a source, in one variant: its jobs are counted together.
type group struct {
	source, family, variant string
	tally
}

func compareRows(before, after []row) comparison {
	var c comparison
	was := map[key]*row{}
	for i := range before {
		was[before[i].key()] = &before[i]
	}
	for i := range after {
		r := &after[i]
		old, ok := was[r.key()]
		if !ok {
			c.missing[1]++
			continue
		}
		delete(was, r.key())
		at := slices.IndexFunc(c.groups, func(g group) bool { return g.source == r.Source && g.family == r.Family && g.variant == r.Variant })
		if at < 0 {
			at = len(c.groups)
			c.groups = append(c.groups, group{source: r.Source, family: r.Family, variant: r.Variant})
		}
		c.groups[at].add(old.Right, r.Right)
		if old.Right && !r.Right {
			c.lost = append(c.lost, *r)
		}
	}
	c.missing[0] = len(was)
	return c
}

// table is a row for each group, and the sum.
func (c comparison) table() *table.Table {
	t := &table.Table{Columns: append(table.Words("source", "family", "variant"), table.Heads(table.Integer, "jobs", "both right", "only new", "only old", "neither")...)}
	line := func(g group) {
		cells := table.Texts(g.source, g.family, g.variant)
		for _, n := range []int{g.both + g.onlyNew + g.onlyOld + g.neither, g.both, g.onlyNew, g.onlyOld, g.neither} {
			cells = append(cells, table.WholeCell(n))
		}
		t.Add(cells...)
	}
	all := group{source: "all"}
	for _, g := range c.groups {
		line(g)
		all.both, all.onlyNew, all.onlyOld, all.neither = all.both+g.both, all.onlyNew+g.onlyNew, all.onlyOld+g.onlyOld, all.neither+g.neither
	}
	line(all)
	return t
}

// write prints the table, and what was lost.
func (c comparison) write(w io.Writer) error {
	if err := printTables(w, c.table()); err != nil {
		return err
	}
	if c.missing != [2]int{} {
		fmt.Fprintf(w, "\nnot compared: %d rows only in the old table, %d only in the new one\n", c.missing[0], c.missing[1])
	}
	if len(c.lost) > 0 {
		fmt.Fprintln(w, "\nright in the old table only:")
	}
	for _, r := range c.lost {
		fmt.Fprintf(w, "  %s/%s/%s", r.Source, r.Family, r.Job)
		if r.Variant != "" {
			fmt.Fprintf(w, " (%s)", r.Variant)
		}
		fmt.Fprintf(w, ": %s\n", r.Wrong)
	}
	return nil
}

// printTables prints tables as text, 200 columns wide at most.
func printTables(w io.Writer, tables ...*table.Table) error {
	return report.Output{W: w, Style: report.Style{Width: 200}}.Tables(tables...)
}
