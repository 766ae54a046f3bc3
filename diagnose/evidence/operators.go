package evidence

// The evidence that operator traces give. Times are nanoseconds, ranks global
// ids, stages pipeline stages as roles call them.

// StepReplay is what a step would take in the replay without what a finding is
// about.
type StepReplay struct {
	Without Without `json:"without" doc:"what the replay leaves out"`
	Op      string  `json:"op,omitempty" doc:"the operator that it is about"`
	Step    int64   `json:"step_ns" doc:"length of a step as it is"`
	Saved   int64   `json:"saved_ns" doc:"time saved without this alone"`
	Share   float64 `json:"share" doc:"part of the step that this explains"`
	Masked  bool    `json:"masked" doc:"others hold the step up too, so that it saves much less alone"`
	Joint   int64   `json:"joint_ns" doc:"time saved without all findings together"`
	Record  int64   `json:"recorded_ns" doc:"length of a step as recorded, late starts and all"`
}

// Without is what a replay leaves out.
type Without string

const (
	WithoutFault      Without = "fault"      // the operators cost what those of their peers do
	WithoutLateStart  Without = "late_start" // they start when those of their peers do
	WithoutUnevenness Without = "unevenness" // passes of a stage are as long as their mean
)

// OperatorTimes are the operators in which a worker is slow, the costliest
// first.
type OperatorTimes struct {
	In []OpTime `json:"in" doc:"the operators"`
	P  float64  `json:"p" doc:"chance of it if all replicas of the stage were alike"`
}

// OpTime is what operators take over the trace.
type OpTime struct {
	Op    string `json:"op" doc:"the operator"`
	Seq   *int   `json:"seq,omitempty" doc:"which instance of the step; absent: all of them"`
	Own   int64  `json:"own_ns" doc:"time on the worker"`
	Peers int64  `json:"peers_ns" doc:"time on its peers, median; both 0: the operator has no place in the replay"`
}

// PassTimes compares forward and backward compute: of a worker with its peers, step by
// step, or of a pipeline stage with the other stages (engine/microbatch).
type PassTimes struct {
	Factor  float64  `json:"factor" doc:"own time over the median of the peers"`
	Peers   int      `json:"peers" doc:"workers, or stages, that were compared"`
	Stage   *int     `json:"pipeline_stage,omitempty" doc:"the pipeline stage; absent: a worker"`
	Between *float64 `json:"between" doc:"of a stage: how much workers of the job differ, as a fraction; null: not known"`
	P       *float64 `json:"p" doc:"chance of it if all were alike; null: not tested"`
	Step    int64    `json:"step_ns,omitempty" doc:"of a stage: length of a step in the replay"`
	Even    int64    `json:"even_step_ns,omitempty" doc:"of a stage: the same with the work divided evenly over the stages"`
}

// Outliers counts operators that are significantly longer on a worker than on the peers
// (engine/zscore).
type Outliers struct {
	Whole int     `json:"whole" doc:"operators that are long over the whole window"`
	Steps int     `json:"steps" doc:"instances that are long in single steps"`
	Alpha float64 `json:"alpha,omitempty" doc:"family-wise error"`
}

// CompletionTimes is a rank whose completion-time distribution departs from its
// peers' (engine/ks).
type CompletionTimes struct {
	S       float64 `json:"s" doc:"score S"`
	Q       float64 `json:"q" doc:"q-value"`
	Later   int64   `json:"later_ns" doc:"how much later it completes on average; negative: earlier"`
	Others  []int   `json:"others,omitempty" doc:"ranks of which the same is true"`
	Workers bool    `json:"workers,omitempty" doc:"ranks are workers, which stand for several each"`
}

// BlameWalks counts the walks back from late operators that end at a rank
// (engine/blame): in a long operator, or behind a late start.
type BlameWalks struct {
	End      int    `json:"end" doc:"walks that end there"`
	Symptoms int    `json:"symptoms" doc:"late operators, each the begin of a walk"`
	Op       string `json:"op" doc:"operator in which they end"`
	Gap      bool   `json:"gap" doc:"they end behind operators that were on time"`
	Victims  []int  `json:"victims,omitempty" doc:"ranks at which the walks begin"`
	Workers  bool   `json:"workers,omitempty" doc:"ranks are workers, which stand for several each"`
}

// TransferTimes compares transfers, or the collectives over the replicas of a stage,
// waiting left out: between two ranks with the only other replica, or of a stage with
// the other stages.
type TransferTimes struct {
	Op      string  `json:"op" doc:"the operation"`
	Between []int   `json:"between,omitempty" doc:"sender and receiver, compared with the only other replica"`
	Stage   string  `json:"stage,omitempty" doc:"stage whose communication is compared with the other stages'"`
	To      string  `json:"to,omitempty" doc:"stage at the other end of a transfer"`
	Factor  float64 `json:"factor" doc:"how many times as long it takes"`
	P       float64 `json:"p,omitempty" doc:"of two ranks: chance of it if all replicas were alike"`
	Workers bool    `json:"workers,omitempty" doc:"ranks are workers, which stand for several each"`
}

// LaunchDelay is by how much operators start later behind what they wait for
// than those of the peers.
type LaunchDelay struct {
	Rank    int    `json:"rank" doc:"the rank"`
	Op      string `json:"op" doc:"the operator"`
	Delay   int64  `json:"delay_ns" doc:"how much later it starts, a step"`
	Outlier bool   `json:"outlier" doc:"the outlier test finds that its start is late"`
	Workers bool   `json:"workers,omitempty" doc:"ranks are workers, which stand for several each"`
}

// MicrobatchCorrelation is how the passes of a microbatch vary together. Ps are
// of permutation tests.
type MicrobatchCorrelation struct {
	Spread      float64  `json:"spread" doc:"how much forward and backward compute varies"`
	Directions  *float64 `json:"directions" doc:"correlation of forward and backward of a microbatch; null: not known"`
	PDirections float64  `json:"p_directions" doc:"its p-value"`
	Stages      *float64 `json:"stages" doc:"correlation of a microbatch on neighbouring pipeline stages; null: not known"`
	PStages     float64  `json:"p_stages" doc:"its p-value"`
}

func (StepReplay) Kind() Kind            { return "step_replay" }
func (OperatorTimes) Kind() Kind         { return "operator_times" }
func (PassTimes) Kind() Kind             { return "pass_times" }
func (Outliers) Kind() Kind              { return "outliers" }
func (CompletionTimes) Kind() Kind       { return "completion_times" }
func (BlameWalks) Kind() Kind            { return "blame_walks" }
func (TransferTimes) Kind() Kind         { return "transfer_times" }
func (LaunchDelay) Kind() Kind           { return "launch_delay" }
func (MicrobatchCorrelation) Kind() Kind { return "microbatch_correlation" }
