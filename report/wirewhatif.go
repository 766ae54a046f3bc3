package report

import "github.com/sfstat/sfstat/engine/whatif"

// The JSON of a replay. Names follow the result files that were published with
// the study; times are nanoseconds.

type whatifJSON struct {
	traceJSON
	Ideal    whatif.Ideal `json:"ideal"`
	Base     float64      `json:"t_base_ns"`
	NoDelay  float64      `json:"t_nodelay_ns"`
	NoBlock  float64      `json:"t_noblk_ns"`
	Blocking float64      `json:"blocking_slowdown"`
	Launch   float64      `json:"launch_slowdown"`
	Misfit   float64      `json:"misfit"`

	PerStep []replayedStepJSON `json:"steps"`

	ByDP          []partJSON `json:"blocking_decompose_by_dp_rank" null:"zero"`
	ByStage       []partJSON `json:"blocking_decompose_by_stage" null:"zero"`
	ByOp          []partJSON `json:"blocking_decompose_by_optype" null:"zero"`
	LaunchByDP    []partJSON `json:"launch_decompose_by_dp_rank" null:"zero"`
	LaunchByStage []partJSON `json:"launch_decompose_by_stage" null:"zero"`
	LaunchByOp    []partJSON `json:"launch_decompose_by_optype" null:"zero"`

	Workers []whatif.Worker `json:"workers"`

	LastStage  whatif.Effect `json:"m_s"`
	TopWorkers whatif.Effect `json:"m_w"`
	TopRanks   []int         `json:"m_w_ranks"`
	Fixes      []Fix         `json:"fixes"`
}

type replayedStepJSON struct {
	Step     int64   `json:"step"`
	Base     int64   `json:"t_base_ns"`
	NoDelay  int64   `json:"t_nodelay_ns"`
	NoBlock  int64   `json:"t_noblk_ns"`
	Blocking float64 `json:"blocking_slowdown"`
	Launch   float64 `json:"launch_slowdown"`
}

// partJSON is a part of the job: a replica, a stage or a kind of operator.
type partJSON struct {
	DP    *int   `json:"dp_rank,omitempty"`
	Stage *int   `json:"stage,omitempty"`
	Op    string `json:"optype,omitempty"`
	whatif.Ratio
}

func (x WhatIf) wire() whatifJSON {
	out := whatifJSON{traceJSON: x.Traced.wire(), Ideal: x.Ideal, Base: x.Recorded.Mean, NoDelay: x.NoDelay.Mean,
		NoBlock: x.Result.Ideal.Mean, Blocking: x.Slowdown.Overall, Launch: x.Launch.Overall, Misfit: x.Misfit,
		Workers: x.Workers, LastStage: x.LastStage, TopWorkers: x.TopWorkers, TopRanks: x.TopRanks, Fixes: x.fixes()}
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
