package parallel

import (
	"github.com/sfstat/sfstat/trace/enum"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Kind is what a communicator is for: the dimension of parallelism whose ranks it joins.
type Kind uint8

const (
	UnknownKind Kind = iota
	DataParallel
	TensorParallel
	PipelineParallel
	ExpertParallel
	ContextParallel
	ExpertDataParallel // gradients of experts, among ranks that hold the same ones; of models alone
)

var kindNames = [...]string{"unknown", "DP", "TP", "PP", "EP", "CP", "EDP"}

func (k Kind) String() string { return enum.Name(kindNames[:], k) }

// Names returns the names of all values.
func (Kind) Names() []string { return kindNames[:] }

// Layout is how many ranks each dimension has; 0 is not given. Ranks are numbered as Megatron-LM
// does: tensor first, then context, data, pipeline. Expert parallelism is within data.
type Layout struct{ TP, CP, EP, DP, PP int }

// IsGiven reports whether any size is.
func (l Layout) IsGiven() bool { return l != Layout{} }

// World returns the ranks of the layout.
func (l Layout) World() int { return max(l.TP, 1) * max(l.CP, 1) * max(l.DP, 1) * max(l.PP, 1) }

// fill returns the layout with what is not given: one, but for the data dimension, which takes what the ranks leave; fits
// is false where these are not the ranks of the layout, or its experts do not divide them.
func (l Layout) fill(ranks int) (filled Layout, fits bool) {
	l.TP, l.CP, l.PP, l.EP = max(l.TP, 1), max(l.CP, 1), max(l.PP, 1), max(l.EP, 1)
	if l.DP == 0 {
		l.DP = max(ranks/(l.TP*l.CP*l.PP), 1)
	}
	return l, l.World() == ranks && l.DP*l.CP%l.EP == 0
}

// Classify finds what each communicator of a job is for: by the layout, where one is given that fits the ranks, else by how it is used. The layout
// is returned as it was filled for the ranks of the job; fits is false where one was given that does not.
func Classify(all []Communicator, l Layout, ranks int) (filled Layout, fits bool) {
	if l.IsGiven() {
		if l, fits = l.fill(ranks); fits {
			for i := range all {
				all[i].classifyByLayout(l)
			}
			return l, true
		}
	}
	infer(all)
	return l, !l.IsGiven()
}

// dimension is one of a layout: its kind, size and the distance of neighbouring ranks.
type dimension struct {
	kind         Kind
	size, stride int
}

func (l Layout) dimensions() []dimension {
	return []dimension{{TensorParallel, l.TP, 1}, {ContextParallel, l.CP, l.TP}, {ExpertParallel, l.EP, l.TP},
		{DataParallel, l.DP, l.TP * l.CP}, {PipelineParallel, l.PP, l.TP * l.CP * l.DP}}
}

// classifyByLayout takes the dimension whose groups the ranks are one of. Where that is so for two, the operations decide.
func (c *Communicator) classifyByLayout(l Layout) {
	if len(c.Ranks) != c.NRanks {
		c.Evidence = because(RanksWithoutLog)
		return
	}
	var fits []dimension
	for _, d := range l.dimensions() {
		if d.size == c.NRanks && l.isGroup(d, c.Ranks) {
			fits = append(fits, d)
		}
	}
	if c.NRanks == 1 { // every dimension of one rank has it; logs show those of the data dimension
		if l.DP == 1 {
			c.Kind, c.Evidence = DataParallel, because(LayoutOneRank)
		}
		return
	}
	if len(fits) == 0 {
		c.Evidence = because(OutsideLayout)
		return
	}
	d := c.chooseDimension(fits)
	if c.Signature.control() && c.NRanks == l.World() {
		c.Evidence = because(DefaultGroup)
		return
	}
	if d.kind == PipelineParallel && c.LargeOps[nccl.Send]+c.LargeOps[nccl.Recv] == 0 {
		c.Evidence = because(SilentStages)
		return
	}
	c.Kind, c.Evidence = d.kind, []Evidence{{Kind: LayoutGiven, As: d.kind, N: int64(d.size), Stride: d.stride}}
}

// chooseDimension returns the dimension of several that the operations suit. Tokens go to experts all-to-all: what reduces is no group of
// experts, though data-parallel ranks with an expert each are the same ones.
func (c *Communicator) chooseDimension(fits []dimension) dimension {
	use := c.usedAs()
	for _, d := range fits {
		if d.kind == use || use == UnknownKind && d.kind != ExpertParallel {
			return d
		}
	}
	return fits[0]
}

// isGroup reports whether ranks are a group of the dimension: evenly apart, and equal in all others.
func (l Layout) isGroup(d dimension, ranks []int) bool {
	for i := 1; i < len(ranks); i++ {
		if ranks[i]-ranks[i-1] != d.stride {
			return false
		}
	}
	return ranks[0]/d.stride%d.size == 0
}
