package traffic

import (
	"fmt"
	"math"
	"slices"

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
)

var kindNames = [...]string{"unknown", "DP", "TP", "PP", "EP", "CP"}

func (k Kind) String() string { return kindNames[min(k, ContextParallel)] }

// Layout is how many ranks each dimension has; 0 is not given. Ranks are numbered as Megatron-LM
// does: tensor first, then context, data, pipeline. Expert parallelism is within data.
type Layout struct{ TP, CP, EP, DP, PP int }

// Given says whether any size is.
func (l Layout) Given() bool { return l != Layout{} }

// World is the ranks of the layout.
func (l Layout) World() int { return max(l.TP, 1) * max(l.CP, 1) * max(l.DP, 1) * max(l.PP, 1) }

// Filled is the layout with what is not given: one, but for the data dimension, which takes what the ranks leave.
func (l Layout) Filled(ranks int) (Layout, error) {
	l.TP, l.CP, l.PP, l.EP = max(l.TP, 1), max(l.CP, 1), max(l.PP, 1), max(l.EP, 1)
	if l.DP == 0 {
		l.DP = max(ranks/(l.TP*l.CP*l.PP), 1)
	}
	if l.World() != ranks {
		return l, fmt.Errorf("a layout of tp=%d, cp=%d, dp=%d, pp=%d has %d ranks, the logs and exports have %d", l.TP, l.CP, l.DP, l.PP, l.World(), ranks)
	}
	if l.DP*l.CP%l.EP != 0 {
		return l, fmt.Errorf("ep=%d does not divide dp×cp=%d", l.EP, l.DP*l.CP)
	}
	return l, nil
}

// kinds finds what each communicator is for.
func (a *assembly) kinds() {
	if a.o.Layout.Given() {
		ranks := 0
		for i := range a.r.Ranks {
			ranks = max(ranks, a.r.Ranks[i].Rank+1)
		}
		for i := range a.r.Communicators {
			ranks = max(ranks, min(a.r.Communicators[i].NRanks, 1<<20))
		}
		l, err := a.o.Layout.Filled(ranks)
		if err == nil {
			for i := range a.r.Communicators {
				a.r.Communicators[i].byLayout(l)
			}
			return
		}
		a.note("kinds of communicators are inferred: %v", err)
	}
	for i := range a.r.Communicators {
		a.r.Communicators[i].infer(a.worldSize())
	}
	a.settle()
}

func (a *assembly) worldSize() int { return len(a.r.Ranks) }

// dimension is one of a layout: its kind, size and the distance of neighbouring ranks.
type dimension struct {
	kind         Kind
	size, stride int
}

func (l Layout) dimensions() []dimension {
	return []dimension{{TensorParallel, l.TP, 1}, {ContextParallel, l.CP, l.TP}, {ExpertParallel, l.EP, l.TP},
		{DataParallel, l.DP, l.TP * l.CP}, {PipelineParallel, l.PP, l.TP * l.CP * l.DP}}
}

// byLayout takes the dimension whose groups the ranks are one of. Where that is so for two, the operations decide.
func (c *Communicator) byLayout(l Layout) {
	if len(c.Ranks) != c.NRanks {
		c.Evidence = []string{"some of its ranks left no log"}
		return
	}
	var fits []dimension
	for _, d := range l.dimensions() {
		if d.size == c.NRanks && l.is(d, c.Ranks) {
			fits = append(fits, d)
		}
	}
	if c.NRanks == 1 { // every dimension of one rank has it; logs show those of the data dimension
		if l.DP == 1 {
			c.Kind, c.Evidence = DataParallel, []string{"one rank, as the data dimension has"}
		}
		return
	}
	if len(fits) == 0 {
		c.Evidence = []string{"no dimension of the layout has these ranks"}
		return
	}
	d := c.among(fits)
	if c.Signature.control() && c.NRanks == l.World() {
		c.Evidence = []string{"all ranks, and small messages alone: the default group"}
		return
	}
	if d.kind == PipelineParallel && c.LargeOps[nccl.Send]+c.LargeOps[nccl.Recv] == 0 {
		c.Evidence = []string{"stages of one pipeline that send nothing to each other, as those that share an embedding"}
		return
	}
	c.Kind, c.Evidence = d.kind, []string{fmt.Sprintf("the layout given: %v of %d, ranks %d apart", d.kind, d.size, d.stride)}
}

