package parallel

import (
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

// infer finds of all communicators what the operations, their sizes and the ranks suggest.
func infer(all []Communicator) {
	p := connect(all)
	for i := range all {
		if c := &all[i]; !c.obvious() {
			c.tensorOrData(weights{beyond: p.leadsFurther(c)})
		}
	}
	resolve(all)
}

// control reports whether only flags, losses and norms go over it.
func (s *Signature) control() bool { return s.Large == 0 }

// usedAs returns the kind that the operations alone suggest, UnknownKind where they suit several.
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
		c.Kind, c.Evidence = DataParallel, because(OneRankReduces)
	case c.NRanks == 1:
		c.Evidence = because(SingleRank)
	case total == 0:
		c.Evidence = because(NeverCalled)
	case use != UnknownKind:
		var why EvidenceKind
		c.Kind, why = c.exchanges(use)
		c.Evidence = because(why)
	case c.control():
		c.Evidence = []Evidence{{Kind: SmallMessages, N: c.Largest}}
	default:
		return false
	}
	return true
}

// exchanges separates experts and stages from other exchanges of data without reduction.
func (c *Communicator) exchanges(use Kind) (Kind, EvidenceKind) {
	switch {
	case use == ExpertParallel && c.Uneven:
		return use, UnevenSends
	case use == ExpertParallel:
		return UnknownKind, EvenSends
	case !c.Mutual:
		return UnknownKind, OneWaySends
	case c.Lone == 0:
		return UnknownKind, PairedSends
	}
	return use, SendsAndReceives
}

// pattern is what large collectives do to the parameters of a model or to what it computes.
type pattern uint8

const (
	ambiguous   pattern = iota
	gathering           // parameters of layers are gathered one after another: sharded data parallelism
	alternating         // gather, reduce, gather: activations of split sequences
	reducing
)

// pattern separates gradients and parameters from activations where it can.
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

// weights adds up evidence: for tensor parallelism above 0, for data parallelism below.
type weights struct {
	beyond   bool // other communicators join its ranks with further ones
	lead     int
	evidence []Evidence
}

func (s *weights) add(points int, e Evidence) {
	s.lead, s.evidence = s.lead+points, append(s.evidence, e)
}

// tensorOrData adds up the evidence.
func (c *Communicator) tensorOrData(s weights) {
	c.weighRepeats(&s)
	if c.Averages > 0 {
		s.add(-2, Evidence{Kind: AveragingReductions, N: int64(c.Averages)})
	}
	if 4*c.Grouped > c.Large {
		s.add(-5, Evidence{Kind: GroupedCalls, N: int64(c.Grouped), Of: int64(c.Large)})
	}
	switch stride := c.Stride(); {
	case stride > 1:
		s.add(-2, Evidence{Kind: RanksApart, Stride: stride})
	case stride == 1 && s.beyond && c.Hosts == 1 && c.NRanks <= contiguousMax:
		s.add(1, Evidence{Kind: NeighboursOnHost})
	}
	if c.Hosts > 1 && c.NRanks == c.Hosts {
		s.add(-1, Evidence{Kind: OneRankPerHost, N: int64(c.Hosts)})
	}
	switch {
	case s.lead >= decided:
		c.Kind = TensorParallel
	case s.lead <= -decided:
		c.Kind = DataParallel
	default:
		s.add(0, Evidence{Kind: TensorOrData})
	}
	c.Evidence = s.evidence
}

// weighRepeats weighs how often one size comes.
func (c *Communicator) weighRepeats(s *weights) {
	often, points := c.Steps > 0 && c.Repeats >= manyRepeats, 3
	if c.Steps == 0 {
		often, points = c.Repeats >= manyWithout, 2
	}
	repeated := func(kind EvidenceKind) Evidence { return Evidence{Kind: kind, Times: c.Repeats, Whole: c.Steps == 0} }
	switch use := c.pattern(); {
	case use == gathering:
		s.add(-3, Evidence{Kind: SuccessiveGathers, Share: c.Successive})
	case c.Steps > 0 && c.Repeats <= fewRepeats:
		s.add(-2, Evidence{Kind: RareSizes, N: int64(math.Ceil(c.Repeats))})
	case !often:
	case use == alternating:
		s.add(3, repeated(GatheredSize))
	case use == reducing && s.beyond && !c.isClustered():
		s.add(points, repeated(ReducedSize))
	default:
		s.add(0, repeated(RepeatedSize))
	}
}

// isClustered reports whether the calls come all together, seldom between the messages that pass from stage to stage, so that
// they are not part of what a stage computes.
func (c *Communicator) isClustered() bool { return 4*c.Visits < c.Elsewhere }

// Stride returns the distance of neighbouring ranks, 0 where it differs or ranks lack.
func (c *Communicator) Stride() int {
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
