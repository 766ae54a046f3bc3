package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/cmd/sfstat/internal/inventory"
	"github.com/sfstat/sfstat/report"
	"github.com/sfstat/sfstat/trace/operator"
)

// opsFacts is an operator trace for a person.
func opsFacts(o *inventory.Trace) report.Table {
	t := facts{Title: "operator trace " + o.Run}
	t.add("layout", "%s", layoutWords(o.Layout))
	workers := fmt.Sprintf("%d of %d recorded", o.Workers, max(o.Workers, o.Layout.DP*o.Layout.PP))
	if per := o.Layout.TP * o.Layout.DSP; per > 1 {
		workers += fmt.Sprintf(", each for %d ranks", per)
	}
	if o.Missing != "" {
		workers += ", missing " + o.Missing
	}
	t.add("workers", "%s", workers)
	t.add("steps", "%s", stepWords(o))
	t.add("operators", "%d, %s of worker time", o.Operators, report.Length(o.TotalNS))
	groups := fmt.Sprintf("%d, which join %d operators that communicate", o.Groups, o.Joined)
	if o.Alone > 0 {
		groups += fmt.Sprintf("; %d communicate with nobody in the trace", o.Alone)
	}
	t.add("groups", "%s", groups)
	zero := "one zero for all steps"
	if o.StepClock {
		zero = "each step has its own zero"
	}
	t.add("times", "%s; %s", o.Units, zero)
	for _, n := range o.Notes {
		t.add("incomplete", "%s: %s", n.Kind, n.Text)
	}
	for _, n := range o.Needs {
		t.add("lacks", "%s: %s", n.Analysis, n.Lacks)
	}
	return report.Table(t)
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
func opsNames(o *inventory.Trace) report.Table {
	t := report.Table{Title: "operators of " + o.Run, Head: []string{"name", "kind", "count", "in groups", "mean", "total"}}
	for _, n := range o.Names {
		joined := ""
		if n.Kind == inventory.Transfer || n.Kind == inventory.Collective {
			joined = strconv.Itoa(n.Joined)
		}
		t.Rows = append(t.Rows, []string{n.Name, n.Kind.String(), strconv.Itoa(n.Count), joined,
			report.Length(n.TotalNS / int64(n.Count)), report.Length(n.TotalNS)})
	}
	return t
}

// opsRow is an operator trace in the table of runs.
func opsRow(o *inventory.Trace) []string {
	var notes []string
	for _, n := range o.Notes {
		notes = append(notes, n.Kind)
	}
	workers := strconv.Itoa(o.Workers)
	return []string{o.Run, "", strconv.Itoa(o.Steps), whole(o.FirstStep), whole(o.LastStep), strconv.Itoa(o.Layout.World), workers, workers,
		"", "", "", "", "", whole(o.TotalNS), strings.Join(notes, " "),
		strconv.Itoa(o.Operators), strconv.Itoa(len(o.Names)), strconv.Itoa(o.Layout.DP), strconv.Itoa(o.Layout.PP), strconv.Itoa(o.Layout.TP),
		strconv.Itoa(o.Layout.DSP), strconv.Itoa(o.Layout.VPP), strconv.Itoa(o.Groups), strconv.Itoa(o.Joined), whole(o.Resolution)}
}
