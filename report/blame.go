package report

import (
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/diagnose/operators"
	"github.com/sfstat/sfstat/engine/blame"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/publish"
)

// Blame is where the delays of an operator trace began.
type Blame struct {
	Traced
	*operators.Walks
	blame.Options
	Alpha float64 // error rate of the flags that the walks read
}

// Blame writes where walks back from late operators end. CSV is one row per
// culprit.
func (o Output) Blame(results []Blame) error {
	return o.write(forms{
		json:     func() any { return tracesOf("sfstat.blame/1", each(results, Blame.publishedForm), o.Problems) },
		rows:     func() *publish.Rows { return publish.BlameRows(each(results, Blame.publishedForm)) },
		document: func() document { return blameDocument(results) },
	})
}

func (b Blame) publishedForm() publish.Blame {
	return publish.BlameOf(b.View, b.Walks, b.Options, b.Alpha)
}

const (
	culpritsShown = 20 // rows of the table
	pathsShown    = 3  // culprits with their path
	stopsShown    = 12 // operators of a path
)

func blameDocument(results []Blame) document {
	var d document
	var kinds []blame.Kind
	for _, b := range results {
		d = append(d, b.title(), prose(b.finding()))
		if len(b.Culprits) > 0 {
			d = append(d, b.table())
		}
		for i, c := range b.Culprits {
			kinds = append(kinds, c.Kind)
			if i < pathsShown && len(c.Path) > 1 {
				d = append(d, heading(fmt.Sprintf("A walk to %s of rank %d, step %d", c.Op, b.worker(c.Worker).Rank, c.PathStep)), walkTable(c.Path))
			}
		}
		d = append(d, heading("How this was read"), b.basis())
	}
	if slices.Sort(kinds); len(kinds) > 0 {
		d = append(d, heading("What the kinds say"), explainAll(slices.Compact(kinds), walkMeaning))
	}
	return d
}

// finding returns where most walks end.
func (b Blame) finding() string {
	rank := 0
	if len(b.Culprits) > 0 {
		rank = b.worker(b.Culprits[0].Worker).Rank
	}
	return sayBlame(b.Walks, rank)
}

func (b Blame) table() *table.Table {
	t := blameColumns()
	for _, c := range b.Culprits {
		at := b.worker(c.Worker)
		row := t.Cells(c.Kind.String(), at.Rank, at.DP, at.PP, c.Op, nil, c.Symptoms, len(c.Steps), nil, rankItems(b.ranksOf(c.Victims), 0))
		if c.Pred != "" {
			row[5] = table.TextCell(c.Pred)
			if c.CrossRank() {
				row[5] = table.TextCell(fmt.Sprintf("%s of rank %d", c.Pred, b.worker(c.PredWorker).Rank))
			}
		}
		if c.Kind == blame.LongOp || c.Kind == blame.Source || c.Kind == blame.Gap {
			row[8] = table.RealCell(float64(c.Delay) / float64(len(c.Steps)))
		}
		t.Add(row...)
	}
	return capRows(t, culpritsShown, "json and csv").Tidy()
}

// walkTable returns the table of a walk from symptom to culprit, without its middle where it is long.
func walkTable(path []operators.Stop) *table.Table {
	t := walkColumns()
	for _, s := range path {
		t.Row(s.Rank, s.Stage, operatorName(s.Op, s.Seq), s.Start, s.Dur)
	}
	return ends(t, stopsShown)
}

func (b Blame) basis() bullets {
	return append(bullets{sayBlameRule(b.Options), sayBlameFlags(b.Alpha)}, b.Traced.basis()...)
}

func blameColumns() *table.Table {
	return &table.Table{Columns: []table.Column{
		{Head: "kind", Kind: table.Text},
		{Head: "rank", Kind: table.ID},
		{Head: "dp", Kind: table.ID, Spare: true},
		{Head: "pp", Kind: table.ID, Spare: true},
		{Head: "operator", Kind: table.Name},
		{Head: "after", Kind: table.Name},
		{Head: "symptoms", Kind: table.Integer},
		{Head: "steps", Kind: table.Integer},
		{Head: "delay %s/step", Kind: table.Length, Means: "delay: by how much the operators at which walks end were longer or later, in the steps where a walk ends there."},
		{Head: "victims", Kind: table.List},
	}}
}

func walkColumns() *table.Table {
	return &table.Table{Caption: "Each operator waited for the one below it; the last is where the delay began.", Columns: []table.Column{
		{Head: "rank", Kind: table.ID},
		{Head: "pp", Kind: table.ID},
		{Head: "operator", Kind: table.Name},
		{Head: "starts %s", Kind: table.Length},
		{Head: "takes %s", Kind: table.Length},
	}}
}
