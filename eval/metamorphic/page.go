package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/report"
)

// writeOutcomes writes a row for each cell as CSV.
func writeOutcomes(w io.Writer, done []outcome) error {
	var rows [][]string
	for _, o := range done {
		rows = append(rows, []string{o.recording, o.kind, o.change, string(o.state), o.why})
	}
	return table.WriteCSV(w, []string{"recording", "format", "change", "state", "why"}, rows)
}

// writePage prints the table of changes × formats, the rules, and below them every recording that fails.
func writePage(w io.Writer, done []outcome, listed known, how options) error {
	var kinds, changed, refused []string
	for _, o := range done {
		if (o.state == holds || o.state == broken) && !slices.Contains(kinds, o.kind) {
			kinds = append(kinds, o.kind)
		}
		if o.state == refusedBefore && !slices.Contains(refused, o.recording) {
			refused = append(refused, o.recording)
		}
		if !slices.Contains(changed, o.change) {
			changed = append(changed, o.change)
		}
	}
	slices.Sort(kinds)
	t := &table.Table{Columns: table.Words(append([]string{"change", "rule"}, append(slices.Clone(kinds), "all")...)...)}
	for _, name := range changed {
		at := slices.IndexFunc(changes, func(c change) bool { return c.name == name })
		cells := []any{name, changes[at].rule.name}
		for _, kind := range append(slices.Clone(kinds), "") {
			cells = append(cells, holdCount(done, name, kind))
		}
		t.Row(cells...)
	}
	if err := (report.Output{W: w, Format: how.format, Style: report.Style{Width: 240}}).Tables(t); err != nil {
		return err
	}
	fmt.Fprintln(w)
	for _, r := range rules {
		fmt.Fprintf(w, "%-8s%s\n", r.name, r.says)
	}
	fmt.Fprintf(w, "\n%d recordings, of which sfstat refuses %d as they are\n", len(done)/len(changed), len(refused))
	for _, o := range done {
		mark := ""
		switch {
		case o.state == broken && listed.has(o):
			mark = "known"
		case o.state == broken:
			mark = "NEW"
		case !how.verbose:
			continue
		}
		fmt.Fprintf(w, "%-8s%s, %s: %s %s\n", mark, o.recording, o.change, o.state, o.why)
	}
	return nil
}

// holdCount returns in how many recordings of a kind the rule of a change holds, of those to which it applies.
func holdCount(done []outcome, change, kind string) string {
	held, of := 0, 0
	for _, o := range done {
		if o.change != change || kind != "" && o.kind != kind {
			continue
		}
		if o.state == holds {
			held++
		}
		if o.state == holds || o.state == broken {
			of++
		}
	}
	if of == 0 {
		return "–"
	}
	return fmt.Sprintf("%d of %d", held, of)
}
