package whatif

// Result is what a trace's steps cost and why. All times are nanoseconds, all
// slices by step are in the order of Steps.
type Result struct {
	Steps []int64 // step indices

	Recorded StepTimes // as recorded
	NoDelay  StepTimes // without launch delays
	Ideal    StepTimes // with all durations ideal

	Slowdown Ratio // S, of NoDelay to Ideal
	Launch   Ratio // of Recorded to NoDelay
	// Misfit is by how much, at most, a replay with all that was recorded
	// misses a recorded step time, as a share of it: how far the graph is from
	// what ran.
	Misfit float64

	ByOp, ByDP, ByStage []Part // S_X, largest first
	// Launch delays given back to what NoDelay has without them, largest
	// first; nil when Launch is below the threshold. Kinds call the first
	// operators of a step FirstOp.
	LaunchByOp, LaunchByDP, LaunchByStage []Part

	Workers []Worker // by stage, then by dp

	LastStage  Effect // M_S is LastStage.Share
	TopWorkers Effect // M_W is TopWorkers.Share
	TopRanks   []int  // the worst workers, worst first
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
