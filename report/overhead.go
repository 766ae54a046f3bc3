package report

import (
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/bootstrap"
	"github.com/sfstat/sfstat/engine/overhead"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/publish"
)

// Overhead writes what something costs. CSV is one row per statistic and method.
func (o Output) Overhead(a *overhead.Account) error {
	return o.writeWhole(forms{
		json:     func() any { return publish.OverheadOf(a, sayOverhead(a)) },
		rows:     func() *publish.Rows { return publish.OverheadRows(a) },
		document: func() document { return overheadDocument(a) },
	})
}

// overheadDocument returns the overhead, the bounds by every method, and the pairs.
func overheadDocument(a *overhead.Account) document {
	return put(headline{text: sayOverhead(a), level: overheadLevel(a)}, prose(sayOverheadBasis(a)),
		section("Read with care", bullets(each(a.Doubts, overheadDoubt))),
		section(fmt.Sprintf("Bounds at %s confidence", percentOf(a.Confidence)), intervalTable(a)),
		section(table.Counted(a.Pairs, "measurement"), pairTable(a.Measurements)))
}

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

func intervalTable(a *overhead.Account) *table.Table {
	t := intervalColumns()
	for _, e := range a.Estimates {
		for _, b := range e.Intervals {
			t.Row(e.Statistic.String(), e.Value, b.Method.String(), b.Lower, b.Upper, b.AtLeast, b.AtMost)
		}
	}
	return t.Tidy()
}

// pairTable returns a table of one line per pair.
func pairTable(measurements []overhead.Measurement) *table.Table {
	t := pairColumns()
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

func intervalColumns() *table.Table {
	return &table.Table{Columns: []table.Column{
		{Head: "statistic", Kind: table.Text},
		{Head: "overhead", Kind: table.Fine},
		{Head: "by", Kind: table.Text},
		{Head: "from", Kind: table.Fine, Means: "from … to holds the overhead between them; at least and at most do so by themselves."},
		{Head: "to", Kind: table.Fine},
		{Head: "at least", Kind: table.Fine},
		{Head: "at most", Kind: table.Fine},
	}}
}

func pairColumns() *table.Table {
	return &table.Table{Columns: []table.Column{
		{Head: "pair", Kind: table.Name},
		{Head: "without", Kind: table.Name, Spare: true},
		{Head: "with", Kind: table.Name, Spare: true},
		{Head: "window", Kind: table.ID},
		{Head: "%s/step without", Kind: table.Length},
		{Head: "%s/step with", Kind: table.Length},
		{Head: "overhead", Kind: table.Fine},
	}}
}
