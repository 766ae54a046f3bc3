package report

import (
	"slices"

	"github.com/sfstat/sfstat/engine/ks"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/publish"
)

// Completions is how the completion times of an operator trace's workers compare.
type Completions struct {
	Traced
	*ks.Result
}

// Completions writes whose operators complete at other times than their peers'. CSV
// is one row per worker; where all distances are kept, one per pair.
func (o Output) Completions(results []Completions) error {
	return o.write(forms{
		json:     func() any { return tracesOf("sfstat.ks/1", each(results, Completions.publishedForm), o.Problems) },
		rows:     func() *publish.Rows { return publish.CompletionRows(each(results, Completions.publishedForm)) },
		document: func() document { return completionsDocument(results) },
	})
}

func (r Completions) publishedForm() publish.Completions {
	return publish.CompletionsOf(r.View, r.Result)
}

// workersShown is how many workers a table lists.
const workersShown = 20

// completionsDocument returns a block per trace: the workers found, the scores, the maps.
func completionsDocument(results []Completions) document {
	var d document
	for _, r := range results {
		d = append(d, r.title(), prose(r.finding()), r.table())
		d = append(d, heading("How this was read"), r.basis())
	}
	return d
}

// finding returns a sentence or two on the workers that depart from their peers.
func (r Completions) finding() string {
	c := completionFinding{discovery: r.Discovery}
	for _, s := range r.Scores {
		if s.Test == nil {
			continue
		}
		c.tested++
		if s.Test.Flagged {
			rank := r.worker(s.Worker).Rank
			if s.Later < 0 {
				c.early = append(c.early, rank)
			} else {
				c.late = append(c.late, rank)
			}
		}
	}
	if c.tested == 0 && len(r.Scores) > 0 {
		c.undecided = ksDoubt(r.Scores[0].Undecided)
	}
	return sayCompletions(&c)
}

// table returns the workers by descending S, found ones first.
func (r Completions) table() *table.Table {
	t := completionsColumns()
	order := slices.Clone(r.Ranking)
	for _, s := range r.Scores {
		if !slices.Contains(r.Ranking, s.Worker) {
			order = append(order, s.Worker)
		}
	}
	flagged := func(w int) int {
		if r.Scores[w].Flagged() {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(order, func(a, b int) int { return flagged(a) - flagged(b) })
	for _, w := range order {
		t.Add(r.scoreRow(t, w)...)
	}
	return capRows(t, workersShown, "json and csv").Tidy()
}

// figureOf returns a figure of a score, nil of a worker that was compared with none.
func figureOf(s ks.Score, figure float64) *float64 {
	if s.Peers == 0 {
		return nil
	}
	return &figure
}

func (r Completions) scoreRow(t *table.Table, w int) []table.Cell {
	s := r.Scores[w]
	at, mean := r.worker(w), figureOf(s, s.Mean)
	row := t.Cells(at.Rank, at.DP, at.PP, mean, mean, figureOf(s, s.Median), s.Later, nil, nil, nil)
	n := len(row)
	if s.Test == nil {
		row[n-1] = table.TextCell("undecided")
		why := ksDoubt(s.Undecided)
		i := slices.Index(t.Footnotes, why)
		if i < 0 {
			i = len(t.Footnotes)
			t.Footnotes = append(t.Footnotes, why)
		}
		row[n-1].Note = i + 1
		return row
	}
	row[n-3], row[n-2] = table.RealCell(s.Test.P), table.RealCell(s.Test.Q)
	if s.Test.Flagged {
		row[n-1] = table.TextCell("yes")
		row[4].Strong = true
	}
	return row
}

// basis returns how the completion times were compared.
func (r Completions) basis() bullets {
	b := sayCompletionBasis(r.Result)
	for _, doubt := range r.Doubts {
		b = append(b, "In doubt: "+ksDoubt(doubt))
	}
	return append(b, r.Traced.basis()...)
}

func completionsColumns() *table.Table {
	return &table.Table{Columns: []table.Column{
		{Head: "rank", Kind: table.ID},
		{Head: "dp", Kind: table.ID},
		{Head: "pp", Kind: table.ID},
		{Head: "S", Kind: table.Unit, Means: "S: mean distance D of the completion times to those compared with, 0 to 1."},
		{Kind: table.Bar},
		{Head: "median", Kind: table.Unit, Spare: true},
		{Head: "later %s", Kind: table.Length, Means: "later: mean completion behind the median peer."},
		{Head: "P", Kind: table.Real, Spare: true},
		{Head: "Q", Kind: table.Real, Means: "Q: false-discovery rate at which it is found."},
		{Head: "found", Kind: table.Text},
	}}
}
