package pipeline

import (
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/trace/operator"
)

// Spec is one run: the layout of the job, how long its operators take, with
// which noise and which faults. Start from DefaultSpec and change what matters.
type Spec struct {
	Run    string `yaml:"run,omitempty" json:"run,omitempty"` // default: fault, layout and seed
	Seed   uint64 `yaml:"seed" json:"seed"`
	Layout Layout `yaml:"layout" json:"layout"`
	Steps  Steps  `yaml:"steps" json:"steps"`
	Ops    Ops    `yaml:"ops" json:"ops"`
	// Between is a worker's time between the end of its optimizer and the
	// first operator of the next step: loading data, logging.
	Between Dist `yaml:"between" json:"between"`
	// StageWork multiplies the passes of each stage, by design; empty: 1.
	StageWork []float64 `yaml:"stage_work,omitempty" json:"stage_work,omitempty"`
	// SpeedSD is the relative deviation of the persistent speed of ranks. A
	// worker is as slow as the slowest of its TP ranks.
	SpeedSD float64 `yaml:"speed_sd" json:"speed_sd"`
	Clock   Clock   `yaml:"clock" json:"clock"`
	Faults  []Fault `yaml:"faults,omitempty" json:"faults,omitempty"`
}

// Layout is how the job divides its work.
type Layout struct {
	DP           int `yaml:"dp" json:"dp"`   // replicas
	PP           int `yaml:"pp" json:"pp"`   // pipeline stages
	TP           int `yaml:"tp" json:"tp"`   // ranks of a worker
	Chunks       int `yaml:"vpp" json:"vpp"` // model chunks on a stage; above 1 the schedule is interleaved
	Microbatches int `yaml:"microbatches" json:"microbatches"`
	// Buckets is the number of parts in which a chunk's parameters are gathered
	// and its gradients reduced.
	Buckets int `yaml:"buckets" json:"buckets"`
	// EarlyReduce reduces the gradients of a chunk as soon as its last backward
	// pass is done, and those that cannot be, separately at the end.
	EarlyReduce bool `yaml:"early_reduce" json:"early_reduce"`
}

// Workers returns the number of recorded workers.
func (l Layout) Workers() int { return l.DP * l.PP }

// rank returns the number of a worker: replicas first, as in the public traces.
func (l Layout) rank(dp, pp int) int { return pp*l.DP + dp }

// Steps are the recorded steps: Count of them, from index First, every
// Every-th. Time passes in the steps between, but they are not simulated.
type Steps struct {
	Count int   `yaml:"count" json:"count"`
	First int64 `yaml:"first" json:"first"`
	Every int64 `yaml:"every" json:"every"`
}

// index returns the index of a recorded step, counted from 0.
func (s Steps) index(i int) int64 { return s.First + int64(i)*s.Every }

// Op is how long an operator takes: its duration, or, where it communicates,
// the transfer once all members of its group have started.
type Op struct {
	Dist   `yaml:",inline"`
	Launch Dist `yaml:"launch,omitempty" json:"launch,omitzero"` // from when it could start until it does
}

// Ops are the operators of a step. Passes are those of one chunk for one
// microbatch; collectives over replicas are of one chunk, all buckets
// together; a transfer is that of a send and its receive.
type Ops struct {
	Forward          Op `yaml:"forward-compute" json:"forward-compute"`
	Backward         Op `yaml:"backward-compute" json:"backward-compute"`
	ForwardTransfer  Op `yaml:"forward-transfer" json:"forward-transfer"`
	BackwardTransfer Op `yaml:"backward-transfer" json:"backward-transfer"`
	Gather           Op `yaml:"params-all-gather" json:"params-all-gather"`
	Reduce           Op `yaml:"grads-reduce-scatter" json:"grads-reduce-scatter"`
	SeparateReduce   Op `yaml:"separate-grads-all-reduce" json:"separate-grads-all-reduce"`
	Layernorm        Op `yaml:"layernorm-grads-all-reduce" json:"layernorm-grads-all-reduce"`
	Embedding        Op `yaml:"embedding-grads-all-reduce" json:"embedding-grads-all-reduce"`
	Clip             Op `yaml:"optimizer-clip-main-grad" json:"optimizer-clip-main-grad"`
	Optimizer        Op `yaml:"optimizer" json:"optimizer"`
	Collect          Op `yaml:"gc" json:"gc"`
}

// entry returns the entry of a class.
func (o *Ops) entry(c operator.Class) *Op {
	return [...]*Op{
		operator.ForwardCompute: &o.Forward, operator.BackwardCompute: &o.Backward,
		operator.ForwardSend: &o.ForwardTransfer, operator.ForwardRecv: &o.ForwardTransfer,
		operator.BackwardSend: &o.BackwardTransfer, operator.BackwardRecv: &o.BackwardTransfer,
		operator.ParamsAllGather: &o.Gather, operator.GradsReduceScatter: &o.Reduce, operator.SeparateGradsAllReduce: &o.SeparateReduce,
		operator.LayernormGradsAllReduce: &o.Layernorm, operator.EmbeddingGradsAllReduce: &o.Embedding,
		operator.OptimizerClip: &o.Clip, operator.Optimizer: &o.Optimizer, operator.GarbageCollection: &o.Collect,
	}[c]
}

// Clock is how the workers' clocks differ, and what the trace's zero is.
type Clock struct {
	simulate.Clock `yaml:",inline"`
	// Running counts starts from one zero for the whole run. Else every step
	// has its own, where its first operator starts, as in the public traces.
	Running bool `yaml:"running" json:"running"`
}

// DefaultSpec returns a job of the size, the durations and the jitter of a public production trace (OSDI'25 artifact, AR): 4
// replicas of 4 stages of 4 ranks, 32 microbatches, about 23 s a step.
func DefaultSpec() Spec {
	return Spec{
		Layout: Layout{DP: 4, PP: 4, TP: 4, Chunks: 1, Microbatches: 32, Buckets: 1},
		Steps:  Steps{Count: 40, Every: 1},
		Ops: Ops{
			Forward:          Op{Dist{217.5, 0.016}, Dist{0.005, 0.8}},
			Backward:         Op{Dist{382, 0.024}, Dist{0.005, 0.8}},
			ForwardTransfer:  Op{Dist{1.15, 0.13}, Dist{0.005, 0.8}},
			BackwardTransfer: Op{Dist{1.15, 0.13}, Dist{0.005, 0.8}},
			Gather:           Op{Dist{115, 0.015}, Dist{0.3, 0.5}},
			Reduce:           Op{Dist{214, 0.02}, Dist{16.4, 0.004}},
			SeparateReduce:   Op{Dist{5, 0.1}, Dist{0.02, 0.8}},
			Layernorm:        Op{Dist{3.5, 0.12}, Dist{4.8, 0.1}},
			Embedding:        Op{Dist{25, 0.05}, Dist{0.02, 0.8}},
			Clip:             Op{Dist{11.2, 0.17}, Dist{0.005, 0.8}},
			Optimizer:        Op{Dist{21.4, 0.0065}, Dist{0.001, 0.8}},
			Collect:          Op{Dist{0.0005, 0.3}, Dist{0.001, 0.8}},
		},
		Between: Dist{0.6, 0.4},
		SpeedSD: 0.002,
	}
}