// among is the dimension of several that the operations suit. Tokens go to experts all-to-all: what reduces is no group of
// experts, though data-parallel ranks with an expert each are the same ones.
func (c *Communicator) among(fits []dimension) dimension {
	use := c.usedAs()
	for _, d := range fits {
		if d.kind == use || use == UnknownKind && d.kind != ExpertParallel {
			return d
		}
	}
	return fits[0]
}

// is says whether ranks are a group of the dimension: evenly apart, and equal in all others.
func (l Layout) is(d dimension, ranks []int) bool {
	for i := 1; i < len(ranks); i++ {
		if ranks[i]-ranks[i-1] != d.stride {
			return false
		}
	}
	return ranks[0]/d.stride%d.size == 0
}

// control says whether only flags, losses and norms go over it.
func (s *Signature) control() bool { return s.Large == 0 }

// usedAs is the kind that the operations alone suggest, UnknownKind where they suit several.
func (c *Communicator) usedAs() Kind {
	sends := c.LargeOps[nccl.Send] + c.LargeOps[nccl.Recv]
	others := c.Large - sends
	switch {
	case c.LargeOps[nccl.AlltoAll]+c.LargeOps[nccl.AllToAllPivot] > c.Large/2:
		return ExpertParallel
	case sends > 4*others && c.Peers >= 1.5:
		return ExpertParallel
	case sends > 4*others:
		return PipelineParallel
	}
	return UnknownKind
}

// The inference weighs evidence for tensor against data parallelism; a lead of decided settles it.
const (
	decided       = 2
	manyRepeats   = 6 // of one size in a step: once for each layer and microbatch
	fewRepeats    = 3
	manyWithout   = 40 // the same where no steps are known, over the recording
	burstyEnough  = 0.3
	contiguousMax = 8 // GPUs that one NVLink domain usually joins
)

// infer says what the operations, their sizes and the ranks suggest.
func (c *Communicator) infer(world int) {
	total, _ := c.Total()
	switch {
	case c.NRanks == 1 && c.LargeOps[nccl.AllReduce]+c.LargeOps[nccl.ReduceScatter] > 0:
		c.Kind, c.Evidence = DataParallel, []string{"one rank reduces what is as large as gradients: a data dimension of one"}
		return
	case c.NRanks == 1:
		c.Evidence = []string{"one rank: nothing is communicated"}
		return
	case total == 0:
		c.Evidence = []string{"never called"}
		return
	}
	if k := c.usedAs(); k == ExpertParallel {
		c.Kind, c.Evidence = k, []string{"all-to-all: " + c.mixText()}
		return
	} else if k == PipelineParallel {
		c.Kind, c.Evidence = k, []string{fmt.Sprintf("sends and receives: %s", c.mixText())}
		return
	}
	if c.control() {
		c.Evidence = []string{fmt.Sprintf("messages of at most %d bytes: control, not data", c.Largest)}
		return
	}
	c.tensorOrData(world)
}

// tensorOrData adds up the evidence.
func (c *Communicator) tensorOrData(world int) {
	tensor, data := 0, 0
	say := func(to *int, points int, format string, args ...any) {
		*to += points
		c.Evidence = append(c.Evidence, fmt.Sprintf(format, args...))
	}
	switch {
	case c.Steps > 0 && c.Repeats >= manyRepeats:
		say(&tensor, 3, "one size of message comes %.0f times a step, as activations of layers do", c.Repeats)
	case c.Steps > 0 && c.Repeats <= fewRepeats:
		say(&data, 2, "no size of message comes more than %s a step, as gradients do", times(math.Ceil(c.Repeats)))
	case c.Steps == 0 && c.Repeats >= manyWithout:
		say(&tensor, 2, "one size of message comes %.0f times", c.Repeats)
	}
	if c.Averages > 0 {
		say(&data, 2, "%d reductions average, as those of gradients do", c.Averages)
	}
	if 4*c.Grouped > c.Large {
		say(&data, 5, "%d of %d calls are grouped, as buckets of gradients and parameters are", c.Grouped, c.Large)
	}
	switch stride := c.stride(); {
	case stride > 1:
		say(&data, 2, "its ranks are %d apart", stride)
	case stride == 1 && c.NRanks < world && c.Hosts == 1 && c.NRanks <= contiguousMax:
		say(&tensor, 1, "neighbouring ranks of one host")
	}
	if c.Hosts > 1 && c.NRanks == c.Hosts {
		say(&data, 1, "one rank on each of %d hosts", c.Hosts)
	}
	switch {
	case tensor >= data+decided:
		c.Kind = TensorParallel
	case data >= tensor+decided:
		c.Kind = DataParallel
	default:
		c.Evidence = append(c.Evidence, "which does not decide between tensor and data parallelism")
	}
}

