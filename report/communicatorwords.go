package report

import (
	"fmt"

	"github.com/sfstat/sfstat/engine/comm/parallel"
)

// communicatorEvidence words what a communicator is taken to be for.
func communicatorEvidence(c *parallel.Communicator) []string {
	return each(c.Evidence, func(e parallel.Evidence) string { return communicatorWords(c, e) })
}

// communicatorSentences word observations; what stands in braces is filled in.
var communicatorSentences = map[parallel.EvidenceKind]string{
	// Who the ranks are and whether they communicate at all.
	parallel.OneRankReduces:   "one rank reduces what is as large as gradients: a data dimension of one",
	parallel.SingleRank:       "one rank: nothing is communicated",
	parallel.OneRankBeside:    "one rank: nothing is communicated; its data-parallel or expert-parallel group is another",
	parallel.NeverCalled:      "never called",
	parallel.SharedEmbedding:  "it joins stages of one pipeline, as a shared embedding does",
	parallel.RanksApart:       "its ranks are {stride} apart",
	parallel.NeighboursOnHost: "neighbouring ranks of one host",
	parallel.OneRankPerHost:   "one rank on each of {n} hosts",
	parallel.LikeOthers:       "groups of {n}, {stride} apart, are {as} elsewhere in the job",
	// What is sent without being reduced.
	parallel.UnevenSends:      "all-to-all of uneven sizes, as tokens go to experts: {operations}",
	parallel.EvenSends:        "all that is sent at once is of equal size: experts of a fixed capacity, a split sequence or an interleaved pipeline: {operations}",
	parallel.OneWaySends:      "sends go one way only, as in a ring of a split sequence: {operations}",
	parallel.PairedSends:      "whenever it sends it receives, as in a ring of a split sequence: {operations}",
	parallel.SendsAndReceives: "sends and receives: {operations}",
	// Sizes of messages, how often they come and how they are called.
	parallel.SmallMessages:       "messages of at most {n} bytes: control, not data",
	parallel.AveragingReductions: "{n} reductions average, as those of gradients do",
	parallel.GroupedCalls:        "{n} of {of} calls are grouped, as buckets of gradients and parameters are",
	parallel.SuccessiveGathers:   "{share} % of the all-gathers follow one another without a reduction between, as those of the parameters of layers do",
	parallel.RareSizes:           "no size of message comes more than {often} a step, as gradients do",
	parallel.GatheredSize:        "one size of message comes {times}, gathered and reduced alternately, as activations of layers are",
	parallel.ReducedSize:         "one size of message comes {times}, as activations of layers do",
	parallel.RepeatedSize:        "one size of message comes {times}, as activations of layers do, and equal buckets of gradients",
	parallel.TensorOrData:        "which does not decide between tensor and data parallelism",
	// What the layout given decides.
	parallel.LayoutGiven:     "the layout given: {as} of {n}, ranks {stride} apart",
	parallel.LayoutOneRank:   "one rank, as the data dimension has",
	parallel.OutsideLayout:   "no dimension of the layout has these ranks",
	parallel.RanksWithoutLog: "some of its ranks left no log",
	parallel.DefaultGroup:    "all ranks, and small messages alone: the default group",
	parallel.SilentStages:    "stages of one pipeline that send nothing to each other, as those that share an embedding",
}

// communicatorWords words one observation, "" where its kind has no words.
func communicatorWords(c *parallel.Communicator, e parallel.Evidence) string {
	times := fmt.Sprintf("%.0f times a step", e.Times)
	if e.Whole {
		times = fmt.Sprintf("%.0f times", e.Times)
	}
	return filled(communicatorSentences[e.Kind], "n", e.N, "of", e.Of, "stride", e.Stride, "as", e.As, "often", timesWord(e.N),
		"share", fmt.Sprintf("%.0f", 100*e.Share), "times", times, "operations", mixWords(c))
}

// mixWords is the three most used operations with their shares of the calls.
func mixWords(c *parallel.Communicator) string {
	const shown = 3
	total, _ := c.Total()
	text := ""
	for i, u := range c.Ops {
		if i == shown {
			return text + " …"
		}
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%v %.0f %%", u.Op, 100*float64(u.Calls)/float64(total))
	}
	return text
}

// timesWord writes "once", "twice", "3 times".
func timesWord(n int64) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}
