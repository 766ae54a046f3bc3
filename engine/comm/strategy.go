package comm

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/engine/comm/parallel"
	"github.com/sfstat/sfstat/trace/enum"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Variant is how a dimension of parallelism is done.
type Variant uint8

const (
	PlainVariant     Variant = iota // whole gradients reduced, whole activations reduced, tokens exchanged
	SplitSequences                  // tensor parallelism that gathers and reduce-scatters activations of split sequences
	ShardedOptimizer                // gradients reduce-scattered, parameters gathered once: ZeRO 1 or 2, a distributed optimiser
	ShardedAll                      // parameters gathered for forward and backward: ZeRO 3, FSDP
)

var variantNames = [...]string{"plain", "sequence_parallel", "sharded_optimizer", "sharded_all"}

func (v Variant) String() string { return enum.Name(variantNames[:], v) }

// Names returns the names of all values.
func (Variant) Names() []string { return variantNames[:] }

// Dimension is one dimension of a job's strategy, and what speaks for it: calls of at least 16 KiB of one rank of its first group.
type Dimension struct {
	Kind    parallel.Kind // what it is for
	Ranks   int           // ranks of each group; 0 where groups are not all of one size
	Groups  int           // communicators of more than one rank that are for it
	Variant Variant       // how it is done: activations of split sequences; gradients reduce-scattered and parameters gathered once; parameters gathered for forward and backward
	Steps   int           // steps that Ops are of; 0: the whole recording
	Ops     []OpCount     // calls of at least 16 KiB of one rank of its first group, most first
}

// OpCount is how often an operation was called.
type OpCount struct {
	Op    nccl.Op // operation
	Calls int     // calls of the rank
}

// Strategy returns the dimensions in which a job is parallel, from the ranks nearest to each other to the farthest: those that communicators of more than one
// rank are for. Communicators of no known kind are no dimension.
func Strategy(r *Result) (list []Dimension) {
	for _, k := range []parallel.Kind{parallel.TensorParallel, parallel.ContextParallel, parallel.ExpertParallel, parallel.DataParallel, parallel.PipelineParallel} {
		d := Dimension{Kind: k}
		var first *parallel.Communicator
		for i := range r.Communicators {
			c := &r.Communicators[i]
			if c.Kind != k || c.NRanks < 2 || c.Signature.Large == 0 {
				continue
			}
			if d.Groups++; first == nil {
				first, d.Ranks = c, c.NRanks
			} else if c.NRanks != d.Ranks {
				d.Ranks = 0
			}
		}
		if first == nil {
			continue
		}
		d.Steps, d.Variant = first.Signature.Steps, variantOf(first)
		for op, n := range first.LargeOps {
			d.Ops = append(d.Ops, OpCount{op, n})
		}
		slices.SortFunc(d.Ops, func(a, b OpCount) int { return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Op, b.Op)) })
		list = append(list, d)
	}
	return list
}

// gathersAgain is from which on all-gathers for each reduce-scatter are those of forward and backward: sharded optimisers gather what they scatter once.
const gathersAgain = 1.5

// variant returns how the dimension of a communicator is done, by its large operations.
func variantOf(c *parallel.Communicator) Variant {
	gathers, scatters := c.LargeOps[nccl.AllGather], c.LargeOps[nccl.ReduceScatter]
	switch {
	case gathers == 0 || scatters == 0:
	case c.Kind == parallel.TensorParallel:
		return SplitSequences
	case c.Kind == parallel.DataParallel && float64(gathers) >= gathersAgain*float64(scatters):
		return ShardedAll
	case c.Kind == parallel.DataParallel:
		return ShardedOptimizer
	}
	return PlainVariant
}
