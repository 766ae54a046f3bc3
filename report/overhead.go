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
	*overhead.Account
}

func overheadOf(a *overhead.Account) overheadJSON { return overheadJSON{overheadHeadline(a), a} }

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
				b.Standing = b.Against(*a.Gate, &b.Interval).String()
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
		section(table.Counted(a.Pairs, "measurement"), pairTable(a.Measurements)))
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
