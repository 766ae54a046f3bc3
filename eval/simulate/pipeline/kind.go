package pipeline

import (
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/eval/simulate/internal/streams"
	"github.com/sfstat/sfstat/trace/enum"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/operator"
)

// Kind is what a fault slows down.
type Kind uint8

const (
	NoFault    Kind = iota
	SlowWorker      // one kind of operator, or all passes, on one worker
	SlowOp          // one operator of the step on one worker
	SlowStage       // one kind of operator, or all passes, on all replicas of a stage
	Workload        // microbatches of uneven length: both their passes, on all stages
	SlowEdge        // the transfers in one direction between two neighbours
	SlowGroup       // a collective over the replicas of one stage
	LateStart       // an operator starts late on one worker: the host was busy
)

var kindNames = [...]string{"none", "slow-worker", "slow-op", "slow-stage", "workload", "slow-edge", "slow-group", "late-start"}

func (k Kind) String() string { return enum.Name(kindNames[:], k) }

// ParseKind returns the kind of a name, the inverse of String; "" is NoFault too.
func ParseKind(s string) (Kind, error) {
	if s == "" {
		return NoFault, nil
	}
	return input.OneOf[Kind]("fault kind", kindNames[:], s)
}

// MarshalText writes the name of the kind.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads a kind, the inverse of MarshalText.
func (k *Kind) UnmarshalText(text []byte) (err error) {
	*k, err = ParseKind(string(text))
	return err
}

// defaultOps are slow when the fault names no kind of operator. Where there is none, both
// passes are.
var defaultOps = map[Kind]operator.Class{SlowOp: operator.BackwardCompute, SlowEdge: operator.ForwardSend,
	SlowGroup: operator.GradsReduceScatter, LateStart: operator.ForwardCompute}

// accepts reports whether operators of a class can be what is slow.
func (k Kind) accepts(c operator.Class) bool {
	switch k {
	case SlowWorker, SlowOp, SlowStage:
		return c != operator.Other && (!c.IsCommunication() || c == operator.LayernormGradsAllReduce)
	case SlowEdge:
		return c == operator.ForwardSend || c == operator.BackwardSend
	case SlowGroup:
		return c.AcrossReplicas() && c != operator.OptimizerClip
	case LateStart:
		return c != operator.Other
	}
	return false
}

// once reports whether the fault hits one instance in a step when it does not
// say which.
func (k Kind) once() bool { return k == SlowOp || k == LateStart }

// Fault slows something down in some of the recorded steps.
type Fault struct {
	Kind  Kind `yaml:"kind" json:"kind"`
	Where `yaml:",inline"`
	Size  `yaml:",inline"`
	When  `yaml:",inline"`
	// Shared in [0, 1] is the part of a Workload's variance that all
	// microbatches of a replica have in common in a step.
	Shared float64 `yaml:"shared,omitempty" json:"shared,omitempty"`
}

// Where is the place of a fault. What is nil and matters is chosen by the seed.
type Where struct {
	DP *int   `yaml:"dp,omitempty" json:"dp,omitempty"`
	PP *int   `yaml:"pp,omitempty" json:"pp,omitempty"` // of the sender, for SlowEdge
	Op string `yaml:"op,omitempty" json:"op,omitempty"` // default: of the kind, see docs/campaign.md
	// Seq is the instance in the step. Nil: all; one chosen by the seed for
	// SlowOp and LateStart.
	Seq *int `yaml:"seq,omitempty" json:"seq,omitempty"`
}

// Size is how much slower, in one of three ways. Sigma counts standard
// deviations of the operator's jitter.
type Size struct {
	Delay  Millis  `yaml:"delay_ms,omitempty" json:"delay_ms,omitempty"`
	Factor float64 `yaml:"factor,omitempty" json:"factor,omitempty"` // times as long; the mean of a Workload
	Sigma  float64 `yaml:"sigma,omitempty" json:"sigma,omitempty"`
}

// When is the steps in which a fault strikes, as in the specification of windows.
type When = simulate.When

// strikes reports whether fault number i strikes in a recorded step.
func (s *Spec) strikes(i, step int, rng *streams.Stream) bool {
	return s.Faults[i].Strikes(int64(step), func() float64 { return rng.Restart(s.Seed, forStrike, uint64(i), s.Steps.index(step)).Float64() })
}
