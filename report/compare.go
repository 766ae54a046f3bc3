package report

import (
	"cmp"
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
)

// Comparison writes what two sets of runs differ in. CSV is one row per measure.
func (o Output) Comparison(c *runs.Comparison) error {
	return o.write(forms{
		"compare",
		func() any { return comparisonOf(c) },
		func() *csvTable { return structRows(comparisonOf(c).Rows) },
		func() document { return comparisonDocument(c) },
	})
}

func comparisonDocument(c *runs.Comparison) document {
	d := document{headline{comparisonHeadline(c), comparisonLevel(c)}}
	if len(c.Rows) > 0 {
		d = append(d, comparisonBrief(c), comparisonTable(c))
	}
	if c.Traffic != nil {
		d = append(d, changesSection(c.Traffic)...)
	}
	if t := foundTable(c); len(t.Rows) > 0 {
		d = append(d, heading("Findings"), t)
	}
	if b := comparisonDoubts(c); len(b) > 0 {
		d = append(d, heading("Read with care"), b)
	}
	return d
}

// mostlyIn names the stage that makes up most of a change of step time; "" where there is none.
func mostlyIn(r *runs.Row) string {
	if r == nil {
		return ""
	}
	return fmt.Sprintf(", mostly in %s (%s instead of %s)", stageWord(r.Stage), length(r.New), length(r.Base))
}

// comparisonHeadline is the answer in one sentence.
func comparisonHeadline(c *runs.Comparison) string {
	r := c.Step()
	if r == nil && c.Traffic != nil {
		return changesHeadline(c.Traffic)
	}
	if r == nil || math.IsNaN(r.Change) {
		return "Step times cannot be compared: one side has none."
	}
	s := fmt.Sprintf("A step takes %s instead of %s: ", length(r.New), length(r.Base))
	longer := "longer"
	if r.Change < 0 {
		longer = "shorter"
	}
	change := about(math.Abs(r.Change)/r.Base) + " " + longer
	switch {
	case r.Verdict == compare.Untested:
		s += change + ", which so little data cannot test"
	case r.Verdict == compare.NoneShown && c.Notable():
		s += fmt.Sprintf("%s%s, which may be chance (%s would have been shown)", change, mostlyIn(c.Mostly()), about(r.Shows/r.Base))
	case r.Verdict == compare.NoneShown:
		s = fmt.Sprintf("No difference in step time is shown (%s and %s); one of %s would have been", length(r.Base), length(r.New), about(r.Shows/r.Base))
	default:
		low, high := math.Abs(r.Low), math.Abs(r.High)
		s += fmt.Sprintf("%s (%s to %s)", change, about(min(low, high)/r.Base), about(max(low, high)/r.Base))
		if r.Verdict == compare.Undecidable {
			s += " in these two recordings; whether the job changed is not decidable from one run each"
		}
	}
	if c.Gate == nil {
		return s + "."
	}
	gate := percentOf(*c.Gate)
	return s + [...]string{
		runs.Within:       ": within the gate of " + gate,
		runs.NotShown:     "; it is not shown to be within the gate of " + gate,
		runs.BelowGate:    ", which is below the gate of " + gate + " as estimated",
		runs.Exceeded:     ", which is above the gate of " + gate + " as estimated",
		runs.SurelyBeyond: ", above the gate of " + gate,
	}[c.Standing] + "."
}

func comparisonLevel(c *runs.Comparison) evidence.Confidence {
	if r := c.Step(); r == nil || r.Verdict != compare.Regression || c.Standing == runs.BelowGate || c.Standing == runs.Within {
		return evidence.Insufficient
	}
	return evidence.Strong
}

// comparisonBrief says what the answer rests on, and what to do.
func comparisonBrief(c *runs.Comparison) brief {
	why := each(c.Largest(), func(r runs.Row) string {
		return fmt.Sprintf("%s %s a step (%s)", measureName(r.Measure), signedLength(r.Change), pValue(r.P))
	})
	units := counted(len(c.Base), "run") + " against " + strconv.Itoa(len(c.New))
	switch c.Unit {
	case runs.Pairs:
		units = counted(len(c.Base), "pair") + " of runs, by name"
	case runs.Batches:
		units = "one run on each side, in batches of steps"
	}
	why = append(why, fmt.Sprintf("%s; all intervals together hold at %s", units, percentOf(c.Confidence)))
	if slices.Contains(c.Doubts, runs.OtherWorld) {
		why = append([]string{fmt.Sprintf("other numbers of ranks (%s against %s), so other work", worlds(c.Base), worlds(c.New))}, why...)
	}
	b := brief{{Name: "Why", Text: strings.Join(why, "; ") + "."}}
	if next := comparisonNext(c); next != "" {
		b = append(b, glyph.Term{Name: "Next", Text: next})
	}
	return b
}

