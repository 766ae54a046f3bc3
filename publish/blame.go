package publish

import (
	"fmt"

	"github.com/sfstat/sfstat/diagnose/operators"
	"github.com/sfstat/sfstat/engine/blame"
)

// Blame is where walks back from late operators of a trace end: sfstat blame.
type Blame struct {
	Trace
	Semantics   Name[blame.Semantics] `json:"semantics" doc:"which predecessors a walk goes to"`
	Tie         int64                 `json:"tie_ns" doc:"times closer than this count as equal"`
	Alpha       *float64              `json:"alpha" doc:"error rate of the outliers that the walks start from"`
	Walked      []int64               `json:"walked_step_ids" doc:"indices of the steps that were walked, ascending"`
	Symptoms    int                   `json:"symptoms" doc:"late operators that walks began on, in all of them"`
	Unexplained int                   `json:"unexplained" doc:"those whose walk leads nowhere"`
	Culprits    []WalkedOut           `json:"culprits" doc:"where walks ended, by descending number of symptoms"`
}

// WalkedOut is where walks ended: operators of one name on one worker, or the edges to them from operators of one
// name on one worker.
type WalkedOut struct {
	Kind Name[blame.Kind] `json:"kind" doc:"kind of culprit"`
	Worker
	Op        string                `json:"op" doc:"name of the operators, or of the later ones of the edges"`
	Seqs      []int                 `json:"seqs" doc:"their ordinals in the step, ascending"`
	PredRank  *int                  `json:"pred_rank" doc:"rank of the earlier ones of the edges; null where there is no edge"`
	Pred      *string               `json:"pred_op" doc:"their name"`
	Edge      *Name[blame.EdgeKind] `json:"edge" doc:"why the one waits for the other"`
	CrossRank bool                  `json:"cross_rank" doc:"the edges join two ranks"`
	Symptoms  int                   `json:"symptoms" doc:"symptoms that lead here, in all steps"`
	Steps     []int64               `json:"in_step_ids" doc:"indices of the steps with such a symptom"`
	Delay     int64                 `json:"delay_ns" doc:"over these steps and operators: of an op by how much they were longer than their peers', of a source by how much they started later, of an edge from the end of the one to the start of the other; else 0"`
	Victims   []int                 `json:"victim_ranks" doc:"other ranks that the walks began on"`
	PathStep  int64                 `json:"path_step" doc:"index of the step of path"`
	Path      []Stop                `json:"path" doc:"one walk, the longest, from symptom to culprit"`
}

// Stop is an operator on a walk.
type Stop struct {
	Rank  int    `json:"rank" doc:"global rank"`
	Op    string `json:"op" doc:"name of the operator"`
	Seq   int    `json:"seq" doc:"its ordinal in the step"`
	Start int64  `json:"start_ns" doc:"start since the first start of the step on any rank"`
	Dur   int64  `json:"duration_ns" doc:"duration"`
}

func (s Stop) String() string { return fmt.Sprintf("%d/%s/%d", s.Rank, s.Op, s.Seq) }

// BlameOf returns where walks end, from flags of that error rate.
func BlameOf(v *operators.View, w *operators.Walks, o blame.Options, alpha float64) Blame {
	return Blame{Trace: TraceOf(v), Semantics: nameOf(o.Semantics), Tie: o.Tie, Alpha: number(alpha), Walked: list(w.Steps), Symptoms: w.Symptoms,
		Unexplained: w.Unexplained, Culprits: convert(w.Culprits, func(c operators.Culprit) WalkedOut { return walkedOutOf(v, &c) })}
}

func walkedOutOf(v *operators.View, c *operators.Culprit) WalkedOut {
	out := WalkedOut{Kind: nameOf(c.Kind), Worker: WorkerOf(v, c.Worker), Op: c.Op, Seqs: list(c.Seqs), Pred: nonZero(c.Pred), CrossRank: c.CrossRank(),
		Symptoms: c.Symptoms, Steps: list(c.Steps), Delay: c.Delay, Victims: RanksOf(v, c.Victims), PathStep: c.PathStep,
		Path: convert(c.Path, func(s operators.Stop) Stop { return Stop{s.Rank, s.Op, s.Seq, s.Start, s.Dur} })}
	if c.Pred != "" {
		rank, edge := v.Rank(c.PredWorker).ID, nameOf(c.Edge)
		out.PredRank, out.Edge = &rank, &edge
	}
	return out
}

// BlameRows returns a row for each culprit.
func BlameRows(traces []Blame) *Rows {
	r := rowsUnder("run kind rank dp pp op seqs pred_rank pred_op edge symptoms in_step_ids delay_ns victim_ranks path_step path")
	for _, t := range traces {
		for _, c := range t.Culprits {
			r.add(t.Run, c.Kind, c.Rank, c.DP, c.PP, c.Op, c.Seqs, c.PredRank, c.Pred, c.Edge, c.Symptoms, c.Steps, c.Delay, c.Victims, c.PathStep, c.Path)
		}
	}
	return r
}
