package report

import (
	"math"

	"github.com/sfstat/sfstat/diagnose/runs"
	"github.com/sfstat/sfstat/engine/compare"
)

// The structs of this file are the JSON of a comparison, and its CSV; see
// wire.go.

type comparisonJSON struct {
	Headline   string         `json:"headline"`
	Unit       runs.Unit      `json:"unit"`
	Confidence float64        `json:"confidence"`
	Seed       uint64         `json:"seed"`
	Gate       *float64       `json:"gate"`
	Standing   *runs.Standing `json:"standing"`
	Base       []comparedJSON `json:"base"`
	New        []comparedJSON `json:"new"`
	Left       []string       `json:"left_out"`
	Rows       []measureJSON  `json:"rows"`
	Findings   []foundJSON    `json:"findings"`
	Doubts     []runs.Doubt   `json:"doubts"`
}

type comparedJSON struct {
	*runs.Run
	StepTime *float64 `json:"step_time_ns"`
}

type measureJSON struct {
	Measure   runs.Kind       `json:"measure"`
	Stage     *string         `json:"stage"`
	Verdict   compare.Verdict `json:"verdict"`
	Base      float64         `json:"base_ns"`
	New       float64         `json:"new_ns"`
	BaseUnits int             `json:"base_units"`
	NewUnits  int             `json:"new_units"`
	Change    float64         `json:"change_ns"`
	Low       float64         `json:"low_ns"`
	High      float64         `json:"high_ns"`
	Relative  float64         `json:"change"`
	From      float64         `json:"low"`
	To        float64         `json:"high"`
	P         float64         `json:"p"`
	Shows     float64         `json:"shows"`
	BaseShare *float64        `json:"base_share"`
	NewShare  *float64        `json:"new_share"`
}

type foundJSON struct {
	Kind     string  `json:"kind"`
	Stage    *string `json:"stage"`
	Op       *string `json:"op"`
	Rank     *int    `json:"rank"`
	Host     *string `json:"host"`
	Status   string  `json:"status" enum:"new gone both"`
	BaseRuns int     `json:"base_runs"`
	NewRuns  int     `json:"new_runs"`
	BaseGain float64 `json:"base_gain"`
	NewGain  float64 `json:"new_gain"`
}

func comparisonOf(c *runs.Comparison) comparisonJSON {
	out := comparisonJSON{Headline: comparisonHeadline(c), Unit: c.Unit, Confidence: c.Confidence, Seed: c.Seed,
		Gate: c.Gate, Base: comparedOf(c.Base), New: comparedOf(c.New), Left: append([]string{}, c.Left...),
		Rows: []measureJSON{}, Findings: []foundJSON{}, Doubts: c.Doubts}
	if c.Gate != nil {
		out.Standing = &c.Standing
	}
	for _, r := range c.Rows {
		out.Rows = append(out.Rows, measureOf(c, r))
	}
	for i := range c.Found {
		f := &c.Found[i]
		out.Findings = append(out.Findings, foundJSON{f.Kind.String(), optionalString(f.Stage), optionalString(f.Op), f.Rank, optionalString(f.Host),
			foundStatus(f), f.Runs[0], f.Runs[1], f.Most[0], f.Most[1]})
	}
	return out
}

func comparedOf(list []*runs.Run) []comparedJSON {
	return each(list, func(r *runs.Run) comparedJSON {
		if v, ok := r.Values[runs.Measure{Kind: runs.StepTime}]; ok {
			return comparedJSON{r, &v}
		}
		return comparedJSON{r, nil}
	})
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
