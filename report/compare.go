package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/diagnose/runs"
	"github.com/sfstat/sfstat/engine/compare"
	"github.com/sfstat/sfstat/internal/glyph"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/publish"
)

// Comparison writes what two sets of runs differ in. CSV is one row per measure.
func (o Output) Comparison(c *runs.Comparison) error {
	return o.write(forms{
		json:     func() any { return publish.ComparisonOf(c, comparisonHeadline(c), problemsOf(o.Problems)) },
		rows:     func() *publish.Rows { return publish.ComparisonOf(c, "", nil).MeasureRows() },
		document: func() document { return o.Style.comparisonDocument(c) },
	})
}

func (s Style) comparisonDocument(c *runs.Comparison) document {
	d := document{headline{text: comparisonHeadline(c), level: comparisonLevel(c)}}
	switch {
	case len(c.Rows) > 0 && s.Verbose:
		d = append(d, comparisonBrief(c), comparisonInFull(c))
	case len(c.Rows) > 0:
		d = append(d, comparisonBrief(c), differences(c))
		if alike := countAlike(c); alike > 0 {
			d = append(d, prose(sayAlike(alike)))
		}
	}
	return put(d, changesSection(c.Traffic), section("Findings", findingTable(c)), section("Read with care", comparisonDoubts(c)))
}

// comparisonHeadline returns the answer in one sentence.
func comparisonHeadline(c *runs.Comparison) string {
	if c.Step() == nil && c.Traffic != nil {
		return changesHeadline(c.Traffic)
	}
	return sayComparison(c)
}

func comparisonLevel(c *runs.Comparison) evidence.Confidence {
	if r := c.Step(); r == nil || r.Verdict != compare.Regression || c.Standing == runs.BelowGate || c.Standing == runs.Within {
		return evidence.Insufficient
	}
	return evidence.Strong
}

// comparisonBrief returns the basis of the answer, and the next action.
func comparisonBrief(c *runs.Comparison) brief {
	why := each(c.Largest(), func(r runs.Row) string {
		return fmt.Sprintf("%s %s a step (%s)", measureName(r.Measure), signedLength(r.Change), pValue(r.P))
	})
	why = append(why, sayUnits(c))
	if slices.Contains(c.Doubts, runs.OtherWorld) {
		why = append([]string{fmt.Sprintf("other numbers of ranks (%s against %s), so other work", worlds(c.Base), worlds(c.New))}, why...)
	}
	b := brief{{Name: "Why", Text: strings.Join(why, "; ") + "."}}
	if next := sayNextOfComparison(c); next != "" {
		b = append(b, glyph.Term{Name: "Next", Text: next})
	}
	return b
}

// worlds returns the numbers of ranks of the runs of a side.
func worlds(side []*runs.Run) string {
	var of []string
	for _, r := range side {
		if n := strconv.Itoa(r.World); !slices.Contains(of, n) {
			of = append(of, n)
		}
	}
	return strings.Join(of, ", ")
}

func signedLength(ns float64) string {
	if ns < 0 {
		return "−" + length(-ns)
	}
	return "+" + length(ns)
}

// signedPercent writes a change: "+5.02 %".
func signedPercent(f float64) string {
	if !table.Finite(f) {
		return table.Absent
	}
	decimals := 2
	if math.Abs(f) >= 0.0995 {
		decimals = 1
	}
	s := strconv.FormatFloat(math.Abs(100*f), 'f', decimals, 64) + " %"
	switch {
	case strings.Trim(s, "0. %") == "":
		return s
	case f < 0:
		return "−" + s
	}
	return "+" + s
}

