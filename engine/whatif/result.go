package whatif

// Result is what a trace's steps cost and why. All times are nanoseconds, all
// slices by step are in the order of Steps.
type Result struct {
	Steps []int64 `json:"-"` // step indices

	Recorded StepTimes `json:"-"` // as recorded
	_        struct{}  `as:"t_base_ns" of:"Recorded.Mean" doc:"mean step time as recorded"`
	NoDelay  StepTimes `json:"-"` // without launch delays
	_        struct{}  `as:"t_nodelay_ns" of:"NoDelay.Mean" doc:"mean step time without launch delays"`
	Ideal    StepTimes `json:"-"` // with all durations ideal
	_        struct{}  `as:"t_noblk_ns" of:"Ideal.Mean" doc:"mean step time without launch delays and with all durations ideal"`
	Slowdown Ratio     `json:"-"` // S, of NoDelay to Ideal
	_        struct{}  `as:"blocking_slowdown" of:"Slowdown.Overall" doc:"S: t_nodelay_ns ÷ t_noblk_ns, up to operators that outlast the optimizer"`
	Launch   Ratio     `json:"-"` // of Recorded to NoDelay
	_        struct{}  `as:"launch_slowdown" of:"Launch.Overall" doc:"t_base_ns ÷ t_nodelay_ns"`
	// Misfit shows how far the graph is from what ran.
	Misfit float64 `json:"misfit" doc:"largest relative error of a recorded step time when everything is replayed as recorded"`

	ByOp, ByDP, ByStage []Part `json:"-"` // S_X, largest first
	// Launch delays given back to what NoDelay has without them, largest
	// first; nil when Launch is below the threshold. Kinds call the first
	// operators of a step FirstOp.
	LaunchByOp, LaunchByDP, LaunchByStage []Part `json:"-"`

	Workers    []Worker `json:"workers" doc:"all workers, by stage, then by replica"`
	LastStage  Effect   `json:"m_s" doc:"what the last pipeline stage costs; M_S is its rem"`
	TopWorkers Effect   `json:"m_w" doc:"what the worst 3 % of the workers cost; M_W is their rem"`
	TopRanks   []int    `json:"m_w_ranks" doc:"their ranks, worst first"`
}

// FirstOp is the kind under which launch delays of the first operators of a
// step are listed: time before the step's work begins.
const FirstOp = "first-op"

// StepTimes are the durations of the steps in one timeline.
type StepTimes struct {
	PerStep []int64
	Mean    float64
}

// Ratio is one timeline's step time to another's: of the means, and per step.
type Ratio struct {
	Overall float64   `json:"slowdown" doc:"step time with this part as recorded and all else ideal, over that with all ideal"`
	PerStep []float64 `json:"slowdown_per_step" doc:"the same per step"`
}

// Part is the slowdown that one part of the job causes alone.
type Part struct {
	Name  string // of a kind of operator, else ""
	Index int    // of a stage or replica
	Ratio        // to the ideal; of launch delays, to NoDelay
}

// Worker is one place of the job, alone.
type Worker struct {
	Rank  int `json:"rank" doc:"global rank"`
	DP    int `json:"dp" doc:"its replica"`
	Stage int `json:"pp" doc:"its pipeline stage"`
	// Ratio is the slowdown with this worker's operators as recorded and all
	// others ideal, which the score stands for.
	Ratio
	Score float64 `json:"score" doc:"the study's estimate of it: the smaller of the slowdowns of its replica and stage"`
}

// Effect is what a set of operators does to the step time, from both sides.
// Means over the steps, in nanoseconds.
type Effect struct {
	Removed float64 `json:"trem_ns" doc:"mean step time with the selection made ideal and all else as recorded"`
	Added   float64 `json:"tadd_ns" doc:"mean step time with the selection as recorded and all else ideal"`
	Now     float64 `json:"tori_ns" doc:"mean step time with all as recorded, without launch delays"`
	Ideal   float64 `json:"tideal_ns" doc:"mean step time with all ideal"`
	Saved   float64 `json:"saved_ns" doc:"tori_ns − trem_ns"`

	// Share is Saved / (Now − Ideal): of the time lost to uneven work, the share
	// that fixing the set would save. AddedShare is (Added − Ideal) / (Now − Ideal).
	// Both are 0 unless HasShare: without excess there is nothing to share.
	Share      float64 `json:"rem" null:"without HasShare" doc:"saved_ns as a part of tori_ns − tideal_ns; null: the two are equal"`
	AddedShare float64 `json:"add" null:"without HasShare" doc:"tadd_ns − tideal_ns as a part of it; null likewise"`
	HasShare   bool    `json:"-"`

	RemovedPerStep []int64 `json:"trem_per_step_ns" doc:"trem_ns step by step"`
	AddedPerStep   []int64 `json:"tadd_per_step_ns" doc:"tadd_ns step by step"`
}
