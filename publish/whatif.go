package publish

import (
	"cmp"

	"github.com/sfstat/sfstat/diagnose/operators"
	"github.com/sfstat/sfstat/engine/whatif"
)

// Whatif is what uneven work costs the steps of a trace: sfstat whatif. Names follow the result files that were
// published with the study.
type Whatif struct {
	Trace
	Ideal         Name[whatif.Ideal] `json:"ideal" doc:"what ideal durations are taken over: all stages, or the peers in the operator's own"`
	Recorded      *float64           `json:"t_base_ns" doc:"mean step time as recorded"`
	NoDelay       *float64           `json:"t_nodelay_ns" doc:"mean step time without launch delays"`
	NoBlock       *float64           `json:"t_noblk_ns" doc:"mean step time without launch delays and with all durations ideal"`
	Blocking      *float64           `json:"blocking_slowdown" doc:"S: t_nodelay_ns ÷ t_noblk_ns, up to operators that outlast the optimizer"`
	Launch        *float64           `json:"launch_slowdown" doc:"t_base_ns ÷ t_nodelay_ns"`
	Misfit        *float64           `json:"misfit" doc:"largest relative error of a recorded step time when everything is replayed as recorded"`
	PerStep       []ReplayedStep     `json:"steps" doc:"the same for each step"`
	ByDP          *[]Part            `json:"blocking_decompose_by_dp_rank" doc:"S_X of each replica, largest first"`
	ByStage       *[]Part            `json:"blocking_decompose_by_stage" doc:"S_X of each pipeline stage, largest first"`
	ByOp          *[]Part            `json:"blocking_decompose_by_optype" doc:"S_X of each kind of operator, largest first"`
	LaunchByDP    *[]Part            `json:"launch_decompose_by_dp_rank" doc:"what the launch delays of each replica cause, largest first; null where launch_slowdown is too small to divide"`
	LaunchByStage *[]Part            `json:"launch_decompose_by_stage" doc:"the same by pipeline stage"`
	LaunchByOp    *[]Part            `json:"launch_decompose_by_optype" doc:"the same by kind of operator"`
	Workers       []WhatifWorker     `json:"workers" doc:"all workers, by stage, then by replica"`
	LastStage     Effect             `json:"m_s" doc:"what the last pipeline stage costs; M_S is its rem"`
	TopWorkers    Effect             `json:"m_w" doc:"what the worst 3 % of the workers cost; M_W is their rem"`
	TopRanks      []int              `json:"m_w_ranks" doc:"their ranks, worst first"`
	Fixes         []Fix              `json:"fixes" doc:"what --fix asked for; without it the suspected parts, the largest saving first"`
}

// ReplayedStep is a step as recorded and as replayed.
type ReplayedStep struct {
	Step     int64    `json:"step" doc:"index of the step"`
	Recorded int64    `json:"t_base_ns" doc:"step time as recorded"`
	NoDelay  int64    `json:"t_nodelay_ns" doc:"step time without launch delays"`
	NoBlock  int64    `json:"t_noblk_ns" doc:"step time without launch delays and with all durations ideal"`
	Blocking *float64 `json:"blocking_slowdown" doc:"S of the step"`
	Launch   *float64 `json:"launch_slowdown" doc:"slowdown of the step by launch delays"`
}

// Part is a part of the job: a replica, a stage or a kind of operator.
type Part struct {
	DP    *int   `json:"dp_rank,omitempty" doc:"replica"`
	Stage *int   `json:"stage,omitempty" doc:"pipeline stage"`
	Op    string `json:"optype,omitempty" doc:"kind of operator"`
	Ratio
}

// Ratio is a slowdown.
type Ratio struct {
	Overall *float64   `json:"slowdown" doc:"step time with this part as recorded and all else ideal, over that with all ideal"`
	PerStep []*float64 `json:"slowdown_per_step" doc:"the same per step"`
}

// WhatifWorker is a worker and its slowdown.
type WhatifWorker struct {
	Worker
	Ratio
	Score *float64 `json:"score" doc:"the study's estimate of it: the smaller of the slowdowns of its replica and stage"`
}

// Effect is what fixing a selection of operators does.
type Effect struct {
	Removed        *float64 `json:"trem_ns" doc:"mean step time with the selection made ideal and all else as recorded"`
	Added          *float64 `json:"tadd_ns" doc:"mean step time with the selection as recorded and all else ideal"`
	Now            *float64 `json:"tori_ns" doc:"mean step time with all as recorded, without launch delays"`
	Ideal          *float64 `json:"tideal_ns" doc:"mean step time with all ideal"`
	Saved          *float64 `json:"saved_ns" doc:"tori_ns − trem_ns"`
	Share          *float64 `json:"rem" doc:"saved_ns as a part of tori_ns − tideal_ns; null: the two are equal"`
	AddedShare     *float64 `json:"add" doc:"tadd_ns − tideal_ns as a part of it; null likewise"`
	RemovedPerStep []int64  `json:"trem_per_step_ns" doc:"trem_ns step by step"`
	AddedPerStep   []int64  `json:"tadd_per_step_ns" doc:"tadd_ns step by step"`
}

// Fix is what fixing a selection does.
type Fix struct {
	Selection string `json:"selection" doc:"what is fixed, as --fix takes it"`
	Effect
}

// FixOf returns what fixing a selection does.
func FixOf(selection string, e *whatif.Effect) Fix { return Fix{selection, effectOf(e)} }

