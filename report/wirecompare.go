package report

import (
	"math"

	"github.com/sfstat/sfstat/diagnose/runs"
	"github.com/sfstat/sfstat/engine/compare"
)

// The structs of this file are the JSON of a comparison, and its CSV; see
// wire.go.

type comparisonJSON struct {
	Headline string `json:"headline" doc:"the answer in one sentence"`
	*runs.Comparison
	Rows     []measureJSON `json:"rows" before:"doubts" doc:"the measures: step time first, stages in the order of the step"`
	Findings []foundJSON   `json:"findings" before:"doubts" doc:"what diagnose finds on either side, the largest saving first"`
}

type measureJSON struct {
	Measure   runs.Kind       `json:"measure" doc:"what is compared"`
	Stage     *string         `json:"stage" doc:"stage that is compared, or in which the delay is; null: none"`
	Verdict   compare.Verdict `json:"verdict" doc:"regression: surely longer; improvement: surely shorter; none_shown: no difference that these runs could show; not_decidable: they differ, and from one run each nobody can tell whether the job does; untested: one unit on a side"`
	Base      float64         `json:"base_ns" doc:"mean over the units of the base"`
	New       float64         `json:"new_ns" doc:"the same of the other side"`
	BaseUnits int             `json:"base_units" doc:"pairs, runs or batches that have it"`
	NewUnits  int             `json:"new_units" doc:"the same of the other side"`
	Change    float64         `json:"change_ns" doc:"new_ns − base_ns"`
	Low       float64         `json:"low_ns" doc:"lower bound of the change"`
	High      float64         `json:"high_ns" doc:"upper bound; the intervals of all rows hold together"`
	Relative  float64         `json:"change" doc:"the change as a part of the base's step time, that of arrival_skew as a part of itself"`
	From      float64         `json:"low" doc:"lower bound of the change, as a part likewise"`
	To        float64         `json:"high" doc:"upper bound of the change, as a part likewise"`
	P         float64         `json:"p" doc:"chance of such a change in any row if no row differed; null: not tested"`
	Shows     float64         `json:"shows" doc:"the change that as many runs would detect four times in five, as a part of the base's step"`
	BaseShare *float64        `json:"base_share" doc:"of a stage: its part of the base's step; else null"`
	NewShare  *float64        `json:"new_share" doc:"the same of the other side"`
}

type foundJSON struct {
	Kind     string  `json:"kind" doc:"what delays the job, as in the verdict"`
	Stage    *string `json:"stage" doc:"stage of the finding; null: none"`
	Op       *string `json:"op" doc:"operator; null: none"`
	Rank     *int    `json:"rank" doc:"rank, in the run where it costs most; null: not one rank"`
	Host     *string `json:"host" doc:"host of that rank; null: not known"`
	Status   string  `json:"status" enum:"new gone both" doc:"on which side it is found"`
	BaseRuns int     `json:"base_runs" doc:"runs of the base that show it"`
	NewRuns  int     `json:"new_runs" doc:"runs of the other side that show it"`
	BaseGain float64 `json:"base_gain" doc:"largest part of a run of the base that fixing it saves"`
	NewGain  float64 `json:"new_gain" doc:"the same of the other side"`
}

func comparisonOf(c *runs.Comparison) comparisonJSON {
	return comparisonJSON{comparisonHeadline(c), c, each(c.Rows, func(r runs.Row) measureJSON { return measureOf(c, r) }), each(c.Found, func(f runs.Found) foundJSON {
		return foundJSON{f.Kind.String(), optionalString(f.Stage), optionalString(f.Op), f.Rank, optionalString(f.Host),
			foundStatus(&f), f.Runs[0], f.Runs[1], f.Most[0], f.Most[1]}
	})}
}

func measureOf(c *runs.Comparison, r runs.Row) measureJSON {
	of, p, step := c.Whole(r), r.P, c.Step()
	if !(of > 0) {
		of = math.NaN()
	}
	if r.Verdict == compare.Untested {
		p = math.NaN()
	}
	j := measureJSON{Measure: r.Kind, Stage: optionalString(r.Stage), Verdict: r.Verdict, Base: r.Base, New: r.New,
		BaseUnits: r.Units[0], NewUnits: r.Units[1], Change: r.Change, Low: r.Low, High: r.High, Relative: r.Change / of,
		From: r.Low / of, To: r.High / of, P: p, Shows: r.Shows / of}
	if step != nil && r.Kind == runs.StageTime {
		j.BaseShare, j.NewShare = known(r.Base/step.Base), known(r.New/step.New)
	}
	return j
}