// stride is the distance of neighbouring ranks, 0 where it differs or ranks lack.
func (c *Communicator) stride() int {
	if len(c.Ranks) != c.NRanks || len(c.Ranks) < 2 {
		return 0
	}
	d := c.Ranks[1] - c.Ranks[0]
	for i := 2; i < len(c.Ranks); i++ {
		if c.Ranks[i]-c.Ranks[i-1] != d {
			return 0
		}
	}
	return d
}

// settle compares communicators. Groups of two dimensions have at most one rank in common, so that what
// joins several stages of a pipeline is not data parallelism; it may be the first and the last stage that
// share an embedding. And groups that lie in the job like others are of their kind.
func (a *assembly) settle() {
	for i := range a.r.Communicators {
		if c := &a.r.Communicators[i]; c.Kind == DataParallel && c.NRanks > 1 && a.insidePipeline(c) {
			c.Kind, c.Evidence = UnknownKind, []string{"it joins stages of one pipeline, as a shared embedding does"}
		}
	}
	for i := range a.r.Communicators {
		if c := &a.r.Communicators[i]; c.Kind == DataParallel && c.NRanks == 1 && a.otherData(c) {
			c.Kind, c.Evidence = UnknownKind, []string{"one rank: nothing is communicated; its data-parallel group is another"}
		}
	}
	a.alike()
}

// otherData says whether the ranks of c are in a data-parallel group of several.
func (a *assembly) otherData(c *Communicator) bool {
	return slices.ContainsFunc(a.r.Communicators, func(d Communicator) bool {
		return d.Kind == DataParallel && d.NRanks > 1 && slices.ContainsFunc(c.Ranks, func(r int) bool { return slices.Contains(d.Ranks, r) })
	})
}

func (a *assembly) insidePipeline(c *Communicator) bool {
	return slices.ContainsFunc(a.r.Communicators, func(p Communicator) bool {
		return p.Kind == PipelineParallel && !slices.ContainsFunc(c.Ranks, func(r int) bool { return !slices.Contains(p.Ranks, r) })
	})
}

// alike gives groups that lie in the job like others the kind of those.
func (a *assembly) alike() {
	type shape struct{ ranks, stride int }
	votes := map[shape]map[Kind]int{}
	for i := range a.r.Communicators {
		c := &a.r.Communicators[i]
		if s := (shape{c.NRanks, c.stride()}); c.Kind != UnknownKind && s.stride > 0 {
			if votes[s] == nil {
				votes[s] = map[Kind]int{}
			}
			votes[s][c.Kind]++
		}
	}
	for i := range a.r.Communicators {
		c := &a.r.Communicators[i]
		v := votes[shape{c.NRanks, c.stride()}]
		if c.Kind != UnknownKind || len(v) != 1 || c.control() || c.NRanks == 1 || a.insidePipeline(c) {
			continue
		}
		for k := range v {
			c.Kind = k
			c.Evidence = append(c.Evidence, fmt.Sprintf("groups of %d, %d apart, are %v elsewhere in the job", c.NRanks, c.stride(), k))
		}
	}
}

// mixText is the operations with their shares of the calls.
func (c *Communicator) mixText() string {
	total, _ := c.Total()
	text := ""
	for i, u := range c.Ops {
		if i == 3 {
			return text + " …"
		}
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%v %.0f %%", u.Op, 100*float64(u.Calls)/float64(total))
	}
	return text
}

// times writes "once", "twice", "3 times".
func times(n float64) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%.0f times", n)
}
