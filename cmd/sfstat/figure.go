package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/diagnose/operators"
	"github.com/sfstat/sfstat/diagnose/opnames"
	"github.com/sfstat/sfstat/engine/zscore"
	"github.com/sfstat/sfstat/plots"
	"github.com/sfstat/sfstat/report"
)

// drawable refuses a file of --plot whose name has no format.
func drawable(path string) error {
	if path == "" {
		return nil
	}
	if _, err := plots.FormatOf(path); err != nil {
		return badUsage("--plot: %v", err)
	}
	return nil
}

// singleTrace returns the only trace, which a figure needs, or an error.
func singleTrace[T any](results []T) (*T, error) {
	if len(results) != 1 {
		return nil, badInput(fmt.Errorf("--plot shows one operator trace, found %d: give one path", len(results)))
	}
	return &results[0], nil
}

// writeFigure writes a figure into a file, in the format of its name.
func (p *program) writeFigure(path string, f *plots.Figure, err error) error {
	if err != nil {
		return badInput(err)
	}
	as, err := plots.FormatOf(path)
	if err != nil {
		return err
	}
	return p.writeTo(path, func(w io.Writer) error { return f.Write(w, as) })
}

// drawAll draws figures, each into the files that names gives, and counts them. One of
// nothing, such as of bandwidth without times, is left out.
func (p *program) drawAll(all []plots.Named, width plots.Width, names func(figure string) []string) (drawn int, err error) {
	for _, figure := range all {
		f, err := figure.Of.Draw(width)
		if errors.Is(err, plots.ErrNothing) {
			continue
		}
		for _, path := range names(figure.Name) {
			if err := p.writeFigure(path, f, err); err != nil {
				return drawn, err
			}
		}
		drawn++
	}
	return drawn, nil
}

// workersOf returns workers of a view as a figure shows them, named by rank.
func workersOf(v *operators.View, which []int, culprit func(w int) bool) []plots.Worker {
	var out []plots.Worker
	for _, w := range which {
		out = append(out, plots.Worker{Name: strconv.Itoa(v.Rank(w).ID), Group: v.Stage(w), Culprit: culprit(w)})
	}
	return out
}

// plotCompletions draws the distances of all pairs of workers.
func (p *program) plotCompletions(path string, results []report.Completions) error {
	r, err := singleTrace(results)
	if err != nil {
		return err
	}
	all := make([]int, r.View.Workers())
	for w := range all {
		all[w] = w
	}
	workers := workersOf(r.View, all, func(w int) bool { return r.Scores[w].Flagged() })
	m := plots.Matrix{Rows: workers, Columns: workers, Y: plots.Axis{Name: "rank"}, X: plots.Axis{Name: "rank"}, Value: plots.Axis{Name: "K-S distance D"},
		Values: slices.Clone(r.Matrix), Found: "found at a false-discovery rate of " + strconv.FormatFloat(100*r.Discovery, 'g', 3, 64) + " %"}
	for i, d := range m.Values {
		if d < 0 { // one of the two completed nothing
			m.Values[i] = math.NaN()
		}
	}
	f, err := m.Draw(figureWidth(len(all)))
	return p.writeFigure(path, f, err)
}

// figureWidth returns the width of a page, for more workers than can be labelled in a column.
func figureWidth(workers int) plots.Width {
	if workers > 24 {
		return plots.Page
	}
	return plots.Column
}

// mostBins is how many bins of time a figure tells apart.
const mostBins = 400

// plotOutliers draws the time-frequency view of an operator: the one that is
// asked for, or the one that the first suspect is longest in.
func (p *program) plotOutliers(c *cli.Context, results []report.Outliers) error {
	r, err := singleTrace(results)
	if err != nil {
		return err
	}
	name := c.String("op")
	if name == "" {
		if name = suspectOperator(r); name == "" {
			return badInput(errors.New("--plot: no suspect takes longer in an operator than its peers; --op NAME says which to show"))
		}
	}
	v := r.View
	frequency := v.Frequency(name, mostBins)
	if frequency == nil {
		return badInput(fmt.Errorf("--op is %q, expected one of %s", name, cli.OrList(v.Trace.Names)))
	}
	slow := slowIn(r, name)
	bins := len(frequency.Rates[0])
	m := plots.Matrix{Rows: workersOf(v, frequency.Workers, func(w int) bool { return slow[w] }), Columns: make([]plots.Worker, bins), Y: plots.Axis{Name: "rank"},
		X: plots.Axis{Name: "time", Unit: "s", To: float64(bins) * seconds(frequency.Bin)}, Value: plots.Axis{Name: "completions", Unit: "1/s"},
		Values: slices.Concat(frequency.Rates...), Key: []string{opnames.Label(name)}, Found: "surely longer than its peers"}
	for _, s := range frequency.Steps {
		m.Lines = append(m.Lines, seconds(s))
	}
	f, err := m.Draw(plots.Page)
	return p.writeFigure(c.String("plot"), f, err)
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }

// suspectOperator returns the operator that the first suspect is longest in, against its peers; "" without one.
func suspectOperator(r *report.Outliers) string {
	for _, o := range r.Result.Outliers {
		if o.Worker == r.Suspects[0].Worker && isLonger(r, &o) {
			return operatorOf(r, &o)
		}
	}
	return ""
}

// isLonger reports whether an outlier is about time that was taken, not about
// waiting or starting.
func isLonger(r *report.Outliers, o *zscore.Outlier) bool {
	q := r.Series[o.Series].Quantity
	return o.Effect > 0 && (q == zscore.Duration || q == zscore.Transfer)
}

func operatorOf(r *report.Outliers, o *zscore.Outlier) string {
	return r.Operators[r.Series[o.Series].Op].Name
}

// material is the part of the largest excess below which a worker is not pointed
// at: where one holds up the others, many are surely a little longer.
const material = 0.1

// slowIn returns the workers that take certainly longer than their peers in operators of a name, by a material part of the
// longest excess.
func slowIn(r *report.Outliers, name string) map[int]bool {
	excess := make(map[int]float64)
	most := 0.0
	for _, o := range r.Result.Outliers {
		if o.Sure && isLonger(r, &o) && operatorOf(r, &o) == name {
			excess[o.Worker] += float64(o.Effect)
			most = max(most, excess[o.Worker])
		}
	}
	slow := make(map[int]bool)
	for w, e := range excess {
		slow[w] = e >= material*most
	}
	return slow
}
