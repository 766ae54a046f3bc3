package operator

import (
	"slices"

	"github.com/sfstat/sfstat/trace/enum"
)

// Class is the part that an operator plays in a step of pipeline-parallel
// training, by its name.
type Class uint8

const (
	Other Class = iota // a name with no part in the schedule
	ForwardCompute
	BackwardCompute
	ForwardSend
	ForwardRecv
	BackwardSend
	BackwardRecv
	ParamsAllGather
	GradsReduceScatter
	SeparateGradsAllReduce
	LayernormGradsAllReduce
	EmbeddingGradsAllReduce
	OptimizerClip
	Optimizer
	GarbageCollection
)

var classNames = [...]string{"other", "forward-compute", "backward-compute", "forward-send", "forward-recv", "backward-send", "backward-recv",
	"params-all-gather", "grads-reduce-scatter", "separate-grads-all-reduce", "layernorm-grads-all-reduce",
	"embedding-grads-all-reduce", "optimizer-clip-main-grad", "optimizer", "gc"}

func (c Class) String() string { return enum.Name(classNames[:], c) }

// ParseClass returns the class of a name, the inverse of String; a name without a part gives Other.
func ParseClass(name string) Class { return Class(max(0, slices.Index(classNames[:], name))) }

// IsCompute reports whether the class is a forward or backward pass.
func (c Class) IsCompute() bool { return c == ForwardCompute || c == BackwardCompute }

// IsTransfer reports whether the class sends to or receives from another stage.
func (c Class) IsTransfer() bool { return c >= ForwardSend && c <= BackwardRecv }

// IsReceive reports whether the class receives from another stage.
func (c Class) IsReceive() bool { return c == ForwardRecv || c == BackwardRecv }

// AcrossReplicas reports whether the ranks that differ in dp alone take part
// in the operator together.
func (c Class) AcrossReplicas() bool {
	return c == ParamsAllGather || c == GradsReduceScatter || c == SeparateGradsAllReduce || c == OptimizerClip
}

// IsCommunication reports whether the operator's time is mostly the network's.
func (c Class) IsCommunication() bool {
	return c.IsTransfer() || c >= ParamsAllGather && c <= OptimizerClip
}

// Serves returns the compute class that a send or receive belongs to.
func (c Class) Serves() Class {
	switch c {
	case ForwardSend, ForwardRecv:
		return ForwardCompute
	case BackwardSend, BackwardRecv:
		return BackwardCompute
	}
	return Other
}

// Lane returns the queue of the rank on which the operator runs: one for each kind of transfer, one for collectives over
// replicas, and the main one, 0.
func (c Class) Lane() int32 {
	switch {
	case c.IsTransfer():
		return int32(c-ForwardSend) + 1
	case c == ParamsAllGather || c == GradsReduceScatter:
		return 5
	}
	return 0
}

// opposite returns the class at the other end of a transfer, and the direction in which its stage lies.
func (c Class) opposite() (Class, int) {
	switch c {
	case ForwardSend:
		return ForwardRecv, 1
	case ForwardRecv:
		return ForwardSend, -1
	case BackwardSend:
		return BackwardRecv, -1
	case BackwardRecv:
		return BackwardSend, 1
	}
	return Other, 0
}
