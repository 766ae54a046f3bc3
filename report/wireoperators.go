package report

import (
	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/operators"
	"github.com/sfstat/sfstat/engine/whatif"
)

// The structs of this file are the JSON of what a verdict says about an
// operator trace; see wire.go.

type operatorsJSON struct {
	Workers   []workerJSON `json:"workers"`
	Replicas  int          `json:"replicas"`
	Stages    int          `json:"pipeline_stages"`
	Steps     []int64      `json:"steps"`
	Ops       int          `json:"operators"`
	Offset    int64        `json:"clock_offset_ns"`
	Recorded  number       `json:"recorded_step_ns"`
	NoDelay   number       `json:"no_delay_step_ns"`
	Ideal     number       `json:"ideal_step_ns"`
	Slowdown  number       `json:"slowdown"`
	ByOp      []partJSON   `json:"by_op"`
	ByStage   []levelJSON  `json:"by_stage"`
	Walks     []walkJSON   `json:"walks"`
	WalkedOps int          `json:"walked_symptoms"`
	Notes     []string     `json:"notes"`
}

type workerJSON struct {
	Rank    int     `json:"rank"`
	Role    string  `json:"role"`
	Factor  *number `json:"factor"`
	P       *number `json:"p"`
	KS      *number `json:"ks_mean"`
	Q       *number `json:"ks_q"`
	Flagged bool    `json:"ks_flagged"`
	Alone   number  `json:"slowdown_alone"`
}

type levelJSON struct {
	Stage    int     `json:"stage"`
	Time     *number `json:"passes_ns"`
	Factor   *number `json:"factor"`
	Slowdown number  `json:"slowdown_alone"`
}

type partJSON struct {
	Op       string `json:"op"`
	Slowdown number `json:"slowdown_alone"`
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
	out := &operatorsJSON{Replicas: o.Replicas, Stages: o.Stages(), Steps: list(o.Steps), Ops: o.Ops, Offset: o.Offset,
		Recorded: number(o.Replay.Recorded.Mean), NoDelay: number(o.Replay.NoDelay.Mean), Ideal: number(o.Replay.Ideal.Mean),
		Slowdown: number(o.Replay.Slowdown.Overall), Workers: workersOf(o), WalkedOps: o.Walks.Symptoms,
		ByOp: []partJSON{}, ByStage: make([]levelJSON, o.Stages()), Walks: []walkJSON{}, Notes: list(texts(o.Notes))}
	for _, p := range o.Replay.ByOp {
		out.ByOp = append(out.ByOp, partJSON{p.Name, number(p.Overall)})
	}
	for _, p := range o.Replay.ByStage {
		l := levelJSON{Stage: p.Index, Slowdown: number(p.Overall)}
		if o.Passes != nil {
			level := o.Passes.Stages[p.Index]
			l.Time, l.Factor = optionalNumber(&level.Time), optionalNumber(&level.Factor)
		}
		out.ByStage[p.Index] = l
	}
	for _, w := range o.Walks.Culprits {
		walk := walkJSON{Kind: w.Kind.String(), Rank: o.Workers[w.Worker].ID, Op: w.Op, Seqs: list(w.Seqs), Symptoms: w.Symptoms, Steps: len(w.Steps),
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
		w := workerJSON{Rank: r.ID, Role: r.Role.String(), Alone: number(alone[r.ID].Alone.Overall)}
		if o.Passes != nil {
			l := o.Passes.Workers[i]
			w.Factor, w.P = optionalNumber(&l.Factor), optionalNumber(&l.P)
		}
		s := o.Completions.Scores[i]
		w.KS = optionalNumber(s.Mean)
		if s.Test != nil {
			w.Q, w.Flagged = optionalNumber(&s.Test.Q), s.Test.Flagged
		}
		out[i] = w
	}
	return out
}
