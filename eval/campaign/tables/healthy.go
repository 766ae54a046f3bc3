package tables

import (
	"slices"
	"strconv"

	"github.com/sfstat/sfstat/engine/bootstrap"
	"github.com/sfstat/sfstat/eval/campaign"
)

// healthyConfidence is that of the bounds of HealthyTable.
const healthyConfidence = 0.95

// HealthyTable counts alarms where nothing is wrong, and bounds their rate: the
// exact one-sided bound of a binomial count, as if windows were independent,
// which those of different runs are.
func (s *Score) HealthyTable() Table {
	t := Table{Title: "Windows without a fault, and the 95 % bound of the rate of strong labels",
		Head: []string{"runs", "windows", "strong label", "at most", "automatic: strong label", "automatic: at most", "verdicts", "strong", "supported", "ambiguous", "insufficient", "innocent called"}}
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
		row := []string{kind.name, strconv.Itoa(windows), of(strong, windows), rateAtMost(strong, windows), of(auto, windows), rateAtMost(auto, windows), strconv.Itoa(d.Runs)}
		if d.Runs == 0 {
			row = append(row[:6], none, none, none, none, none, none)
		} else {
			row = append(append(row, d.confidences()...), strconv.Itoa(d.Innocent))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// rateAtMost is the upper bound of a rate in percent.
func rateAtMost(k, n int) string {
	rate, err := bootstrap.Binomial(k, n, healthyConfidence)
	if err != nil { // without a window there is no rate
		return none
	}
	return strconv.FormatFloat(100*rate.AtMost, 'f', 2, 64) + " %"
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
	return []Artifact{{Name: "healthy", Table: part.HealthyTable(), Inputs: inputs}}
}
