package report

import (
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/bootstrap"
	"github.com/sfstat/sfstat/engine/overhead"
	"github.com/sfstat/sfstat/internal/table"
)

// Overhead writes what something costs. CSV is one row per statistic and method.
func (o Output) Overhead(a *overhead.Account) error {
	return o.writeWhole(forms{
		schema:   "overhead",
		json:     func() any { return overheadOf(a) },
		rows:     func() any { return boundsJSON{overheadOf(a), boundsOf(a)} },
		document: func() document { return overheadDocument(a) },
	})
}

type overheadJSON struct {
	Headline string `json:"headline" doc:"the answer in one sentence"`

	Statistic bootstrap.Statistic `json:"statistic" doc:"what headline and gate are about"`
	Estimate  float64             `json:"estimate" doc:"its value, a fraction"`
	Interval  *bootstrap.Interval `json:"interval" doc:"the bounds behind headline and standing; null for a single pair of runs"`
	Gate      *float64            `json:"gate" doc:"what the overhead should not exceed, a fraction; null without one"`
	Standing  *bootstrap.Standing `json:"standing" doc:"where the overhead stands against the gate. within: at_most is within it; perhaps within: the estimate alone is; perhaps above: the estimate is above it; above: at_least is. null: no gate"`

	Confidence float64           `json:"confidence" doc:"confidence of every interval and every one-sided bound, each by itself"`
	Runs       int               `json:"paired_runs" doc:"pairs of runs: the blocks that are resampled"`
	Pairs      int               `json:"pairs" doc:"pairs of windows, or rows of the file"`
	Matched    overhead.By       `json:"matched_by" doc:"how runs were matched"`
	Replicates int               `json:"replicates" doc:"resamples"`
	Seed       uint64            `json:"seed" doc:"seed of the resamples"`
	Doubts     []bootstrap.Doubt `json:"doubts" doc:"reasons to read the bounds with care"`

	Estimates    []bootstrap.Estimate `json:"estimates" doc:"the statistics"`
	Measurements []measurementJSON    `json:"measurements" doc:"the pairs, in order"`
}

type measurementJSON struct {
	overhead.Measurement
	Overhead float64 `json:"overhead" doc:"with_ns ÷ base_ns − 1"`
}

func overheadOf(a *overhead.Account) overheadJSON {
	out := overheadJSON{Headline: overheadHeadline(a), Statistic: a.Estimate.Statistic,
		Estimate: a.Estimate.Value, Gate: a.Gate, Confidence: a.Confidence,
		Runs: a.Blocks, Pairs: a.Pairs, Matched: a.Matched, Replicates: a.Replicates, Seed: a.Seed,
		Doubts: a.Doubts, Estimates: a.Estimates, Interval: a.Interval, Measurements: make([]measurementJSON, len(a.Measurements))}
	if a.Gate != nil {
		out.Standing = &a.Standing
	}
	for i, m := range a.Measurements {
		out.Measurements[i] = measurementJSON{m, m.Overhead()}
	}
	return out
}

// bound is an interval and the estimate that it bounds.
type bound struct {
	*bootstrap.Estimate
	bootstrap.Interval
	Standing string `json:"standing"`
}

func boundsOf(a *overhead.Account) (out []bound) {
	for i := range a.Estimates {
		for _, interval := range a.Estimates[i].Intervals {
			b := bound{Estimate: &a.Estimates[i], Interval: interval}
			if a.Gate != nil {
				b.Standing = b.Against(*a.Gate, b.Method).String()
			}
			out = append(out, b)
		}
	}
	return out
}

type boundsJSON struct {
	overheadJSON
	Bounds []bound `json:"bounds"`
}

// overheadDocument is what it costs, the bounds by every method, the pairs.
func overheadDocument(a *overhead.Account) document {
	return put(headline{overheadHeadline(a), overheadLevel(a)}, prose(say("overhead basis", a)),
		section("Read with care", bullets(each(a.Doubts, func(d bootstrap.Doubt) string { return meaning("overhead", d) }))),
		section(fmt.Sprintf("Bounds at %s confidence", percentOf(a.Confidence)), boundTable(a)),
		section(counted(a.Pairs, "measurement"), pairTable(a.Measurements)))
}

// overheadHeadline is the answer in one sentence.
func overheadHeadline(a *overhead.Account) string { return say("overhead", a) }

// overheadLevel makes a gate that is exceeded stand out.
func overheadLevel(a *overhead.Account) evidence.Confidence {
	switch {
	case a.Gate == nil:
		return evidence.Insufficient
	case a.Standing == bootstrap.Above:
		return evidence.Strong
	case a.Standing == bootstrap.PerhapsAbove:
		return evidence.Supported
	}
	return evidence.Insufficient
}

func boundTable(a *overhead.Account) *table.Table {
	t := tableOf("bound")
	for _, b := range boundsOf(a) {
		t.Row(b.Statistic.String(), b.Value, b.Method.String(), b.Lower, b.Upper, b.AtLeast, b.AtMost)
	}
	return t.Tidy()
}

// pairTable is one line per pair.
func pairTable(measurements []overhead.Measurement) *table.Table {
	t := tableOf("pair")
	several := slices.ContainsFunc(measurements, func(m overhead.Measurement) bool { return m.Window > 0 })
	for _, m := range measurements {
		row := t.Cells(m.Pair, m.Run, m.Other, nil, m.Base, m.With, m.Overhead())
		if several {
			row[3] = table.WholeCell(m.Window)
		}
		t.Add(row...)
	}
	return ends(t, windowLimit).Tidy()
}