// worlds are the numbers of ranks of the runs of a side.
func worlds(side []*runs.Run) string {
	var of []string
	for _, r := range side {
		if n := strconv.Itoa(r.World); !slices.Contains(of, n) {
			of = append(of, n)
		}
	}
	return strings.Join(of, ", ")
}

func comparisonNext(c *runs.Comparison) string {
	r := c.Step()
	switch {
	case r == nil:
		return ""
	case c.Unit == runs.Batches:
		return "record the job again, three times or more on each side: two healthy runs differ too"
	case r.Verdict == compare.Regression && len(c.Largest()) > 0:
		return "look into " + measureName(c.Largest()[0].Measure) + "; sfstat diagnose on the new runs shows which rank is late there"
	case r.Verdict == compare.Regression:
		return "sfstat diagnose on the new runs"
	}
	if n := c.RunsFor(c.Smallest()); n > 0 && r.Verdict == compare.NoneShown {
		return fmt.Sprintf("about %d runs on each side would show a difference of %s", n, percentOf(c.Smallest()))
	}
	return ""
}

// measureName names a measure for people: "data.next_wait", "wait".
func measureName(m runs.Measure) string {
	switch m.Kind {
	case runs.StepTime:
		return "step time"
	case runs.SyncWait:
		return "wait"
	case runs.ArrivalSkew:
		return "arrival skew"
	case runs.ExposedCommunication:
		return "exposed communication"
	case runs.FoundDelay:
		if m.Stage == "" {
			return "found delay"
		}
		return "found delay in " + m.Stage
	}
	return m.Stage
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

var verdictWordsOfRow = [...]string{
	compare.Untested:    "not tested",
	compare.NoneShown:   "none shown",
	compare.Regression:  "regression",
	compare.Improvement: "improvement",
	compare.Undecidable: "not decidable",
}

// comparisonTable is one line per measure.
func comparisonTable(c *runs.Comparison) *table.Table {
	t := tableOf("comparison")
	t.Columns[4].Head = percentOf(c.Confidence) + " interval"
	for _, r := range c.Rows {
		of := c.Whole(r)
		row := t.Cells(measureName(r.Measure), r.Base, r.New, nil, nil, nil, verdictWordsOfRow[r.Verdict], nil)
		if of > 0 && table.Finite(r.Change) {
			row[3] = table.TextCell(signedPercent(r.Change / of))
			if r.Verdict != compare.Untested {
				row[4] = table.TextCell(strings.TrimSuffix(signedPercent(r.Low/of), " %") + " … " + signedPercent(r.High/of))
				row[5], row[7] = table.TextCell(probability(r.P)), table.TextCell(strings.TrimPrefix(signedPercent(r.Shows/of), "+"))
			}
		}
		t.Add(row...)
	}
	return t
}

// foundTable is one line per finding of either side.
func foundTable(c *runs.Comparison) *table.Table {
	t := tableOf("found")
	for i := range c.Found {
		f := &c.Found[i]
		t.Row(foundWord(f), fmt.Sprintf("%d of %d", f.Runs[0], len(c.Base)), fmt.Sprintf("%d of %d", f.Runs[1], len(c.New)), max(f.Most[0], f.Most[1]), foundStatus(f))
	}
	return t
}

// foundStatus is on which side a finding is.
func foundStatus(f *runs.Found) string {
	switch {
	case f.Runs[0] == 0:
		return "new"
	case f.Runs[1] == 0:
		return "gone"
	}
	return "both"
}

// foundWord names a finding: "rank 2 (gpu-node-1) in callbacks.cpu_wall".
func foundWord(f *runs.Found) string {
	s := f.Kind.String()
	if f.Rank != nil {
		s = "rank " + strconv.Itoa(*f.Rank)
	}
	if f.Host != "" {
		s += " (" + glyph.Visible(f.Host) + ")"
	}
	if in := cmp.Or(f.Op, f.Stage); in != "" {
		s += " in " + glyph.Visible(in)
	}
	return s
}

var comparisonDoubtWords = map[runs.Doubt]string{
	runs.OneRunEach:   "One run on each side: the intervals are about these two recordings. By how much healthy runs of this job differ is not in them.",
	runs.FewRuns:      "Fewer than five runs on a side: only large differences can be shown.",
	runs.OtherStages:  "Some stages are on one side only; they are not tested.",
	runs.OtherCut:     "The steps of some runs are cut elsewhere than those of others, so stages do not compare and are left out; --cut step compares them.",
	runs.MixedSchemas: "Some runs lack a stage that others of their side have.",
}

func comparisonDoubts(c *runs.Comparison) bullets {
	var b bullets
	for _, d := range c.Doubts {
		if d == runs.LeftOver {
			b = append(b, fmt.Sprintf("%s without a partner of the same name: left out (%s). --match none takes all.", counted(len(c.Left), "run"), glyph.Visible(strings.Join(c.Left[:min(3, len(c.Left))], ", "))))
			continue
		}
		if words := comparisonDoubtWords[d]; words != "" { // another number of ranks stands with the answer
			b = append(b, words)
		}
	}
	return b
}
