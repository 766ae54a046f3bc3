package report

import "github.com/sfstat/sfstat/engine/whatif"

// The JSON of a replay. Names follow the result files that were published with
// the study; times are nanoseconds.

type whatifJSON struct {
	traceJSON
	Ideal    string  `json:"ideal"`
	Base     float64 `json:"t_base_ns"`
	NoDelay  float64 `json:"t_nodelay_ns"`
	NoBlock  float64 `json:"t_noblk_ns"`
	Blocking float64 `json:"blocking_slowdown"`
	Launch   float64 `json:"launch_slowdown"`
	Misfit   float64 `json:"misfit"`

	PerStep []replayedStepJSON `json:"steps"`

	ByDP          []dpPartJSON    `json:"blocking_decompose_by_dp_rank" null:"zero"`
	ByStage       []stagePartJSON `json:"blocking_decompose_by_stage" null:"zero"`
	ByOp          []opPartJSON    `json:"blocking_decompose_by_optype" null:"zero"`
	LaunchByDP    []dpPartJSON    `json:"launch_decompose_by_dp_rank" null:"zero"`
	LaunchByStage []stagePartJSON `json:"launch_decompose_by_stage" null:"zero"`
	LaunchByOp    []opPartJSON    `json:"launch_decompose_by_optype" null:"zero"`

	Workers []heatJSON `json:"workers"`

	LastStage  *effectJSON `json:"m_s"`
	TopWorkers *effectJSON `json:"m_w"`
	TopRanks   []int       `json:"m_w_ranks"`
	Fixes      []fixJSON   `json:"fixes"`
}

type replayedStepJSON struct {
	Step     int64   `json:"step"`
	Base     int64   `json:"t_base_ns"`
	NoDelay  int64   `json:"t_nodelay_ns"`
	NoBlock  int64   `json:"t_noblk_ns"`
	Blocking float64 `json:"blocking_slowdown"`
	Launch   float64 `json:"launch_slowdown"`
}

type ratioJSON struct {
	Slowdown float64   `json:"slowdown"`
	PerStep  []float64 `json:"slowdown_per_step"`
}

type dpPartJSON struct {
	DP int `json:"dp_rank"`
	ratioJSON
}

type stagePartJSON struct {
	Stage int `json:"stage"`
	ratioJSON
}

type opPartJSON struct {
	Op string `json:"optype"`
	ratioJSON
}

type heatJSON struct {
	placeJSON
	ratioJSON
	Score float64 `json:"score"`
}

type effectJSON struct {
	Removed        float64  `json:"trem_ns"`
	Added          float64  `json:"tadd_ns"`
	Now            float64  `json:"tori_ns"`
	Ideal          float64  `json:"tideal_ns"`
	Saved          float64  `json:"saved_ns"`
	Share          *float64 `json:"rem"`
	AddedShare     *float64 `json:"add"`
	RemovedPerStep []int64  `json:"trem_per_step_ns"`
	AddedPerStep   []int64  `json:"tadd_per_step_ns"`
}

type fixJSON struct {
	Selection string `json:"selection"`
	*effectJSON
}

var idealNames = [...]string{whatif.IdealOverAll: "all", whatif.IdealOverPeers: "peers"}

func (x WhatIf) wire() whatifJSON {
	out := whatifJSON{traceJSON: x.Traced.wire(), Ideal: idealNames[x.Ideal], Base: x.Recorded.Mean, NoDelay: x.NoDelay.Mean,
		NoBlock: x.Result.Ideal.Mean, Blocking: x.Slowdown.Overall, Launch: x.Launch.Overall, Misfit: x.Misfit,
		LastStage: effectFrom(x.LastStage), TopWorkers: effectFrom(x.TopWorkers), TopRanks: x.TopRanks, Fixes: []fixJSON{}}
	for i, step := range x.Result.Steps {
		out.PerStep = append(out.PerStep, replayedStepJSON{step, x.Recorded.PerStep[i], x.NoDelay.PerStep[i], x.Result.Ideal.PerStep[i],
			x.Slowdown.PerStep[i], x.Launch.PerStep[i]})
	}
	dp := func(p whatif.Part) dpPartJSON { return dpPartJSON{p.Index, ratioFrom(p.Ratio)} }
	stage := func(p whatif.Part) stagePartJSON { return stagePartJSON{p.Index, ratioFrom(p.Ratio)} }
	op := func(p whatif.Part) opPartJSON { return opPartJSON{p.Name, ratioFrom(p.Ratio)} }
	out.ByDP, out.LaunchByDP = partsFrom(x.ByDP, dp), partsFrom(x.LaunchByDP, dp)
	out.ByStage, out.LaunchByStage = partsFrom(x.ByStage, stage), partsFrom(x.LaunchByStage, stage)
	out.ByOp, out.LaunchByOp = partsFrom(x.ByOp, op), partsFrom(x.LaunchByOp, op)
	for _, w := range x.Workers {
		out.Workers = append(out.Workers, heatJSON{placeJSON{w.Rank, w.DP, w.Stage}, ratioFrom(w.Alone), w.Score})
	}
	for _, f := range x.fixes() {
		out.Fixes = append(out.Fixes, fixJSON{f.Selection, effectFrom(f.Effect)})
	}
	return out
}

// partsFrom keeps nil, which says that nothing was decomposed.
func partsFrom[T any](parts []whatif.Part, of func(whatif.Part) T) []T {
	if parts == nil {
		return nil
	}
	out := make([]T, len(parts))
	for i, p := range parts {
		out[i] = of(p)
	}
	return out
}

func ratioFrom(r whatif.Ratio) ratioJSON { return ratioJSON{r.Overall, r.PerStep} }

func effectFrom(e whatif.Effect) *effectJSON {
	out := &effectJSON{Removed: e.Removed, Added: e.Added, Now: e.Now, Ideal: e.Ideal, Saved: e.Saved(),
		RemovedPerStep: e.RemovedPerStep, AddedPerStep: e.AddedPerStep}
	if e.HasShare {
		out.Share, out.AddedShare = &e.Share, &e.AddedShare
	}
	return out
}
