package publish

import (
	"github.com/sfstat/sfstat/engine/bootstrap"
	"github.com/sfstat/sfstat/engine/overhead"
)

// Overhead is what something costs: sfstat overhead.
type Overhead struct {
	Schema       string                    `json:"schema" doc:"name and version of this form"`
	Headline     string                    `json:"headline" doc:"the answer in one sentence"`
	Statistic    Name[bootstrap.Statistic] `json:"statistic" doc:"what headline and gate are about"`
	Estimate     *float64                  `json:"estimate" doc:"its value, a fraction"`
	Interval     *Interval                 `json:"interval" doc:"the bounds behind headline and standing; null for a single pair of runs"`
	Gate         *float64                  `json:"gate" doc:"what the overhead should not exceed, a fraction; null without one"`
	Standing     *Name[bootstrap.Standing] `json:"standing" doc:"where the overhead stands against the gate. within: at_most is within it; perhaps within: the estimate alone is; perhaps above: the estimate is above it; above: at_least is. null: no gate"`
	Confidence   *float64                  `json:"confidence" doc:"confidence of every interval and every one-sided bound, each by itself"`
	Blocks       int                       `json:"paired_runs" doc:"pairs of runs: the blocks that are resampled"`
	Pairs        int                       `json:"pairs" doc:"pairs of windows, or rows of the file"`
	Matched      Name[overhead.By]         `json:"matched_by" doc:"how runs were matched"`
	Replicates   int                       `json:"replicates" doc:"resamples"`
	Seed         uint64                    `json:"seed" doc:"seed of the resamples"`
	Doubts       []Name[bootstrap.Doubt]   `json:"doubts" doc:"reasons to read the bounds with care"`
	Estimates    []Estimate                `json:"estimates" doc:"the statistics"`
	Measurements []Measurement             `json:"measurements" doc:"the pairs, in order"`
}

// Estimate is a statistic of the pairs.
type Estimate struct {
	Statistic Name[bootstrap.Statistic] `json:"statistic" doc:"mean or median of the pairs' overheads, or the overhead of all time together (total)"`
	Value     *float64                  `json:"value" doc:"the estimate"`
	SE        *float64                  `json:"standard_error" doc:"its standard error, with paired runs as the unit; null of the median and of a single pair of runs"`
	Intervals []Interval                `json:"intervals" doc:"an interval for every method of the statistic, the recommended one first; empty for a single pair of runs"`
}

// Interval is the bounds of a statistic.
type Interval struct {
	Method  Name[bootstrap.Method] `json:"method" doc:"how the bounds were made"`
	Lower   *float64               `json:"lower" doc:"lower end of the two-sided interval"`
	Upper   *float64               `json:"upper" doc:"upper end of the two-sided interval"`
	AtLeast *float64               `json:"at_least" doc:"one-sided lower bound"`
	AtMost  *float64               `json:"at_most" doc:"one-sided upper bound"`
}

// Measurement is one pair.
type Measurement struct {
	Pair     string   `json:"pair" doc:"name of the pair of runs; rows with the same name are resampled together"`
	Run      *string  `json:"base_run" doc:"the run without it; null when times came from a file"`
	Other    *string  `json:"with_run" doc:"the run with it; null when times came from a file"`
	Window   int      `json:"window" doc:"position of the window in its run, from 0"`
	Base     *float64 `json:"base_ns" doc:"time per step without"`
	With     *float64 `json:"with_ns" doc:"time per step with"`
	Overhead *float64 `json:"overhead" doc:"with_ns ÷ base_ns − 1"`
}

// OverheadOf returns the document of what something costs.
func OverheadOf(a *overhead.Account, headline string) Overhead {
	out := Overhead{Schema: "sfstat.overhead/1", Headline: headline, Statistic: nameOf(a.Estimate.Statistic), Estimate: number(a.Estimate.Value), Gate: finite(a.Gate),
		Confidence: number(a.Confidence), Blocks: a.Blocks, Pairs: a.Pairs, Matched: nameOf(a.Matched), Replicates: a.Replicates, Seed: a.Seed,
		Doubts: convert(a.Doubts, nameOf[bootstrap.Doubt]), Estimates: convert(a.Estimates, func(e bootstrap.Estimate) Estimate {
			return Estimate{nameOf(e.Statistic), number(e.Value), finite(e.SE), convert(e.Intervals, intervalOf)}
		}), Measurements: convert(a.Measurements, func(m overhead.Measurement) Measurement {
			return Measurement{m.Pair, nonZero(m.Run), nonZero(m.Other), m.Window, number(m.Base), number(m.With), number(m.Overhead())}
		})}
	if a.Interval != nil {
		interval := intervalOf(*a.Interval)
		out.Interval = &interval
	}
	if a.Gate != nil {
		standing := nameOf(a.Standing)
		out.Standing = &standing
	}
	return out
}

func intervalOf(i bootstrap.Interval) Interval {
	return Interval{nameOf(i.Method), number(i.Lower), number(i.Upper), number(i.AtLeast), number(i.AtMost)}
}

// OverheadRows returns a row for each statistic and method.
func OverheadRows(a *overhead.Account) *Rows {
	r := rowsUnder("statistic method value standard_error lower upper at_least at_most confidence gate standing paired_runs pairs replicates seed")
	for i := range a.Estimates {
		e := &a.Estimates[i]
		for _, bounds := range e.Intervals {
			x, standing := intervalOf(bounds), ""
			if a.Gate != nil {
				standing = e.StandingAt(*a.Gate, &bounds).String()
			}
			r.add(nameOf(e.Statistic), x.Method, number(e.Value), finite(e.SE), x.Lower, x.Upper, x.AtLeast, x.AtMost, number(a.Confidence), finite(a.Gate), standing,
				a.Blocks, a.Pairs, a.Replicates, a.Seed)
		}
	}
	return r
}
