package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/diagnose/operators"
	"github.com/sfstat/sfstat/diagnose/opnames"
	"github.com/sfstat/sfstat/engine/zscore"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/publish"
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
		json:     func() any { return tracesOf("sfstat.zscore/1", each(results, Outliers.publishedForm), o.Problems) },
		rows:     func() *publish.Rows { return publish.OutlierRows(each(results, Outliers.publishedForm)) },
		document: func() document { return outliersDocument(results) },
	})
}

func (o Outliers) publishedForm() publish.Outliers {
	return publish.OutliersOf(o.View, &publish.Judged{Series: o.Series, Operators: o.Operators, Result: o.Result, Suspects: o.Suspects, Names: o.Names})
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
func (x outlierOf) workerAt() publish.Worker  { return x.Outliers.worker(x.Worker) }

// step returns the index of the step, nil for all.
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
		d = append(d, heading("How the series were judged"), o.judgedBullets())
	}
	return d
}

// finding counts the outliers and says how many mean nothing.
func (o Outliers) finding() string {
	certain := 0
	for _, found := range o.Result.Outliers {
		if found.Sure {
			certain++
		}
	}
	return sayFlagged(o.Result, len(o.Series), certain)
}

// excessTable returns the workers with outliers.
func (o Outliers) excessTable() *table.Table {
	t := outliersExcessColumns()
	steps := float64(len(o.View.Steps()))
	for _, s := range o.Suspects {
		worst := outlierOf{o, &o.Result.Outliers[s.Worst]}
		at := o.worker(s.Worker)
		t.Row(at.Rank, at.DP, at.PP, float64(s.Excess)/steps, s.Outliers, s.Sure,
			operatorName(worst.op().Name, worst.op().Seq)+", "+worst.quantity().String())
	}
	return capRows(t, excessShown, "json").Tidy()
}

// table returns a table of the first outliers.
func (o Outliers) table() *table.Table {
	t := outliersColumns()
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
		at := x.workerAt()
		t.Row(at.Rank, at.DP, at.PP, operatorName(x.op().Name, x.op().Seq), x.stepText(), x.quantity(), x.Effect, x.Score, x.Threshold, x.P, sure)
	}
	if n < len(o.Result.Outliers) {
		t.Caption = fmt.Sprintf("The first %d of %s are shown; --top shows more, all are in json and csv.", n, table.Grouped(int64(len(o.Result.Outliers))))
	}
	return t.Tidy()
}

// judgedBullets counts the series by method, scale and doubt.
func (o Outliers) judgedBullets() bullets {
	other, logs := 0, 0
	doubts := make(map[zscore.Doubt]int)
	for _, r := range o.Result.Series {
		if r.Method != o.Method {
			other++
		}
		if r.Log {
			logs++
		}
		for _, doubt := range r.Doubts {
			doubts[doubt]++
		}
	}
	b := sayFlagging(o.Result, len(o.Series), other, logs)
	var list []zscore.Doubt
	for doubt := range doubts {
		list = append(list, doubt)
	}
	slices.SortFunc(list, func(x, y zscore.Doubt) int { return cmp.Or(doubts[y]-doubts[x], int(x)-int(y)) })
	for _, doubt := range list {
		b = append(b, fmt.Sprintf("In %s of %s series: %s", table.Grouped(int64(doubts[doubt])), table.Grouped(int64(len(o.Series))), zscoreDoubt(doubt)))
	}
	return append(b, o.basis()...)
}

func outliersExcessColumns() *table.Table {
	return &table.Table{Columns: []table.Column{
		{Head: "rank", Kind: table.ID},
		{Head: "dp", Kind: table.ID},
		{Head: "pp", Kind: table.ID},
		{Head: "excess %s/step", Kind: table.Length, Means: "excess: by how much its flagged durations and transfers are longer than its peers'."},
		{Head: "outliers", Kind: table.Integer},
		{Head: "sure", Kind: table.Integer},
		{Head: "first outlier", Kind: table.Text},
	}}
}

func outliersColumns() *table.Table {
	return &table.Table{Columns: []table.Column{
		{Head: "rank", Kind: table.ID},
		{Head: "dp", Kind: table.ID, Spare: true},
		{Head: "pp", Kind: table.ID, Spare: true},
		{Head: "operator", Kind: table.Name},
		{Head: "step", Kind: table.Text},
		{Head: "what", Kind: table.Text},
		{Head: "effect %s", Kind: table.Length, Means: "effect: deviation from the median of the peers; of every step its median."},
		{Head: "score", Kind: table.Real},
		{Head: "beyond", Kind: table.Real, Spare: true},
		{Head: "P", Kind: table.Real},
		{Head: "sure", Kind: table.Text},
	}}
}
