package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/diagnose/operators"
	"github.com/sfstat/sfstat/diagnose/opnames"
	"github.com/sfstat/sfstat/engine/zscore"
	"github.com/sfstat/sfstat/internal/table"
)

// Outliers are the operators of a trace that ran unlike themselves elsewhere.
// Operators names the operators of the series.
type Outliers struct {
	Traced
	Series    []zscore.Series
	Operators []operators.Operator
	*zscore.Result
	Suspects []operators.Suspect // workers with outliers, worst first
	Names    *opnames.Result     // of a profiler's trace, its operators by name; else nil
	Shown    int                 // rows of outliers in text and Markdown; 0 is all
}

// Outliers writes which operators ran unlike themselves on the other ranks. CSV
// is one row per outlier.
func (o Output) Outliers(results []Outliers) error {
	return o.write(forms{
		schema:   "zscore",
		json:     func() any { return tracesJSON[outliersJSON]{each(results, Outliers.wire)} },
		document: func() document { return outliersDocument(results) },
	})
}

type outliersJSON struct {
	traceJSON
	Method    zscore.Method `json:"method" doc:"the method that was asked for"`
	Alpha     float64       `json:"alpha" doc:"chance that a healthy operator instance is flagged"`
	Instances int           `json:"instances" doc:"operator instances that were judged"`
	Expected  *float64      `json:"expected" doc:"instances that would be flagged were all healthy; null for methods without an error rate"`

	Outliers []outlierJSON   `json:"outliers" doc:"the outliers: sure ones first, then by descending effect over the window"`
	Workers  []excessJSON    `json:"workers" doc:"workers with outliers, by descending excess_ns"`
	Series   []seriesJSON    `json:"series" doc:"how every quantity of every operator was judged"`
	Names    *opnames.Result `json:"names" doc:"operators by name, stage and rank, of a profiler's trace; null for others"`
}

type outlierJSON struct {
	placeJSON
	Op       string          `json:"op" doc:"name of the operator"`
	Seq      *int            `json:"seq" doc:"its ordinal in the step; null for all of the name together, their durations added up"`
	Step     *int64          `json:"step" doc:"index of the step; null where it is off in the whole window"`
	Quantity zscore.Quantity `json:"quantity" doc:"what is off: a start is late above 0, a wait is that of a late member below 0"`
	*zscore.Outlier
}

type excessJSON struct {
	placeJSON
	operators.Suspect
}

type seriesJSON struct {
	Op       string          `json:"op" doc:"name of the operator"`
	PP       *int            `json:"pp" doc:"pipeline stage; null for all of them together"`
	Seq      *int            `json:"seq" doc:"ordinal in the step; null for all of the name together"`
	Quantity zscore.Quantity `json:"quantity" doc:"what was compared"`
	zscore.Report
}

func (o Outliers) wire() outliersJSON {
	out := outliersJSON{traceJSON: o.Traced.wire(), Method: o.Method, Alpha: o.Alpha, Instances: o.Instances,
		Expected: o.expected(), Outliers: []outlierJSON{}, Workers: []excessJSON{}, Series: []seriesJSON{}}
	for i := range o.Result.Outliers {
		x := outlierOf{o, &o.Result.Outliers[i]}
		out.Outliers = append(out.Outliers, outlierJSON{x.at(), x.op().Name, seqOf(x.op()), x.step(), x.quantity(), x.Outlier})
	}
	for _, s := range o.Suspects {
		out.Workers = append(out.Workers, excessJSON{o.worker(s.Worker), s})
	}
	for i, r := range o.Result.Series {
		s := o.Series[i]
		op := o.Operators[s.Op]
		out.Series = append(out.Series, seriesJSON{op.Name, stageOf(op), seqOf(op), s.Quantity, r})
	}
	out.Names = o.Names
	return out
}

// expected is how many instances would be flagged were all healthy; nil for
// methods without an error rate.
func (o Outliers) expected() *float64 {
	if o.Method == zscore.Population {
		return nil
	}
	n := o.Alpha * float64(o.Instances)
	return &n
}

func stageOf(op operators.Operator) *int {
	if op.Stage < 0 {
		return nil
	}
	return &op.Stage
}

func seqOf(op operators.Operator) *int {
	if op.Seq == operators.Total {
		return nil
	}
	return &op.Seq
}

