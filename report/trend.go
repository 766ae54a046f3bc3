package report

import (
	"fmt"
	"math"
	"time"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/diagnose/runs"
	"github.com/sfstat/sfstat/engine/changepoint"
	"github.com/sfstat/sfstat/internal/glyph"
	"github.com/sfstat/sfstat/internal/table"
)

// Trend writes when runs changed. CSV is one row per run and measure.
func (o Output) Trend(t *runs.Trend) error {
	return o.write(forms{
		"trend",
		func() any { return trendOf(t) },
		func() *csvTable { return valueRows(t) },
		func() document { return trendDocument(t) },
	})
}

func trendDocument(t *runs.Trend) document {
	level := evidence.Insufficient
	if s := stepSeries(t); s != nil && len(s.Changes) > 0 && s.Changes[len(s.Changes)-1].Shift() > 0 {
		level = evidence.Strong
	}
	d := document{headline{trendHeadline(t), level}, prose(trendBasis(t))}
	if table := changeTable(t); len(table.Rows) > 0 {
		d = append(d, heading("Changes"), table)
	}
	return d
}

func stepSeries(t *runs.Trend) *runs.Series {
	if len(t.Series) > 0 && t.Series[0].Kind == runs.StepTime {
		return &t.Series[0]
	}
	return nil
}

// trendHeadline is about the latest change of step time.
func trendHeadline(t *runs.Trend) string {
	s := stepSeries(t)
	switch {
	case s == nil:
		return "No run has step times."
	case len(s.Changes) == 0 && !s.Shows:
		return fmt.Sprintf("Too few runs: %d cannot show a change of step time.", len(t.Runs))
	case len(s.Changes) == 0:
		return fmt.Sprintf("No change of step time over %s.", counted(len(t.Runs), "run"))
	}
	c := s.Changes[len(s.Changes)-1]
	way := "longer"
	if c.Shift() < 0 {
		way = "shorter"
	}
	out := fmt.Sprintf("Steps became %s %s %s: %s instead of %s", about(math.Abs(c.Shift())/c.Before), way, fmt.Sprintf("between %s and %s", runWord(t, c.At-1), runWord(t, c.At)), length(c.After), length(c.Before))
	if n := len(s.Changes) - 1; n > 0 {
		return out + "; " + counted(n, "change") + " before it."
	}
	return out + "."
}

// runWord is the day of a run, or its name where days do not tell it from its
// neighbours or are not known.
func runWord(t *runs.Trend, i int) string {
	day := func(i int) string { return time.Unix(0, t.Runs[i].Begin).UTC().Format(time.DateOnly) }
	if t.Order != runs.ByTime || i > 0 && day(i-1) == day(i) || i+1 < len(t.Runs) && day(i+1) == day(i) {
		return glyph.Visible(t.Runs[i].Name)
	}
	return day(i)
}

func trendBasis(t *runs.Trend) string {
	s := fmt.Sprintf("%s in the order of %s. The probability of reporting any change by chance is at most %s, over all measures; seed %d.",
		counted(len(t.Runs), "run"), [...]string{runs.ByTime: "time", runs.ByName: "their names"}[t.Order], percentOf(t.Level), t.Seed)
	if t.Order == runs.ByName {
		s += " Some runs have no time, neither recorded nor in their names."
	}
	if t.MixCut {
		s += " The steps of some runs are cut elsewhere than those of others, so stages are left out; --cut step compares them."
	}
	return s
}

// spanWord is from one run to another, without what both begin with:
// "2026-03-07…09".
func spanWord(low, high string) string {
	if low == high {
		return low
	}
	shared := 0
	for i := 0; i < min(len(low), len(high)) && low[i] == high[i]; i++ {
		if low[i] == '-' {
			shared = i + 1
		}
	}
	return low + "…" + high[shared:]
}

