package report

import "github.com/sfstat/sfstat/engine/whatif"

// The JSON of a replay. Names follow the result files that were published with
// the study; times are nanoseconds.

type whatifJSON struct {
	traceJSON
	Ideal whatif.Ideal `json:"ideal" doc:"what ideal durations are taken over: all stages, or the peers in the operator's own"`
	*whatif.Result
	PerStep []replayedStepJSON `json:"steps" before:"workers" doc:"the same for each step"`

	ByDP          []partJSON `json:"blocking_decompose_by_dp_rank" before:"workers" null:"zero" doc:"S_X of each replica, largest first"`
	ByStage       []partJSON `json:"blocking_decompose_by_stage" before:"workers" null:"zero" doc:"S_X of each pipeline stage, largest first"`
	ByOp          []partJSON `json:"blocking_decompose_by_optype" before:"workers" null:"zero" doc:"S_X of each kind of operator, largest first"`
	LaunchByDP    []partJSON `json:"launch_decompose_by_dp_rank" before:"workers" null:"zero" doc:"what the launch delays of each replica cause, largest first; null where launch_slowdown is too small to divide"`
	LaunchByStage []partJSON `json:"launch_decompose_by_stage" before:"workers" null:"zero" doc:"the same by pipeline stage"`
	LaunchByOp    []partJSON `json:"launch_decompose_by_optype" before:"workers" null:"zero" doc:"the same by kind of operator"`

	Fixes []Fix `json:"fixes" doc:"what --fix asked for; without it the suspected parts, the largest saving first"`
}

type replayedStepJSON struct {
	Step     int64   `json:"step" doc:"index of the step"`
	Base     int64   `json:"t_base_ns" doc:"step time as recorded"`
	NoDelay  int64   `json:"t_nodelay_ns" doc:"step time without launch delays"`
	NoBlock  int64   `json:"t_noblk_ns" doc:"step time without launch delays and with all durations ideal"`
	Blocking float64 `json:"blocking_slowdown" doc:"S of the step"`
	Launch   float64 `json:"launch_slowdown" doc:"slowdown of the step by launch delays"`
}

// partJSON is a part of the job: a replica, a stage or a kind of operator.
type partJSON struct {
	DP    *int   `json:"dp_rank,omitempty" doc:"replica"`
	Stage *int   `json:"stage,omitempty" doc:"pipeline stage"`
	Op    string `json:"optype,omitempty" doc:"kind of operator"`
	whatif.Ratio
}

func (x WhatIf) wire() whatifJSON {
	out := whatifJSON{traceJSON: x.Traced.wire(), Ideal: x.Ideal, Result: x.Result, Fixes: x.fixes()}
	for i, step := range x.Result.Steps {
		out.PerStep = append(out.PerStep, replayedStepJSON{step, x.Recorded.PerStep[i], x.NoDelay.PerStep[i], x.Result.Ideal.PerStep[i],
			x.Slowdown.PerStep[i], x.Launch.PerStep[i]})
	}
	dp := func(p whatif.Part) partJSON { return partJSON{DP: &p.Index, Ratio: p.Ratio} }
	stage := func(p whatif.Part) partJSON { return partJSON{Stage: &p.Index, Ratio: p.Ratio} }
	op := func(p whatif.Part) partJSON { return partJSON{Op: p.Name, Ratio: p.Ratio} }
	out.ByDP, out.LaunchByDP = each(x.ByDP, dp), each(x.LaunchByDP, dp)
	out.ByStage, out.LaunchByStage = each(x.ByStage, stage), each(x.LaunchByStage, stage)
	out.ByOp, out.LaunchByOp = each(x.ByOp, op), each(x.LaunchByOp, op)
	return out
}
