package report

import (
	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/operators"
	"github.com/sfstat/sfstat/engine/whatif"
)

// The structs of this file are the JSON of what a verdict says about an
// operator trace; see wire.go.

type operatorsJSON struct {
	Workers   []workerJSON  `json:"workers" doc:"the recorded workers, by pipeline stage, then by replica"`
	Replicas  int           `json:"replicas" doc:"size of dp"`
	Stages    int           `json:"pipeline_stages" doc:"size of pp"`
	Steps     []int64       `json:"steps" doc:"indices of the steps"`
	Ops       int           `json:"operators" doc:"number of operator instances in the trace"`
	Offset    int64         `json:"clock_offset_ns" doc:"largest offset of a rank's clock before clocks were aligned"`
	Recorded  float64       `json:"recorded_step_ns" doc:"step time as recorded"`
	NoDelay   float64       `json:"no_delay_step_ns" doc:"step time replayed without launch delays"`
	Ideal     float64       `json:"ideal_step_ns" doc:"step time replayed with every operator as long as is usual for its kind"`
	Slowdown  float64       `json:"slowdown" doc:"S: no_delay_step_ns ÷ ideal_step_ns"`
	ByOp      []opShareJSON `json:"by_op" doc:"what each kind of operator costs alone, costliest first"`
	ByStage   []levelJSON   `json:"by_stage" doc:"the pipeline stages, in order"`
	Walks     []walkJSON    `json:"walks" doc:"where walks of blame ended, most symptoms first"`
	WalkedOps int           `json:"walked_symptoms" doc:"late operators that were walked back from"`
	Notes     []string      `json:"notes" doc:"what is incomplete"`
}

type workerJSON struct {
	Rank    int      `json:"rank" doc:"global rank"`
	Role    string   `json:"role" doc:"place in the layout"`
	Factor  *float64 `json:"factor" doc:"its forward and backward compute over the median of its peers', median over the steps; null where the stages do not correspond"`
	P       *float64 `json:"p" doc:"one-sided chance of such a factor among healthy workers, uncorrected; 1 where it cannot be tested"`
	KS      *float64 `json:"ks_mean" doc:"S: mean K-S distance to its peers; null without a peer"`
	Q       *float64 `json:"ks_q" doc:"smallest false-discovery rate at which its completion times are found to depart; null: undecided"`
	Flagged bool     `json:"ks_flagged" doc:"its completion times are found to depart"`
	Alone   float64  `json:"slowdown_alone" doc:"slowdown of a step with its operators as recorded and all others ideal"`
}

type levelJSON struct {
	Stage    int      `json:"stage" doc:"pipeline stage"`
	Time     *float64 `json:"compute_ns" doc:"forward and backward compute of a step, median over its workers"`
	Factor   *float64 `json:"factor" doc:"compute_ns over the median of the other stages"`
	Slowdown float64  `json:"slowdown_alone" doc:"slowdown of a step with its operators as recorded and all others ideal"`
}

type opShareJSON struct {
	Op       string  `json:"op" doc:"name"`
	Slowdown float64 `json:"slowdown_alone" doc:"slowdown of a step with these operators as recorded and all others ideal"`
}

type walkJSON struct {
	Kind     string           `json:"kind" doc:"op: it took long; edge: it started late behind what was on time; source: late, and waits for nothing; missing_pred, clock_inconsistent: cannot be followed"`
	Rank     int              `json:"rank" doc:"rank at which the walks end"`
	Op       string           `json:"op" doc:"operator at which they end"`
	Seqs     []int            `json:"seqs" doc:"numbers of its instances in the step"`
	Symptoms int              `json:"symptoms" doc:"late operators whose walks end there"`
	Steps    int              `json:"steps" doc:"steps with such a walk"`
	Delay    int64            `json:"delay_ns" doc:"summed over what walks ended at: of op by how much it was longer than its peers', of source by how much it started later, of edge the time from the end of what was before to its start"`
	Victims  []int            `json:"victims" doc:"ranks that the walks began on, but for its own"`
	Path     []operators.Stop `json:"path" doc:"one walk, from a symptom to the end"`
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
