package whatif

// Result is what a trace's steps cost and why. All times are nanoseconds, all
// slices by step are in the order of Steps.
type Result struct {
	Steps []int64 // step indices

	Recorded StepTimes // as recorded
	NoDelay  StepTimes // without launch delays
	Ideal    StepTimes // with all durations ideal
	Slowdown Ratio     // S, of NoDelay to Ideal
	Launch   Ratio     // of Recorded to NoDelay
	// Misfit shows how far the graph is from what ran.
	Misfit float64 // largest relative error of a recorded step time when everything is replayed as recorded

	ByOp, ByDP, ByStage []Part // S_X, largest first
	// Launch delays given back to what NoDelay has without them, largest
	// first; nil when Launch is below the threshold. Kinds call the first
	// operators of a step FirstOp.
	LaunchByOp, LaunchByDP, LaunchByStage []Part

	Workers    []Worker // all workers, by stage, then by replica
	LastStage  Effect   // what the last pipeline stage costs; M_S is its Share
	TopWorkers Effect   // what the worst 3 % of the workers cost; M_W is their Share
	TopRanks   []int    // their ranks, worst first
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
	Overall float64   // step time with this part as recorded and all else ideal, over that with all ideal
	PerStep []float64 // the same per step
}

// Part is the slowdown that one part of the job causes alone.
type Part struct {
	Name  string // of a kind of operator, else ""
	Index int    // of a stage or replica
	Ratio        // to the ideal; of launch delays, to NoDelay
}

// Worker is one place of the job, alone.
type Worker struct {
	Rank  int // global rank
	DP    int // its replica
	Stage int // its pipeline stage
	// Ratio is the slowdown with this worker's operators as recorded and all
	// others ideal, which the score stands for.
	Ratio
	Score float64 // the study's estimate of it: the smaller of the slowdowns of its replica and stage
}

// Effect is what a set of operators does to the step time, from both sides.
// Means over the steps, in nanoseconds.
type Effect struct {
	Removed float64 // mean step time with the selection made ideal and all else as recorded
	Added   float64 // mean step time with the selection as recorded and all else ideal
	Now     float64 // mean step time with all as recorded, without launch delays
	Ideal   float64 // mean step time with all ideal
	Saved   float64 // Now − Removed

	// Share is Saved / (Now − Ideal): of the time lost to uneven work, the share
	// that fixing the set would save. AddedShare is (Added − Ideal) / (Now − Ideal).
	// Both are 0 unless HasShare: without excess there is nothing to share.
	Share      float64 // Saved as a part of Now − Ideal
	AddedShare float64 // Added − Ideal as a part of it
	HasShare   bool

	RemovedPerStep []int64 // Removed step by step
	AddedPerStep   []int64 // Added step by step
}