// changeTable is one line per change.
func changeTable(t *runs.Trend) *table.Table {
	out := &table.Table{Columns: []table.Column{
		{Head: "measure", Kind: table.Name}, {Head: "from", Kind: table.Text}, {Head: "95 %", Kind: table.Uncut, Last: true}, {Head: "%s before", Kind: table.Length},
		{Head: "after", Kind: table.Length}, {Head: "change", Kind: table.Amount}, {Head: "p", Kind: table.Amount, Spare: true},
	}, OneUnit: true}
	for _, s := range t.Series {
		for _, c := range s.Changes {
			change := table.Cell{}
			if c.Before > 0 {
				change = table.TextCell(signedPercent(c.Shift() / c.Before))
			}
			out.Add(table.TextCell(MeasureName(s.Measure)), table.TextCell(runWord(t, c.At)), table.TextCell(spanWord(runWord(t, c.Low), runWord(t, c.High))), table.RealCell(c.Before), table.RealCell(c.After),
				change, table.TextCell(probability(c.P)))
		}
	}
	out.Caption = "from: the first run after the change. before, after: medians of a step between this change and its neighbours."
	return out
}

// The structs below are the JSON of a trend; see wire.go.

type trendJSON struct {
	Headline string            `json:"headline" doc:"the answer in one sentence"`
	Order    runs.Order        `json:"order" doc:"what orders the runs"`
	Level    float64           `json:"level" doc:"chance of reporting any change, in any measure, where there is none"`
	Seed     uint64            `json:"seed" doc:"seed of permutations and resamples"`
	Runs     []comparedJSON    `json:"runs" doc:"the runs in their order"`
	Series   []trendSeriesJSON `json:"series" doc:"the measures: step time first, stages in the order of the step"`
	MixedCut bool              `json:"mixed_cut" doc:"stages of the runs are accounted by different cuts of the step, and are left out"`
}

type trendSeriesJSON struct {
	Measure runs.Kind    `json:"measure" doc:"what is measured, as in a comparison"`
	Stage   *string      `json:"stage" doc:"stage that is compared, or in which the delay is; null: none"`
	Shows   bool         `json:"can_show" doc:"there are enough runs to show a change"`
	Values  []float64    `json:"values_ns" doc:"one value for each run; null where it has none"`
	Changes []changeJSON `json:"changes" doc:"changes, by position"`
}

// changeJSON is a changepoint.Change of times.
type changeJSON struct {
	At        int     `json:"at" doc:"position in runs of the first run after it"`
	Low       int     `json:"low" doc:"lower bound of at, at 95 %"`
	High      int     `json:"high" doc:"upper bound of at"`
	P         float64 `json:"p" doc:"chance of such a change anywhere, in any measure, where there is none"`
	Before    float64 `json:"before_ns" doc:"median of the runs between the change before and this one"`
	After     float64 `json:"after_ns" doc:"median of the runs between this change and the next"`
	ShiftLow  float64 `json:"shift_low_ns" doc:"lower bound of after_ns − before_ns, at 95 %"`
	ShiftHigh float64 `json:"shift_high_ns" doc:"its upper bound"`
}

func trendOf(t *runs.Trend) trendJSON {
	out := trendJSON{Headline: trendHeadline(t), Order: t.Order, Level: t.Level, Seed: t.Seed, Runs: comparedOf(t.Runs),
		Series: []trendSeriesJSON{}, MixedCut: t.MixCut}
	for _, s := range t.Series {
		j := trendSeriesJSON{Measure: s.Kind, Stage: optionalString(s.Stage), Shows: s.Shows, Values: s.Values, Changes: each(s.Changes, func(c changepoint.Change) changeJSON { return changeJSON(c) })}
		out.Series = append(out.Series, j)
	}
	return out
}

// runValue is one measure of one run; level is how many changes lie before it.
type runValue struct {
	Place   int     `json:"place"`
	Run     string  `json:"run"`
	Begin   int64   `json:"begin_ns" null:"zero"`
	Measure string  `json:"measure"`
	Stage   string  `json:"stage"`
	Value   float64 `json:"value_ns"`
	Level   int     `json:"level"`
}

// valueRows is one row per run and measure.
func valueRows(t *runs.Trend) *csvTable {
	var rows []runValue
	for _, s := range t.Series {
		for i, r := range t.Runs {
			level := 0
			for _, c := range s.Changes {
				if c.At <= i {
					level++
				}
			}
			rows = append(rows, runValue{i, r.Name, r.Begin, s.Kind.String(), s.Stage, s.Values[i], level})
		}
	}
	return structRows(rows)
}
