package evidence

// The evidence that operator traces give. Times are nanoseconds, ranks global
// ids, stages pipeline stages as roles call them.

// StepReplay is what a step would take in the replay without what a finding is
// about.
type StepReplay struct {
	Without Without `json:"without"`
	Op      string  `json:"op,omitempty"`
	Step    int64   `json:"step_ns"`     // as it is
	Saved   int64   `json:"saved_ns"`    // without this alone
	Share   float64 `json:"share"`       // part of the step that this explains
	Masked  bool    `json:"masked"`      // others hold the step up too, so that it saves much less alone
	Joint   int64   `json:"joint_ns"`    // saved without all findings together
	Record  int64   `json:"recorded_ns"` // as recorded, late starts and all
}

// Without is what a replay leaves out.
type Without string

const (
	WithoutFault       Without = "fault"       // the operators cost what those of their peers do
	WithoutLateStart   Without = "late_start"  // they start when those of their peers do
	WithoutIdle        Without = "idle"        // operators start when they are ready
	WithoutUnevenness  Without = "unevenness"  // passes of a stage are as long as their mean
	WithoutFluctuation Without = "fluctuation" // operators are as long as the median of the replicas'
)

// BelowGate is a finding that is smaller than what is reported.
type BelowGate struct {
	Share float64 `json:"share"`
	Gate  float64 `json:"gate"`
}

// OperatorTimes are the operators in which a worker is slow, the costliest
// first; empty where it is slow in some steps only.
type OperatorTimes struct {
	In []OpTime `json:"in"`
}

// OpTime is what operators take over the trace.
type OpTime struct {
	Op    string `json:"op"`
	Seq   *int   `json:"seq,omitempty"` // one instance of the step; nil: all
	Own   int64  `json:"own_ns"`
	Peers int64  `json:"peers_ns"` // their median; both 0: the operator has no place in the replay
}

// SlowPasses compares the passes of a worker with its peers' (engine/microbatch).
type SlowPasses struct {
	Factor  float64 `json:"factor"`
	Peers   int     `json:"peers"`
	Between float64 `json:"between"` // by which workers of the job differ
	P       float64 `json:"p"`
}

// PooledOutliers counts the sure outliers of a rank (engine/zscore).
type PooledOutliers struct {
	Whole int     `json:"whole"` // operators that are long over the whole window
	Steps int     `json:"steps"` // instances that are long in single steps
	Alpha float64 `json:"alpha"` // family-wise error
}

// CompletionTimes is a rank whose completion-time distribution departs from its
// peers' (engine/ks).
type CompletionTimes struct {
	S      float64 `json:"s"`
	Q      float64 `json:"q"`
	Later  int64   `json:"later_ns"`         // on average; less than 0 is earlier
	Others []int   `json:"others,omitempty"` // ranks of which the same is true
}

// BlameWalks counts the walks back from late operators that end at a rank
// (engine/blame): in a long operator, or behind a late start.
type BlameWalks struct {
	End      int    `json:"end"`
	Symptoms int    `json:"symptoms"`
	Op       string `json:"op"`
	Gap      bool   `json:"gap"` // behind operators that were on time
	Victims  []int  `json:"victims,omitempty"`
}

// FrontierCharge is the exposed time that the frontier over a rank's peers
// charges it with.
type FrontierCharge struct {
	Peers string  `json:"peers"` // the pipeline stage whose replicas were compared
	Share float64 `json:"share"`
	Stage string  `json:"stage"` // with most of it
}

// TransferOutliers are the sure outliers of transfers between two ranks.
type TransferOutliers struct {
	Op    string `json:"op"`
	From  int    `json:"from"`
	To    int    `json:"to"`
	Whole int    `json:"whole"`
	Steps int    `json:"steps"`
	Worst int64  `json:"worst_ns"`
}

// SlowTransfers are transfers between two ranks that take much longer than in
// the only other replica, which allows no test.
type SlowTransfers struct {
	Op     string  `json:"op"`
	From   int     `json:"from"`
	To     int     `json:"to"`
	Factor float64 `json:"factor"` // at least, in those steps
}

// StageFactor compares the communication of a stage, waiting left out, with
// that of the other stages, in all replicas: transfers to another stage, or
// collectives over the replicas.
type StageFactor struct {
	Op     string  `json:"op"`
	Stage  string  `json:"stage"`
	To     string  `json:"to,omitempty"` // of a transfer
	Factor float64 `json:"factor"`
}

// LaunchDelay is by how much operators start later behind what they wait for
// than those of the peers.
type LaunchDelay struct {
	Rank  int    `json:"rank"`
	Op    string `json:"op"`
	Delay int64  `json:"delay_ns"` // a step
}

// LateStarts: the outlier test finds operators of the rank to start late.
type LateStarts struct{}

