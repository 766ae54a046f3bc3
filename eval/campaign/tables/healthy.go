package tables

import (
	"slices"

	"github.com/sfstat/sfstat/engine/bootstrap"
	"github.com/sfstat/sfstat/eval/campaign"
	"github.com/sfstat/sfstat/internal/table"
)

// healthyConfidence is that of the bounds of healthyTable.
const healthyConfidence = 0.95

// healthyTable counts alarms where nothing is wrong, and bounds their rate: the
// exact one-sided bound of a binomial count, as if windows were independent,
// which those of different runs are.
func (s *Score) healthyTable() *table.Table {
	t := &table.Table{Title: "Windows without a fault, and the 95 % bound of the rate of strong labels",
		Columns: slices.Concat(table.Words("runs"), table.Heads(table.Integer, "windows"), table.Heads(table.Part, "strong label"), table.Heads(table.Rate, "at most"),
			table.Heads(table.Part, "automatic: strong label"), table.Heads(table.Rate, "automatic: at most"),
			table.Heads(table.Integer, "verdicts", "strong", "supported", "ambiguous", "insufficient", "innocent called"))}
	for _, kind := range []struct {
		name    string
		belongs func(*scoredRun) bool
	}{
		{"healthy", func(r *scoredRun) bool { return r.healthy() && !r.noted("roles") && !r.withArrivals() }},
		{"healthy, with arrivals", func(r *scoredRun) bool { return r.healthy() && !r.noted("roles") && r.withArrivals() }},
		{"healthy, roles differ", func(r *scoredRun) bool { return r.healthy() && r.noted("roles") }},
		{"fault removed (A of A/B/A)", func(r *scoredRun) bool { return !r.healthy() }},
	} {
		windows, strong, auto := 0, 0, 0
		var whole []*scoredRun
		for _, r := range s.Runs {
			if !kind.belongs(r) {
				continue
			}
			if r.healthy() {
				whole = append(whole, r)
			}
			for _, w := range r.Windows {
				count(&windows, !w.Fault)
				count(&strong, !w.Fault && w.Strong)
				count(&auto, !w.Fault && w.Automatic.Strong)
			}
		}
		if windows == 0 {
			continue
		}
		d := verdictsOf(whole)
		row := []table.Cell{table.TextCell(kind.name), table.WholeCell(windows), table.PartCell(strong, windows), rateAtMost(strong, windows),
			table.PartCell(auto, windows), rateAtMost(auto, windows), table.WholeCell(d.Runs)}
		if d.Runs == 0 {
			row = append(row[:6], slices.Repeat([]table.Cell{table.None()}, 6)...)
		} else {
			row = append(append(row, d.confidences()...), table.WholeCell(d.Innocent))
		}
		t.Add(row...)
	}
	return t
}

// rateAtMost is the upper bound of a rate.
func rateAtMost(k, n int) table.Cell {
	rate, err := bootstrap.Binomial(k, n, healthyConfidence)
	if err != nil { // without a window there is no rate
		return table.None()
	}
	return table.RealCell(rate.AtMost)
}

// healthy is the table of what has no fault, where the campaign has such
// windows.
func (f *Evaluation) healthy() []Artifact {
	part, inputs := f.part(func(_ *campaign.Task, r *scoredRun) bool {
		return slices.ContainsFunc(r.Windows, func(w scoredWindow) bool { return !w.Fault })
	})
	if len(part.Runs) == 0 {
		return nil
	}
	return []Artifact{{Name: "healthy", Table: part.healthyTable(), Inputs: inputs}}
}
