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
	Semantics   blame.Semantics `json:"semantics" doc:"which predecessors a walk goes to"`
	Tie         int64           `json:"tie_ns" doc:"times closer than this count as equal"`
	Alpha       float64         `json:"alpha" doc:"error rate of the outliers that the walks start from"`
	Walked      []int64         `json:"walked_step_ids" doc:"indices of the steps that were walked, ascending"`
	Symptoms    int             `json:"symptoms" doc:"late operators that walks began on, in all of them"`
	Unexplained int             `json:"unexplained" doc:"those whose walk leads nowhere"`
	Culprits    []walkedOutJSON `json:"culprits" doc:"where walks ended, by descending number of symptoms"`
}

type walkedOutJSON struct {
	Kind blame.Kind `json:"kind" doc:"kind of culprit"`
	placeJSON
	Op        string          `json:"op" doc:"name of the operators, or of the later ones of the edges"`
	Seqs      []int           `json:"seqs" doc:"their ordinals in the step, ascending"`
	PredRank  *int            `json:"pred_rank" doc:"rank of the earlier ones of the edges; null where there is no edge"`
	PredOp    *string         `json:"pred_op" doc:"their name"`
	Edge      *blame.EdgeKind `json:"edge" doc:"why the one waits for the other"`
	CrossRank bool            `json:"cross_rank" doc:"the edges join two ranks"`
	Symptoms  int             `json:"symptoms" doc:"symptoms that lead here, in all steps"`
	Steps     []int64         `json:"in_step_ids" doc:"indices of the steps with such a symptom"`
	Delay     int64           `json:"delay_ns" doc:"over these steps and operators: of an op by how much they were longer than their peers', of a source by how much they started later, of an edge from the end of the one to the start of the other; else 0"`
	Victims   []int           `json:"victim_ranks" doc:"other ranks that the walks began on"`

	PathStep int64            `json:"path_step" doc:"index of the step of path"`
	Path     []operators.Stop `json:"path" doc:"one walk, the longest, from symptom to culprit"`
}

func (b Blame) wire() blameJSON {
	out := blameJSON{traceJSON: b.Traced.wire(), Semantics: b.Semantics, Tie: b.Tie, Alpha: b.Alpha, Walked: b.Walks.Steps,
		Symptoms: b.Symptoms, Unexplained: b.Unexplained, Culprits: make([]walkedOutJSON, len(b.Culprits))}
	for i, c := range b.Culprits {
		j := walkedOutJSON{Kind: c.Kind, placeJSON: b.worker(c.Worker), Op: c.Op, Seqs: c.Seqs, Symptoms: c.Symptoms, Steps: c.Steps,
			Delay: c.Delay, Victims: b.ranksOf(c.Victims), PathStep: c.PathStep, Path: c.Path}
		if c.Pred != "" {
			rank, edge := b.worker(c.PredWorker).Rank, c.Edge
			j.PredRank, j.PredOp, j.Edge, j.CrossRank = &rank, &c.Pred, &edge, c.PredWorker != c.Worker
		}
		out.Culprits[i] = j
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
	}{b.Walks, counted(len(b.Walks.Steps), "step"), rank})
}

func (b Blame) table() *table.Table {
	t := tableOf("blame")
	for _, c := range b.Culprits {
		at := b.worker(c.Worker)
		row := t.Cells(c.Kind.String(), at.Rank, at.DP, at.PP, c.Op, nil, c.Symptoms, len(c.Steps), nil, rankItems(b.ranksOf(c.Victims), 0))
		if c.Pred != "" {
			row[5] = table.TextCell(c.Pred)
			if c.PredWorker != c.Worker {
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
