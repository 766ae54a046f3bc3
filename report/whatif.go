package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/engine/whatif"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/publish"
)

// WhatIf is what uneven work costs the steps of an operator trace.
type WhatIf struct {
	Traced
	*whatif.Result
	Ideal    whatif.Ideal
	Fixes    []Fix            // what was asked for
	Suspects []whatif.Suspect // where nothing was asked for
}

// Fix is a selection of operators as it was typed, and what it does to the
// steps.
type Fix struct {
	Selection string // what is fixed, as --fix takes it
	whatif.Effect
}

// WhatIf writes what workers, stages and kinds of operators cost. CSV is one
// row per figure.
func (o Output) WhatIf(results []WhatIf) error {
	return o.write(forms{
		json:     func() any { return tracesOf("sfstat.whatif/1", each(results, WhatIf.publishedForm), o.Problems) },
		rows:     func() *publish.Rows { return publish.WhatifRows(each(results, WhatIf.publishedForm)) },
		document: func() document { return whatifDocument(results) },
	})
}

// selectionOf returns a suspect in the syntax of a selection.
func selectionOf(s whatif.Suspect) string {
	switch s.Kind {
	case whatif.SuspectWorker:
		return fmt.Sprintf("rank=%d", s.Index)
	case whatif.SuspectStage:
		return fmt.Sprintf("stage=%d", s.Index)
	case whatif.SuspectReplica:
		return fmt.Sprintf("dp=%d", s.Index)
	}
	return "op=" + s.Op
}

// fixes returns the requested fixes, or else the suspects.
func (x WhatIf) fixes() []Fix {
	out := slices.Clone(x.Fixes)
	for _, s := range x.Suspects {
		out = append(out, Fix{selectionOf(s), s.Effect})
	}
	return out
}

// partName returns a part in words: "forward-compute", "stage 3", "replica 0".
func partName(p whatif.Part, of string) string {
	if p.Name != "" {
		return p.Name
	}
	return fmt.Sprintf("%s %d", of, p.Index)
}

func (x WhatIf) publishedForm() publish.Whatif {
	return publish.WhatifOf(x.View, x.Result, x.Ideal, each(x.fixes(), func(f Fix) publish.Fix { return publish.FixOf(f.Selection, &f.Effect) }))
}

// shareCell returns a share of the excess, absent where there is none.
func shareCell(e *whatif.Effect, share float64) table.Cell {
	if !e.HasShare {
		return table.Cell{}
	}
	return table.RealCell(share)
}

func whatifDocument(results []WhatIf) document {
	var d document
	for _, x := range results {
		d = append(d, x.title(), prose(sayWhatIf(x.Result)), x.timelines(),
			heading("What each part causes alone"), partsTable("this part as recorded and all else ideal, to all ideal", x.ByOp, x.ByStage, x.ByDP),
			heading("Slowdown that each worker causes alone"), x.causes(),
			heading("What fixing would save"), x.savings())
		if x.LaunchByOp != nil {
			d = append(d, heading("Where operators start late"), partsTable("the launch delays of this part alone, to no delays", x.LaunchByOp, x.LaunchByStage, x.LaunchByDP))
		}
		d = append(d, heading("How this was read"), x.basis())
	}
	return d
}

func (x WhatIf) timelines() *table.Table {
	t := whatIfTimelinesColumns()
	for _, each := range []struct {
		name string
		time float64
	}{{"as recorded", x.Recorded.Mean}, {"without launch delays", x.NoDelay.Mean}, {"all durations ideal", x.Result.Ideal.Mean}} {
		t.Row(each.name, each.time, each.time)
	}
	return t
}

// partsShown is how many parts of a sort a table lists.
const partsShown = 8

// partsTable returns the slowdowns by kind of operator, stage and replica.
func partsTable(means string, byOp, byStage, byDP []whatif.Part) *table.Table {
	t := whatIfPartsColumns()
	t.Columns[1].Means = "slowdown: step time with " + means + "."
	addParts(t, byOp, "")
	addParts(t, byStage, "stage")
	addParts(t, byDP, "replica")
	if n := len(byOp) + len(byStage) + len(byDP) - len(t.Rows); n > 0 {
		t.Caption = fmt.Sprintf("%d smaller ones are in json and csv.", n)
	}
	return t
}

