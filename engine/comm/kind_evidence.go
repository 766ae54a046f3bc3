package comm

import (
	"fmt"
	"math"

	"github.com/sfstat/sfstat/trace/nccl"
)

// The inference weighs evidence for tensor against data parallelism; a lead of decided settles it. How often
// one size of message comes tells little by itself: layers that are alike have equal activations, and equal buckets of gradients and
// equal parameters too. So it counts only with what tells these apart.
const (
	decided       = 2
	manyRepeats   = 6 // of one size in a step: once for each layer and microbatch
	fewRepeats    = 3
	manyWithout   = 40 // the same where no steps are known, over the recording
	contiguousMax = 8  // GPUs that one NVLink domain usually joins
	mostly        = 0.4
	rarely        = 0.2
)

// infer says of all communicators what the operations, their sizes and the ranks suggest.
func (r *Result) infer() {
	p := r.connected()
	for i := range r.Communicators {
		if c := &r.Communicators[i]; !c.obvious() {
			c.tensorOrData(p.coverage(c))
		}
	}
	r.resolveKinds()
}

// control reports whether only flags, losses and norms go over it.
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

// obvious settles what is neither tensor nor data parallelism of several ranks.
func (c *Communicator) obvious() bool {
	total, _ := c.Total()
	switch use := c.usedAs(); {
	case c.NRanks == 1 && c.LargeOps[nccl.AllReduce]+c.LargeOps[nccl.ReduceScatter] > 0:
		c.Kind, c.Evidence = DataParallel, []string{"one rank reduces what is as large as gradients: a data dimension of one"}
	case c.NRanks == 1:
		c.Evidence = []string{"one rank: nothing is communicated"}
	case total == 0:
		c.Evidence = []string{"never called"}
	case use != UnknownKind:
		c.Kind, c.Evidence = c.exchanges(use)
	case c.control():
		c.Evidence = []string{fmt.Sprintf("messages of at most %d bytes: control, not data", c.Largest)}
	default:
		return false
	}
	return true
}

// exchanges tells experts and stages from what else moves data without reducing it.
func (c *Communicator) exchanges(use Kind) (Kind, []string) {
	switch {
	case use == ExpertParallel && c.Uneven:
		return use, []string{"all-to-all of uneven sizes, as tokens go to experts: " + c.mixText()}
	case use == ExpertParallel:
		return UnknownKind, []string{"all that is sent at once is of equal size: experts of a fixed capacity, a split sequence or an interleaved pipeline: " + c.mixText()}
	case !c.Mutual:
		return UnknownKind, []string{"sends go one way only, as in a ring of a split sequence: " + c.mixText()}
	case c.Lone == 0:
		return UnknownKind, []string{"whenever it sends it receives, as in a ring of a split sequence: " + c.mixText()}
	}
	return use, []string{fmt.Sprintf("sends and receives: %s", c.mixText())}
}

// coverage is whether a communicator joins all ranks that have to do with each other.
type coverage uint8

const (
	whole coverage = iota // no other communicator joins one of its ranks with a rank that it has not
	part
)

// pattern is what large collectives do to the parameters of a model or to what it computes.
type pattern uint8

const (
	ambiguous   pattern = iota
	gathering           // parameters of layers are gathered one after another: sharded data parallelism
	alternating         // gather, reduce, gather: activations of split sequences
	reducing
)

// pattern tells gradients and parameters from activations where it can.
func (c *Communicator) pattern() pattern {
	gathers, scatters, reduces := c.LargeOps[nccl.AllGather], c.LargeOps[nccl.ReduceScatter], c.LargeOps[nccl.AllReduce]
	switch {
	case gathers > 0 && scatters > 0 && c.Successive >= mostly:
		return gathering
	case 2*(gathers+scatters) > c.Large && 4*scatters >= gathers && c.Successive < rarely:
		return alternating
	case 2*reduces > c.Large:
		return reducing
	}
	return ambiguous
}

// weights adds up evidence.
type weights struct {
	tensor, data int
	evidence     []string
}

func (s *weights) forTensor(points int, format string, args ...any) {
	s.tensor, s.evidence = s.tensor+points, append(s.evidence, fmt.Sprintf(format, args...))
}

func (s *weights) forData(points int, format string, args ...any) {
	s.data, s.evidence = s.data+points, append(s.evidence, fmt.Sprintf(format, args...))
}

func (s *weights) forNeither(text string) { s.evidence = append(s.evidence, text) }

// tensorOrData adds up the evidence.
func (c *Communicator) tensorOrData(in coverage) {
	var s weights
	c.weighRepeats(&s, in)
	if c.Averages > 0 {
		s.forData(2, "%d reductions average, as those of gradients do", c.Averages)
	}
	if 4*c.Grouped > c.Large {
		s.forData(5, "%d of %d calls are grouped, as buckets of gradients and parameters are", c.Grouped, c.Large)
	}
	switch stride := c.stride(); {
	case stride > 1:
		s.forData(2, "its ranks are %d apart", stride)
	case stride == 1 && in == part && c.Hosts == 1 && c.NRanks <= contiguousMax:
		s.forTensor(1, "neighbouring ranks of one host")
	}
	if c.Hosts > 1 && c.NRanks == c.Hosts {
		s.forData(1, "one rank on each of %d hosts", c.Hosts)
	}
	switch {
	case s.tensor >= s.data+decided:
		c.Kind = TensorParallel
	case s.data >= s.tensor+decided:
		c.Kind = DataParallel
	default:
		s.forNeither("which does not decide between tensor and data parallelism")
	}
	c.Evidence = s.evidence
}

// weighRepeats weighs how often one size comes.
func (c *Communicator) weighRepeats(s *weights, in coverage) {
	often, points, when := c.Steps > 0 && c.Repeats >= manyRepeats, 3, " a step"
	if c.Steps == 0 {
		often, points, when = c.Repeats >= manyWithout, 2, ""
	}
	switch use := c.pattern(); {
	case use == gathering:
		s.forData(3, "%.0f %% of the all-gathers follow one another without a reduction between, as those of the parameters of layers do", 100*c.Successive)
	case c.Steps > 0 && c.Repeats <= fewRepeats:
		s.forData(2, "no size of message comes more than %s a step, as gradients do", times(math.Ceil(c.Repeats)))
	case !often:
	case use == alternating:
		s.forTensor(3, "one size of message comes %.0f times%s, gathered and reduced by turns, as activations of layers are", c.Repeats, when)
	case use == reducing && in == part && !c.atOnce():
		s.forTensor(points, "one size of message comes %.0f times%s, as activations of layers do", c.Repeats, when)
	default:
		s.forNeither(fmt.Sprintf("one size of message comes %.0f times%s, as activations of layers do, and equal buckets of gradients", c.Repeats, when))
	}
}

// atOnce reports whether the calls come all together, seldom between the messages that pass from stage to stage, so that
// they are not part of what a stage computes.
func (c *Communicator) atOnce() bool { return 4*c.Visits < c.Elsewhere }

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
