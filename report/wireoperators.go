package report

import (
	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/operators"
	"github.com/sfstat/sfstat/engine/whatif"
)

// The structs of this file are the JSON of what a verdict says about an
// operator trace; see wire.go.

type operatorsJSON struct {
	Workers   []workerJSON  `json:"workers"`
	Replicas  int           `json:"replicas"`
	Stages    int           `json:"pipeline_stages"`
	Steps     []int64       `json:"steps"`
	Ops       int           `json:"operators"`
	Offset    int64         `json:"clock_offset_ns"`
	Recorded  float64       `json:"recorded_step_ns"`
	NoDelay   float64       `json:"no_delay_step_ns"`
	Ideal     float64       `json:"ideal_step_ns"`
	Slowdown  float64       `json:"slowdown"`
	ByOp      []opShareJSON `json:"by_op"`
	ByStage   []levelJSON   `json:"by_stage"`
	Walks     []walkJSON    `json:"walks"`
	WalkedOps int           `json:"walked_symptoms"`
	Notes     []string      `json:"notes"`
}

type workerJSON struct {
	Rank    int      `json:"rank"`
	Role    string   `json:"role"`
	Factor  *float64 `json:"factor"`
	P       *float64 `json:"p"`
	KS      *float64 `json:"ks_mean"`
	Q       *float64 `json:"ks_q"`
	Flagged bool     `json:"ks_flagged"`
	Alone   float64  `json:"slowdown_alone"`
}

type levelJSON struct {
	Stage    int      `json:"stage"`
	Time     *float64 `json:"passes_ns"`
	Factor   *float64 `json:"factor"`
	Slowdown float64  `json:"slowdown_alone"`
}

type opShareJSON struct {
	Op       string  `json:"op"`
	Slowdown float64 `json:"slowdown_alone"`
}

type walkJSON struct {
	Kind     string           `json:"kind"`
	Rank     int              `json:"rank"`
	Op       string           `json:"op"`
	Seqs     []int            `json:"seqs"`
	Symptoms int              `json:"symptoms"`
	Steps    int              `json:"steps"`
	Delay    int64            `json:"delay_ns"`
	Victims  []int            `json:"victims"`
	Path     []operators.Stop `json:"path"`
}

func operatorsFrom(o *diagnose.Operators) *operatorsJSON {
	if o == nil {
		return nil
	}
	out := &operatorsJSON{Replicas: o.Replicas, Stages: o.Stages(), Steps: o.Steps, Ops: o.Ops, Offset: o.Offset,
		Recorded: o.Replay.Recorded.Mean, NoDelay: o.Replay.NoDelay.Mean, Ideal: o.Replay.Ideal.Mean,
		Slowdown: o.Replay.Slowdown.Overall, Workers: workersOf(o), WalkedOps: o.Walks.Symptoms,
		ByOp: []opShareJSON{}, ByStage: make([]levelJSON, o.Stages()), Walks: []walkJSON{}, Notes: texts(o.Notes)}
	for _, p := range o.Replay.ByOp {
		out.ByOp = append(out.ByOp, opShareJSON{p.Name, p.Overall})
	}
	for _, p := range o.Replay.ByStage {
		l := levelJSON{Stage: p.Index, Slowdown: p.Overall}
		if o.Passes != nil {
			level := o.Passes.Stages[p.Index]
			l.Time, l.Factor = &level.Time, &level.Factor
		}
		out.ByStage[p.Index] = l
	}
	for _, w := range o.Walks.Culprits {
		walk := walkJSON{Kind: w.Kind.String(), Rank: o.Workers[w.Worker].ID, Op: w.Op, Seqs: w.Seqs, Symptoms: w.Symptoms, Steps: len(w.Steps),
			Delay: w.Delay, Victims: []int{}, Path: w.Path}
		for _, v := range w.Victims {
			walk.Victims = append(walk.Victims, o.Workers[v].ID)
		}
		out.Walks = append(out.Walks, walk)
	}
	return out
}

func workersOf(o *diagnose.Operators) []workerJSON {
	alone := make(map[int]whatif.Worker)
	for _, w := range o.Replay.Workers {
		alone[w.Rank] = w
	}
	out := make([]workerJSON, len(o.Workers))
	for i, r := range o.Workers {
		w := workerJSON{Rank: r.ID, Role: r.Role.String(), Alone: alone[r.ID].Overall}
		if o.Passes != nil {
			l := o.Passes.Workers[i]
			w.Factor, w.P = &l.Factor, &l.P
		}
		s := o.Completions.Scores[i]
		w.KS = s.Mean
		if s.Test != nil {
			w.Q, w.Flagged = &s.Test.Q, s.Test.Flagged
		}
		out[i] = w
	}
	return out
}