func addParts(t *table.Table, parts []whatif.Part, of string) {
	for i, p := range parts[:min(partsShown, len(parts))] {
		bar := table.RealCell(max(0, p.Overall-1))
		bar.Strong = i == 0
		t.Row(partName(p, of), p.Overall, bar)
	}
}

// causesShown is how many workers a table lists.
const causesShown = 12

// causes returns the workers by the slowdown that each alone causes.
func (x WhatIf) causes() *table.Table {
	t := whatIfCausesColumns()
	order := slices.Clone(x.Workers)
	slices.SortStableFunc(order, func(a, b whatif.Worker) int { return cmp.Compare(b.Overall, a.Overall) })
	for i, w := range order {
		bar := table.RealCell(max(0, w.Overall-1))
		bar.Strong = i == 0
		t.Row(w.Rank, w.DP, w.Stage, w.Overall, bar)
	}
	return capRows(t, causesShown, "json and csv").Tidy()
}

// fixesShown is how many suspects a table lists; what was asked for is listed
// whole.
const fixesShown = 12

// savings returns the savings of the fixes and of the two that the study of traces is about.
func (x WhatIf) savings() *table.Table {
	t := whatIfSavingsColumns()
	list := x.fixes()
	if x.Suspects != nil {
		list = list[:min(fixesShown, len(list))]
	}
	for _, f := range list {
		addEffect(t, f.Selection, &f.Effect)
	}
	addEffect(t, "last stage (M_S)", &x.LastStage)
	worst := "worst worker (M_W)"
	if n := len(x.TopRanks); n > 1 {
		worst = fmt.Sprintf("worst %s (M_W)", table.Counted(n, "worker"))
	}
	addEffect(t, worst, &x.TopWorkers)
	if more := len(x.fixes()) - len(list); more > 0 {
		t.Caption = fmt.Sprintf("%d more are in json and csv.", more)
	}
	return t.Tidy()
}

func addEffect(t *table.Table, name string, e *whatif.Effect) {
	saves := table.Cell{}
	if e.Now > 0 {
		saves = table.RealCell(e.Saved / e.Now)
	}
	t.Row(name, e.Removed, e.Saved, saves, shareCell(e, e.Share), e.Added)
}

// basis returns the meaning of ideal and the fit of the replay.
func (x WhatIf) basis() bullets {
	return append(sayWhatIfBasis(x.Result, x.Ideal, len(x.Suspects) > 0), x.Traced.basis()...)
}

func whatIfTimelinesColumns() *table.Table {
	return &table.Table{Columns: []table.Column{
		{Head: "timeline", Kind: table.Text},
		{Head: "%s/step", Kind: table.Length},
		{Kind: table.Bar},
	}}
}

func whatIfPartsColumns() *table.Table {
	return &table.Table{Columns: []table.Column{
		{Head: "part", Kind: table.Name},
		{Head: "slowdown", Kind: table.Factor},
		{Kind: table.Bar, Means: "The bar is what is above 1."},
	}}
}

func whatIfCausesColumns() *table.Table {
	return &table.Table{Columns: []table.Column{
		{Head: "rank", Kind: table.ID},
		{Head: "dp", Kind: table.ID},
		{Head: "pp", Kind: table.ID},
		{Head: "slowdown", Kind: table.Factor},
		{Kind: table.Bar},
	}}
}

func whatIfSavingsColumns() *table.Table {
	return &table.Table{Columns: []table.Column{
		{Head: "fix", Kind: table.Name},
		{Head: "then %s/step", Kind: table.Length, Means: "then: step time with this made ideal and all else as recorded."},
		{Head: "saves %s", Kind: table.Length},
		{Head: "saves", Kind: table.Fraction, Means: "saves: in time and as part of the step without launch delays."},
		{Head: "of excess", Kind: table.Fraction, Means: "of excess: as part of the time lost to uneven work."},
		{Head: "alone %s/step", Kind: table.Length, Means: "alone: step time with this as recorded and all else ideal."},
	}}
}
