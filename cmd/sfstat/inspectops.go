package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/cmd/sfstat/internal/inventory"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/report"
	"github.com/sfstat/sfstat/trace/operator"
)

// opsFacts is an operator trace for a person.
func opsFacts(o *inventory.Trace) *table.Table {
	t := &table.Table{Title: "operator trace " + o.Run}
	t.Fact("layout", "%s", layoutWords(o.Layout))
	workers := fmt.Sprintf("%d of %d recorded", o.Workers, max(o.Workers, o.Layout.DP*o.Layout.PP))
	if per := o.Layout.TP * o.Layout.DSP; per > 1 {
		workers += fmt.Sprintf(", each for %d ranks", per)
	}
	if o.Missing != "" {
		workers += ", missing " + o.Missing
	}
	t.Fact("workers", "%s", workers)
	t.Fact("steps", "%s", stepWords(o))
	t.Fact("operators", "%d, %s of worker time", o.Operators, report.Length(o.TotalNS))
	groups := fmt.Sprintf("%d, which join %d operators that communicate", o.Groups, o.Joined)
	if o.Alone > 0 {
		groups += fmt.Sprintf("; %d communicate with nobody in the trace", o.Alone)
	}
	t.Fact("groups", "%s", groups)
	zero := "one zero for all steps"
	if o.StepClock {
		zero = "each step has its own zero"
	}
	t.Fact("times", "%s; %s", o.Units, zero)
	for _, n := range o.Notes {
		t.Fact("incomplete", "%s: %s", n.Kind, n.Text)
	}
	for _, n := range o.Needs {
		t.Fact("lacks", "%s: %s", n.Analysis, n.Lacks)
	}
	return t
}

func layoutWords(l operator.Layout) string {
	if l.TP == 0 { // ranks are missing
		return fmt.Sprintf("dp %d × pp %d, of a job of %s", l.DP, l.PP, counted(l.World, "rank"))
	}
	words := fmt.Sprintf("dp %d × pp %d × tp %d", l.DP, l.PP, l.TP)
	if l.DSP > 1 {
		words += fmt.Sprintf(" × dsp %d", l.DSP)
	}
	words += fmt.Sprintf(" = %s", counted(l.World, "rank"))
	if l.VPP > 1 {
		words += fmt.Sprintf("; %d model chunks on a stage", l.VPP)
	}
	return words
}

func stepWords(o *inventory.Trace) string {
	if o.Steps == 1 {
		return fmt.Sprintf("1, index %d", o.FirstStep)
	}
	words := fmt.Sprintf("%d, from %d to %d", o.Steps, o.FirstStep, o.LastStep)
	switch {
	case o.Every > 1:
		words += fmt.Sprintf(", every %d", o.Every)
	case o.Every == 0:
		words += ", with gaps"
	}
	return words
}

// opsNames has a row for each name of operators, the most time first.
func opsNames(o *inventory.Trace) *table.Table {
	t := &table.Table{Title: "operators of " + o.Run, Columns: slices.Concat(table.Words("name", "kind"),
		table.Heads(table.Integer, "count", "in groups"), table.Words("mean", "total"))}
	for _, n := range o.Names {
		joined := table.Cell{}
		if n.Kind == inventory.Transfer || n.Kind == inventory.Collective {
			joined = table.WholeCell(n.Joined)
		}
		t.Add(table.TextCell(n.Name), table.TextCell(n.Kind.String()), table.WholeCell(n.Count), joined,
			table.TextCell(report.Length(n.TotalNS/int64(n.Count))), table.TextCell(report.Length(n.TotalNS)))
	}
	return t
}

// opsRow is an operator trace in the table of runs.
func opsRow(o *inventory.Trace) []table.Cell {
	var notes []string
	for _, n := range o.Notes {
		notes = append(notes, n.Kind)
	}
	workers, none := table.WholeCell(o.Workers), table.Cell{}
	return []table.Cell{table.TextCell(o.Run), none, table.WholeCell(o.Steps), table.WholeCell(o.FirstStep), table.WholeCell(o.LastStep),
		table.WholeCell(o.Layout.World), workers, workers, none, none, none, none, none, table.WholeCell(o.TotalNS), table.TextCell(strings.Join(notes, " ")),
		table.WholeCell(o.Operators), table.WholeCell(len(o.Names)), table.WholeCell(o.Layout.DP), table.WholeCell(o.Layout.PP), table.WholeCell(o.Layout.TP),
		table.WholeCell(o.Layout.DSP), table.WholeCell(o.Layout.VPP), table.WholeCell(o.Groups), table.WholeCell(o.Joined), table.WholeCell(o.Resolution)}
}
