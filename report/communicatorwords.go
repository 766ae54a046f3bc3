package report

import (
	"fmt"

	"github.com/sfstat/sfstat/engine/comm/parallel"
)

// communicatorEvidence words what a communicator is taken to be for.
func communicatorEvidence(c *parallel.Communicator) []string {
	var b []string
	for _, e := range c.Evidence {
		b = append(b, communicatorWords(c, e))
	}
	return b
}

// communicatorWords words one observation, "" where its kind has no words.
func communicatorWords(c *parallel.Communicator, e parallel.Evidence) string {
	for _, text := range []string{memberWords(e), exchangeWords(c, e), sizeWords(e), layoutWords(e)} {
		if text != "" {
			return text
		}
	}
	return ""
}

// memberWords words who the ranks are and whether they communicate at all.
func memberWords(e parallel.Evidence) string {
	switch e.Kind {
	case parallel.OneRankReduces:
		return "one rank reduces what is as large as gradients: a data dimension of one"
	case parallel.SingleRank:
		return "one rank: nothing is communicated"
	case parallel.OneRankBeside:
		return "one rank: nothing is communicated; its data-parallel or expert-parallel group is another"
	case parallel.NeverCalled:
		return "never called"
	case parallel.SharedEmbedding:
		return "it joins stages of one pipeline, as a shared embedding does"
	case parallel.RanksApart:
		return fmt.Sprintf("its ranks are %d apart", e.Stride)
	case parallel.NeighboursOnHost:
		return "neighbouring ranks of one host"
	case parallel.OneRankPerHost:
		return fmt.Sprintf("one rank on each of %d hosts", e.N)
	case parallel.LikeOthers:
		return fmt.Sprintf("groups of %d, %d apart, are %v elsewhere in the job", e.N, e.Stride, e.As)
	}
	return ""
}

// exchangeWords words what is sent without being reduced, with the operations' shares.
func exchangeWords(c *parallel.Communicator, e parallel.Evidence) string {
	switch e.Kind {
	case parallel.UnevenSends:
		return "all-to-all of uneven sizes, as tokens go to experts: " + mixWords(c)
	case parallel.EvenSends:
		return "all that is sent at once is of equal size: experts of a fixed capacity, a split sequence or an interleaved pipeline: " + mixWords(c)
	case parallel.OneWaySends:
		return "sends go one way only, as in a ring of a split sequence: " + mixWords(c)
	case parallel.PairedSends:
		return "whenever it sends it receives, as in a ring of a split sequence: " + mixWords(c)
	case parallel.SendsAndReceives:
		return "sends and receives: " + mixWords(c)
	}
	return ""
}

// sizeWords words sizes of messages, how often they come and how they are called.
func sizeWords(e parallel.Evidence) string {
	when := " a step"
	if e.Whole {
		when = ""
	}
	switch e.Kind {
	case parallel.SmallMessages:
		return fmt.Sprintf("messages of at most %d bytes: control, not data", e.N)
	case parallel.AveragingReductions:
		return fmt.Sprintf("%d reductions average, as those of gradients do", e.N)
	case parallel.GroupedCalls:
		return fmt.Sprintf("%d of %d calls are grouped, as buckets of gradients and parameters are", e.N, e.Of)
	case parallel.SuccessiveGathers:
		return fmt.Sprintf("%.0f %% of the all-gathers follow one another without a reduction between, as those of the parameters of layers do", 100*e.Share)
	case parallel.RareSizes:
		return fmt.Sprintf("no size of message comes more than %s a step, as gradients do", timesWord(e.N))
	case parallel.GatheredSize:
		return fmt.Sprintf("one size of message comes %.0f times%s, gathered and reduced alternately, as activations of layers are", e.Times, when)
	case parallel.ReducedSize:
		return fmt.Sprintf("one size of message comes %.0f times%s, as activations of layers do", e.Times, when)
	case parallel.RepeatedSize:
		return fmt.Sprintf("one size of message comes %.0f times%s, as activations of layers do, and equal buckets of gradients", e.Times, when)
	case parallel.TensorOrData:
		return "which does not decide between tensor and data parallelism"
	}
	return ""
}

// layoutWords words what the layout given decides.
func layoutWords(e parallel.Evidence) string {
	switch e.Kind {
	case parallel.LayoutGiven:
		return fmt.Sprintf("the layout given: %v of %d, ranks %d apart", e.As, e.N, e.Stride)
	case parallel.LayoutOneRank:
		return "one rank, as the data dimension has"
	case parallel.OutsideLayout:
		return "no dimension of the layout has these ranks"
	case parallel.RanksWithoutLog:
		return "some of its ranks left no log"
	case parallel.DefaultGroup:
		return "all ranks, and small messages alone: the default group"
	case parallel.SilentStages:
		return "stages of one pipeline that send nothing to each other, as those that share an embedding"
	}
	return ""
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
