package tables

import (
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/sfstat/sfstat/eval/campaign"
	"github.com/sfstat/sfstat/internal/table"
)

// summaryHead are the columns of the summary. sd, iqr and mad are in the unit of the measure.
var summaryHead = []string{"group", "measure", "per", "n", "mean", "sd", "min", "median", "p95", "p99", "max", "iqr", "mad"}

// runMeasure is the column of rows.csv that holds a measure of the run, repeated in each of
// its windows. The other measures are of windows.
const runMeasure = "suspect_gain"

// measures returns the columns of rows.csv that the summary describes, in their order: times,
// shares, sizes of candidate sets and how exact the account is. Identifiers, parameters of
// the plan and answers are no measures; tables count the answers.
func measures() []string {
	names := []string{"step_mean_ms", "step_median_ms", "step_p95_ms", "seeded_median_ms", "seeded_p95_ms", "seeded_max_ms"}
	for _, m := range methodNames() {
		names = append(names, m+"_candidates")
	}
	return append(names, "seeded_share", "telescoping_error_ns", "auto_seeded_share", runMeasure)
}

// WriteSummary writes the description of each measure by group as CSV, one row per group and
// measure: of the values under the measure's name in rows.csv, a run's own measure once, and of the
// overhead of each arm. A
// measure without a value in a group has no row; a figure that takes more values is empty.
func (e *Evaluation) WriteSummary(w io.Writer) error {
	var rows [][]string
	for _, g := range e.runsByGroup() {
		rows = append(rows, g.summary()...)
		costs, err := e.costs(g.name())
		if err != nil {
			return err
		}
		rows = append(rows, costs...)
	}
	return table.WriteCSV(w, summaryHead, rows)
}

// costs returns the rows of what the arms of a group's runs cost, overhead_ARM: of each window
// under an arm, its time by that without the recorder, less 1.
func (e *Evaluation) costs(group string) (rows [][]string, err error) {
	var all [campaign.Sample + 1][]float64
	for i := range e.Tasks {
		t := &e.Tasks[i]
		if t.Group != group || !t.HasArms() {
			continue
		}
		rounds, err := t.Rounds(e.Disk, e.Path)
		if err != nil {
			return nil, err
		}
		for _, r := range rounds {
			all[r.Arm] = append(all[r.Arm], r.With.Wall/r.Base.Wall-1)
		}
	}
	for arm, values := range all {
		if len(values) > 0 {
			rows = append(rows, append([]string{group, "overhead_" + campaign.Arm(arm).String(), "window"}, describe(values).cells()...))
		}
	}
	return rows, nil
}

func (g *groupRuns) summary() (rows [][]string) {
	for _, name := range measures() {
		per, values := "window", g.values(name)
		if name == runMeasure {
			per = "run"
		}
		if len(values) > 0 {
			rows = append(rows, append([]string{g.name(), name, per}, describe(values).cells()...))
		}
	}
	return rows
}

// values returns the known values of a measure, in the order of runs and windows.
func (g *groupRuns) values(measure string) (values []float64) {
	column := slices.Index(rowHead(), measure)
	for _, r := range g.Runs {
		all := r.tableWindows()
		for i := range all {
			if value, known := number(r.values(&all[i])[column]); known && (i == 0 || measure != runMeasure) {
				values = append(values, value)
			}
		}
	}
	return values
}

// number returns a cell of rows.csv as a number; known is false where it is empty.
func number(cell any) (value float64, known bool) {
	switch x := cell.(type) {
	case float64:
		return x, true
	case *float64:
		if x != nil {
			return *x, true
		}
	case int:
		return float64(x), true
	case int64:
		return float64(x), true
	}
	return 0, false
}

// cells returns the figures under summaryHead, from n on.
func (d description) cells() []string {
	out := []string{strconv.Itoa(d.N)}
	for _, x := range []float64{d.Mean, d.SD, d.Min, d.Median, d.P95, d.P99, d.Max, d.IQR, d.MAD} {
		cell := ""
		if !math.IsNaN(x) {
			cell = record(x)
		}
		out = append(out, cell)
	}
	return out
}