// outlierOf is an outlier of a trace.
type outlierOf struct {
	Outliers
	*zscore.Outlier
}

func (x outlierOf) op() operators.Operator { return x.Operators[x.series().Op] }
func (x outlierOf) series() zscore.Series {
	return x.Outliers.Series[x.Outlier.Series]
}
func (x outlierOf) quantity() zscore.Quantity { return x.series().Quantity }
func (x outlierOf) at() placeJSON             { return x.Outliers.worker(x.Worker) }

// step is the index of the step, nil for all.
func (x outlierOf) step() *int64 {
	if x.Step == zscore.EveryStep {
		return nil
	}
	return &x.View.Steps()[x.Step]
}

func (x outlierOf) stepText() string {
	if s := x.step(); s != nil {
		return fmt.Sprint(*s)
	}
	return "every"
}

// excessShown is how many workers a table lists.
const excessShown = 20

func outliersDocument(results []Outliers) document {
	var d document
	for _, o := range results {
		d = append(d, o.title(), prose(o.finding()))
		d = append(d, nameBlocks(o.Names, o.Shown)...)
		if len(o.Result.Outliers) > 0 {
			d = append(d, heading("Workers by excess"), o.excessTable(), heading("Outliers"), o.table())
		}
		d = append(d, heading("How the series were judged"), o.judged())
	}
	return d
}

// finding counts the outliers and says how many mean nothing.
func (o Outliers) finding() string {
	x := struct {
		Outliers
		Certain  int
		Expected *float64
	}{o, 0, o.expected()}
	for _, found := range o.Result.Outliers {
		if found.Sure {
			x.Certain++
		}
	}
	return say("outliers", x)
}

// excessTable is the workers with outliers.
func (o Outliers) excessTable() *table.Table {
	t := tableOf("outliers excess")
	steps := float64(len(o.View.Steps()))
	for _, s := range o.Suspects {
		worst := outlierOf{o, &o.Result.Outliers[s.Worst]}
		at := o.worker(s.Worker)
		t.Row(at.Rank, at.DP, at.PP, float64(s.Excess)/steps, s.Outliers, s.Sure,
			operatorName(worst.op().Name, worst.op().Seq)+", "+worst.quantity().String())
	}
	return capped(t, excessShown, "json").Tidy()
}

// table is the outliers, the first ones.
func (o Outliers) table() *table.Table {
	t := tableOf("outliers")
	n := len(o.Result.Outliers)
	if o.Shown > 0 {
		n = min(n, o.Shown)
	}
	for i := range o.Result.Outliers[:n] {
		x := outlierOf{o, &o.Result.Outliers[i]}
		sure := ""
		if x.Sure {
			sure = "yes"
		}
		at := x.at()
		t.Row(at.Rank, at.DP, at.PP, operatorName(x.op().Name, x.op().Seq), x.stepText(), x.quantity(), x.Effect, x.Score, x.Threshold, x.P, sure)
	}
	if n < len(o.Result.Outliers) {
		t.Caption = fmt.Sprintf("The first %d of %s are shown; --top shows more, all are in json and csv.", n, table.Grouped(int64(len(o.Result.Outliers))))
	}
	return t.Tidy()
}

// judged counts the series by method, scale and doubt.
func (o Outliers) judged() bullets {
	x := struct {
		Outliers
		Expected    *float64
		Other, Logs int
	}{Outliers: o, Expected: o.expected()}
	doubts := make(map[zscore.Doubt]int)
	for _, r := range o.Result.Series {
		if r.Method != o.Method {
			x.Other++
		}
		if r.Log {
			x.Logs++
		}
		for _, doubt := range r.Doubts {
			doubts[doubt]++
		}
	}
	b := told(x, "zscore method", "zscore logarithms", "zscore other")
	var list []zscore.Doubt
	for doubt := range doubts {
		list = append(list, doubt)
	}
	slices.SortFunc(list, func(x, y zscore.Doubt) int { return cmp.Or(doubts[y]-doubts[x], int(x)-int(y)) })
	for _, doubt := range list {
		b = append(b, fmt.Sprintf("In %s of %s series: %s", table.Grouped(int64(doubts[doubt])), table.Grouped(int64(len(o.Series))), meaning("zscore", doubt)))
	}
	return append(b, o.basis()...)
}
