package report

import (
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/diagnose/operators"
	"github.com/sfstat/sfstat/engine/blame"
	"github.com/sfstat/sfstat/internal/table"
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
		schema:   "blame",
		json:     func() any { return tracesJSON[blameJSON]{each(results, Blame.wire)} },
		document: func() document { return blameDocument(results) },
	})
}

type blameJSON struct {
	traceJSON
	Semantics blame.Semantics `json:"semantics" doc:"which predecessors a walk goes to"`
	Tie       int64           `json:"tie_ns" doc:"times closer than this count as equal"`
	Alpha     float64         `json:"alpha" doc:"error rate of the outliers that the walks start from"`
	*operators.Walks
	Culprits []walkedOutJSON `json:"culprits" doc:"where walks ended, by descending number of symptoms"`
}

type walkedOutJSON struct {
	Kind blame.Kind `json:"kind" doc:"kind of culprit"`
	placeJSON
	*operators.Culprit
	Pred    *int  `json:"pred_rank" before:"pred_op" doc:"rank of the earlier ones of the edges; null where there is no edge"`
	Victims []int `json:"victim_ranks" before:"path_step" doc:"other ranks that the walks began on"`
}

func (b Blame) wire() blameJSON {
	out := blameJSON{traceJSON: b.Traced.wire(), Semantics: b.Semantics, Tie: b.Tie, Alpha: b.Alpha, Walks: b.Walks}
	for i := range b.Culprits {
		c := &b.Culprits[i]
		j := walkedOutJSON{Kind: c.Kind, placeJSON: b.worker(c.Worker), Culprit: c, Victims: b.ranksOf(c.Victims)}
		if c.Pred != "" {
			rank := b.worker(c.PredWorker).Rank
			j.Pred = &rank
		}
		out.Culprits = append(out.Culprits, j)
	}
	return out
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
		d = append(d, heading("What the kinds say"), explained("walk", slices.Compact(kinds)))
	}
	return d
}

// finding is where most walks end.
func (b Blame) finding() string {
	rank := 0
	if len(b.Culprits) > 0 {
		rank = b.worker(b.Culprits[0].Worker).Rank
	}
	return say("blame", struct {
		*operators.Walks
		In   string
		Rank int
	}{b.Walks, table.Counted(len(b.Walks.Steps), "step"), rank})
}

func (b Blame) table() *table.Table {
	t := tableOf("blame")
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
	return capped(t, culpritsShown, "json and csv").Tidy()
}

// walkTable is a walk from symptom to culprit, its middle left out where it is
// long.
func walkTable(path []operators.Stop) *table.Table {
	t := tableOf("walk")
	for _, s := range path {
		t.Row(s.Rank, s.Stage, operatorName(s.Op, s.Seq), s.Start, s.Dur)
	}
	return ends(t, stopsShown)
}

func (b Blame) basis() bullets {
	return append(told(b, "blame rule", "blame flags"), b.Traced.basis()...)
}