// differences returns one line for step time, and one for each measure that differs.
func differences(c *runs.Comparison) *table.Table {
	t := comparisonColumns()
	for i := range c.Rows {
		r := &c.Rows[i]
		if !c.Differs(r) {
			continue
		}
		row := t.Cells(measureName(r.Measure), r.Base, r.New, nil, sayVerdict(r.Verdict))
		if of := c.Whole(*r); of > 0 && table.Finite(r.Change) {
			change := signedPercent(r.Change / of)
			if r.Verdict != compare.Untested {
				change += " (" + interval(r, of) + ")"
			}
			row[3] = table.TextCell(change)
		}
		t.Add(row...)
	}
	return t
}

// interval writes the bounds of a change as parts of a step.
func interval(r *runs.Row, of float64) string {
	return strings.TrimSuffix(signedPercent(r.Low/of), " %") + " … " + signedPercent(r.High/of)
}

// countAlike counts the measures that differ not or are not tested.
func countAlike(c *runs.Comparison) (n int) {
	for i := range c.Rows {
		if r := &c.Rows[i]; r.Kind != runs.FoundDelay && !c.Differs(r) {
			n++
		}
	}
	return n
}

// comparisonInFull returns one line per measure.
func comparisonInFull(c *runs.Comparison) *table.Table {
	t := comparisonInFullColumns()
	t.Columns[4].Head = percentOf(c.Confidence) + " interval"
	for i := range c.Rows {
		r := &c.Rows[i]
		of := c.Whole(*r)
		row := t.Cells(measureName(r.Measure), r.Base, r.New, nil, nil, nil, sayVerdict(r.Verdict), nil)
		if of > 0 && table.Finite(r.Change) {
			row[3] = table.TextCell(signedPercent(r.Change / of))
			if r.Verdict != compare.Untested {
				row[4] = table.TextCell(interval(r, of))
				row[5], row[7] = table.TextCell(probability(r.P)), table.TextCell(strings.TrimPrefix(signedPercent(r.Shows/of), "+"))
			}
		}
		t.Add(row...)
	}
	return t
}

// findingTable returns a table of one line per finding of either side.
func findingTable(c *runs.Comparison) *table.Table {
	t := findingColumns()
	for i := range c.Found {
		f := &c.Found[i]
		t.Row(sayFound(f), fmt.Sprintf("%d of %d", f.Runs[0], len(c.Base)), fmt.Sprintf("%d of %d", f.Runs[1], len(c.New)), max(f.Most[0], f.Most[1]), string(f.Showing()))
	}
	return t
}

func comparisonDoubts(c *runs.Comparison) (b bullets) {
	for _, d := range c.Doubts {
		if words := sayDoubt(c, d); words != "" { // another number of ranks stands with the answer
			b = append(b, words)
		}
	}
	return b
}

func comparisonColumns() *table.Table {
	return &table.Table{OneUnit: true, Columns: []table.Column{
		{Head: "%s/step", Kind: table.Name},
		{Head: "base", Kind: table.Length},
		{Head: "new", Kind: table.Length},
		{Head: "change", Kind: table.Amount},
		{Head: "result", Kind: table.Uncut},
	}}
}

func comparisonInFullColumns() *table.Table {
	return &table.Table{OneUnit: true, Caption: "Stages: exposed time. Changes of stages are relative to the base's step, those of arrival skew to the skew itself. shows: the smallest change that this many runs would detect in four comparisons of five.", Columns: []table.Column{
		{Head: "%s/step", Kind: table.Uncut},
		{Head: "base", Kind: table.Length},
		{Head: "new", Kind: table.Length},
		{Head: "change", Kind: table.Amount},
		{Head: "interval", Kind: table.Amount},
		{Head: "p", Kind: table.Amount, Spare: true},
		{Head: "result", Kind: table.Uncut},
		{Head: "shows", Kind: table.Amount},
	}}
}

func findingColumns() *table.Table {
	return &table.Table{Caption: "base, new: runs that show it.", Columns: []table.Column{
		{Head: "finding", Kind: table.Uncut},
		{Head: "base", Kind: table.Amount},
		{Head: "new", Kind: table.Amount},
		{Head: "would save", Kind: table.Fraction},
		{Head: "status", Kind: table.Text},
	}}
}