// HeavyPasses compares the passes of a pipeline stage with the other stages'.
type HeavyPasses struct {
	Stage   int      `json:"stage"`
	Stages  int      `json:"stages"`
	Factor  float64  `json:"factor"`
	Between *float64 `json:"between"` // by which workers of the job differ; nil: not tested
	P       *float64 `json:"p"`
}

// EvenDivision is the step in the replay with the same work divided evenly over
// the pipeline stages.
type EvenDivision struct {
	Step int64 `json:"step_ns"`
	Now  int64 `json:"now_ns"`
}

// RotatingOutliers are the ranks on which an operator is long in some step.
type RotatingOutliers struct {
	Ranks []int `json:"ranks"`
}

// MicrobatchCorrelation says how the passes of a microbatch go together. Ps are
// of permutation tests.
type MicrobatchCorrelation struct {
	Spread      float64  `json:"spread"`
	Directions  *float64 `json:"directions"` // forward and backward
	PDirections float64  `json:"p_directions"`
	Stages      *float64 `json:"stages"` // neighbouring pipeline stages
	PStages     float64  `json:"p_stages"`
}

// BesideWorkers: unevenness was priced with so many slow workers fixed.
type BesideWorkers struct {
	Fixed   int `json:"fixed"`
	Workers int `json:"workers"`
}

// OperatorsAgree: an operator trace of the run finds a rank slow that its windows
// find late.
type OperatorsAgree struct {
	Rank       int        `json:"rank"`
	Op         string     `json:"op,omitempty"` // most of it; "": several
	Excess     int64      `json:"excess_ns"`    // a step
	Step       int64      `json:"step_ns"`
	Steps      int        `json:"steps"` // of the trace
	Confidence Confidence `json:"confidence"`
	Raised     bool       `json:"raised"` // from less by the windows alone
}

// OperatorsNormal: an operator trace of the run finds nothing of what its windows
// show: no worker, stage or operator stands out in it.
type OperatorsNormal struct {
	N     int   `json:"n"` // operators
	Ranks int   `json:"ranks"`
	Steps int   `json:"steps"`
	First int64 `json:"first"`
	Last  int64 `json:"last"`
}

func (StepReplay) Kind() Kind            { return "step_replay" }
func (BelowGate) Kind() Kind             { return "below_gate" }
func (OperatorTimes) Kind() Kind         { return "operator_times" }
func (SlowPasses) Kind() Kind            { return "slow_passes" }
func (PooledOutliers) Kind() Kind        { return "pooled_outliers" }
func (CompletionTimes) Kind() Kind       { return "completion_times" }
func (BlameWalks) Kind() Kind            { return "blame_walks" }
func (FrontierCharge) Kind() Kind        { return "frontier_charge" }
func (TransferOutliers) Kind() Kind      { return "transfer_outliers" }
func (SlowTransfers) Kind() Kind         { return "slow_transfers" }
func (StageFactor) Kind() Kind           { return "stage_factor" }
func (LaunchDelay) Kind() Kind           { return "launch_delay" }
func (LateStarts) Kind() Kind            { return "late_starts" }
func (HeavyPasses) Kind() Kind           { return "heavy_passes" }
func (EvenDivision) Kind() Kind          { return "even_division" }
func (RotatingOutliers) Kind() Kind      { return "rotating_outliers" }
func (MicrobatchCorrelation) Kind() Kind { return "microbatch_correlation" }
func (BesideWorkers) Kind() Kind         { return "beside_workers" }
func (OperatorsAgree) Kind() Kind        { return "operators_agree" }
func (OperatorsNormal) Kind() Kind       { return "operators_normal" }

// Why a finding of an operator trace is not more certain.
const (
	FewReplicas          Reason = "few_replicas"
	Untested             Reason = "untested"
	FewWorkers           Reason = "few_workers"
	SmallerPart          Reason = "smaller_part"
	Unconfirmed          Reason = "unconfirmed"
	TransfersUnconfirmed Reason = "transfers_unconfirmed"
	SizesUnknown         Reason = "sizes_unknown"
	LaunchUnconfirmed    Reason = "launch_unconfirmed"
	WaitUnknown          Reason = "wait_unknown"
	IdleUnknown          Reason = "idle_unknown"
	HeavyOrSlowRanks     Reason = "heavy_or_slow_ranks"
	DifferentPasses      Reason = "different_passes"
	HeavyUnproven        Reason = "heavy_unproven"
	OneStage             Reason = "one_stage"
	WeakCorrelation      Reason = "weak_correlation"
	LooksLikeNoise       Reason = "looks_like_noise"
	RotatingUnconfirmed  Reason = "rotating_unconfirmed"
	FewSteps             Reason = "few_steps"
	EnginesDisagree      Reason = "engines_disagree"     // N: the rank that they find instead
	OperatorsDisagree    Reason = "operators_disagree"   // N: the rank that the operator trace finds instead
	StageTimesDisagree   Reason = "stage_times_disagree" // they find nobody there, or another
)
