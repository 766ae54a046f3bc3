package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/sfstat/sfstat/diagnose/opnames"
	"github.com/sfstat/sfstat/internal/table"
)

// nameBlocks returns the operators that certainly take longer on a rank than on its peers, or the largest differences of ranks
// that are too few for a test; at most so many, 0 for all.
func nameBlocks(r *opnames.Result, most int) document {
	if r == nil {
		return nil
	}
	found, text := r.SureDifferences(), ""
	rate := sayNameRate(r)
	switch tested := slices.ContainsFunc(r.Differences, func(d opnames.Difference) bool { return d.Tested }); {
	case len(r.Differences) == 0:
		return document{heading("Operators by name"), prose("No two ranks do the same work: there is nobody to compare a rank with.")}
	case !tested:
		found = slices.DeleteFunc(slices.Clone(r.Differences), func(d opnames.Difference) bool { return d.Excess() <= 0 })
		text = "Fewer than three ranks do the same work, so that none can be said to be off; where one takes longer than the other:"
	case len(found) == 0:
		return document{heading("Operators by name"), prose(fmt.Sprintf("None takes significantly longer on a rank than on its peers; %s.", rate))}
	default:
		text = fmt.Sprintf("%s longer on a rank than on its peers; %s.", takeWords(len(found)), rate)
	}
	return document{heading("Operators by name"), prose(text), nameTable(found, most)}
}

// nameTable returns a table with a row for each difference.
func nameTable(found []opnames.Difference, most int) *table.Table {
	t := nameColumns()
	for _, d := range found {
		factor := table.Cell{}
		if f := d.Factor(); !math.IsInf(f, 0) {
			factor = table.RealCell(f)
		}
		t.Row(d.Rank, opnames.Label(d.Name), d.Stage, factor, d.Peers, d.Own, d.Count, len(d.Steps), d.Excess())
	}
	if most > 0 {
		capRows(t, most, "json")
	}
	return t.Tidy()
}

func takeWords(n int) string {
	if n == 1 {
		return "One takes significantly"
	}
	return table.Grouped(int64(n)) + " take significantly"
}

func nameColumns() *table.Table {
	return &table.Table{Columns: []table.Column{
		{Head: "rank", Kind: table.ID},
		{Head: "operator", Kind: table.Name},
		{Head: "stage", Kind: table.Name, Spare: true},
		{Head: "factor", Kind: table.Real, Means: "factor: time to that of the peers, in the steps that are off."},
		{Head: "peers %s", Kind: table.Length},
		{Head: "own %s", Kind: table.Length, Means: "peers, own: what all launches of a step take, without waiting for other ranks."},
		{Head: "launches", Kind: table.Real, Spare: true},
		{Head: "steps", Kind: table.Integer},
		{Head: "excess %s/step", Kind: table.Length, Means: "excess: over all steps."},
	}}
}