// WhatifOf returns what uneven work costs the steps of a trace.
func WhatifOf(v *operators.View, r *whatif.Result, ideal whatif.Ideal, fixes []Fix) Whatif {
	out := Whatif{Trace: TraceOf(v), Ideal: nameOf(ideal), Recorded: number(r.Recorded.Mean), NoDelay: number(r.NoDelay.Mean), NoBlock: number(r.Ideal.Mean),
		Blocking: number(r.Slowdown.Overall), Launch: number(r.Launch.Overall), Misfit: number(r.Misfit), PerStep: []ReplayedStep{},
		ByDP: partsOf(r.ByDP, replicaOf), ByStage: partsOf(r.ByStage, pipelineStageOf), ByOp: partsOf(r.ByOp, kindOf),
		LaunchByDP: partsOf(r.LaunchByDP, replicaOf), LaunchByStage: partsOf(r.LaunchByStage, pipelineStageOf), LaunchByOp: partsOf(r.LaunchByOp, kindOf),
		Workers: convert(r.Workers, func(w whatif.Worker) WhatifWorker {
			return WhatifWorker{Worker{w.Rank, w.DP, w.Stage}, ratioOf(w.Ratio), number(w.Score)}
		}),
		LastStage: effectOf(&r.LastStage), TopWorkers: effectOf(&r.TopWorkers), TopRanks: list(r.TopRanks), Fixes: list(fixes)}
	for i, step := range r.Steps {
		out.PerStep = append(out.PerStep, ReplayedStep{step, r.Recorded.PerStep[i], r.NoDelay.PerStep[i], r.Ideal.PerStep[i],
			number(r.Slowdown.PerStep[i]), number(r.Launch.PerStep[i])})
	}
	return out
}

func replicaOf(p whatif.Part) Part       { return Part{DP: &p.Index, Ratio: ratioOf(p.Ratio)} }
func pipelineStageOf(p whatif.Part) Part { return Part{Stage: &p.Index, Ratio: ratioOf(p.Ratio)} }
func kindOf(p whatif.Part) Part          { return Part{Op: p.Name, Ratio: ratioOf(p.Ratio)} }

// partsOf returns parts of one sort, nil without any.
func partsOf(parts []whatif.Part, of func(whatif.Part) Part) *[]Part {
	if len(parts) == 0 {
		return nil
	}
	out := convert(parts, of)
	return &out
}

func ratioOf(r whatif.Ratio) Ratio { return Ratio{number(r.Overall), convert(r.PerStep, number)} }

func effectOf(e *whatif.Effect) Effect {
	out := Effect{Removed: number(e.Removed), Added: number(e.Added), Now: number(e.Now), Ideal: number(e.Ideal), Saved: number(e.Saved),
		RemovedPerStep: list(e.RemovedPerStep), AddedPerStep: list(e.AddedPerStep)}
	if e.HasShare {
		out.Share, out.AddedShare = number(e.Share), number(e.AddedShare)
	}
	return out
}

// figure is a row of CSV; what does not apply is empty.
type figure struct {
	Run      string   `json:"run"`
	Figure   string   `json:"figure"`
	Name     string   `json:"name"`
	Index    *int     `json:"index"`
	Rank     *int     `json:"rank"`
	DP       *int     `json:"dp"`
	PP       *int     `json:"pp"`
	Slowdown *float64 `json:"slowdown"`
	Time     *float64 `json:"t_ns"`
	Removed  *float64 `json:"trem_ns"`
	Added    *float64 `json:"tadd_ns"`
	Saved    *float64 `json:"saved_ns"`
	Share    *float64 `json:"rem"`
	AddShare *float64 `json:"add"`
}

// WhatifRows returns a row for each figure.
func WhatifRows(traces []Whatif) *Rows {
	var rows []figure
	for i := range traces {
		rows = append(rows, traces[i].figures()...)
	}
	return rowsOf(rows)
}

func (w *Whatif) figures() []figure {
	rows := []figure{{Figure: "t_base", Time: w.Recorded}, {Figure: "t_nodelay", Time: w.NoDelay}, {Figure: "t_noblk", Time: w.NoBlock},
		{Figure: "blocking_slowdown", Slowdown: w.Blocking}, {Figure: "launch_slowdown", Slowdown: w.Launch}}
	for _, of := range []struct {
		figure string
		parts  *[]Part
	}{
		{"optype", w.ByOp}, {"stage", w.ByStage}, {"dp_rank", w.ByDP},
		{"launch_optype", w.LaunchByOp}, {"launch_stage", w.LaunchByStage}, {"launch_dp_rank", w.LaunchByDP},
	} {
		if of.parts == nil {
			continue
		}
		for _, p := range *of.parts {
			rows = append(rows, figure{Figure: of.figure, Name: p.Op, Index: cmp.Or(p.DP, p.Stage), Slowdown: p.Overall})
		}
	}
	for i := range w.Workers {
		k := &w.Workers[i]
		rows = append(rows, figure{Figure: "worker", Rank: &k.Rank, DP: &k.DP, PP: &k.PP, Slowdown: k.Overall})
	}
	effect := func(name, selection string, e *Effect) {
		rows = append(rows, figure{Figure: name, Name: selection, Removed: e.Removed, Added: e.Added, Saved: e.Saved, Share: e.Share, AddShare: e.AddedShare})
	}
	effect("m_s", "", &w.LastStage)
	effect("m_w", "", &w.TopWorkers)
	for i := range w.Fixes {
		effect("fix", w.Fixes[i].Selection, &w.Fixes[i].Effect)
	}
	for i := range rows {
		rows[i].Run = w.Run
	}
	return rows
}
