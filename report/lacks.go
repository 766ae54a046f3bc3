package report

import (
	"fmt"

	"github.com/sfstat/sfstat/diagnose/evidence"
)

// lackSentences say what a higher confidence lacks; what stands in braces is filled in.
var lackSentences = map[evidence.Reason]string{
	evidence.SeveralCauses:    "other causes would look the same here: input sizes, a larger share of the work, a shared resource, noise",
	evidence.MayBeByDesign:    "ranks may do different work by design: times cannot separate a fault from how the model is divided",
	evidence.WorkUnknown:      "the sizes of its inputs or transfers are not recorded, so it may have more work",
	evidence.WorkVaries:       "in other steps it is shorter than on the peers: its work varies",
	evidence.DelayInherited:   "it adds no delay of its own before any call: it waits for another rank",
	evidence.WaitNotRecorded:  "it may have waited for another rank in operations that are not recorded",
	evidence.ClockOffset:      "its clock may be off by as much",
	evidence.Unconfirmed:      "one kind of evidence alone shows it",
	evidence.SmallerPart:      "significantly long operators explain less than half of it",
	evidence.SyncNotShown:     "no synchronisation point is shown, so whether others wait for it is inferred from the end of the step",
	evidence.SyncLikely:       "where the ranks synchronise is likely, not shown: too few steps or ranks, or too little noise",
	evidence.NoWallTime:       "no wall time was recorded, so gaps between stages and steps are unknown",
	evidence.Incomplete:       "the recording of these steps is incomplete, or its stages do not add up",
	evidence.RolesMixed:       "ranks of different roles are compared with each other",
	evidence.WithinOneRole:    "it is compared with the ranks of its role only",
	evidence.MicrostepsSummed: "accumulation microsteps are summed, so their order is lost",
	evidence.LimitUnknown:     "the logs do not say what the link carries (NCCL_DEBUG_SUBSYS=GRAPH)",
	evidence.DumpIncomplete:   "a dump is missing or does not say when it was written, so the process may have failed, or the job may have gone on",
}

// lackWords says what a higher confidence lacks.
func lackWords(l evidence.Lack) string {
	switch l.Reason {
	case evidence.FewOccurrences:
		if l.N > 0 {
			return fmt.Sprintf("%s too few to exclude chance", countedAre(l.N, "occurrence"))
		}
		return "too few occurrences to exclude chance"
	case evidence.ChanceNotExcluded:
		if l.P > 0 {
			return "p is above " + probability(l.P)
		}
		return "no test separates it from chance"
	case evidence.FewPeers:
		if l.N > 0 {
			return fmt.Sprintf("%s the same work: which is slower is known, and not which is unusual", countedDo(l.N))
		}
		return "nobody else does the same work, so that a fault and heavier work look the same"
	case evidence.SourcesDisagree:
		if l.Rank != nil {
			return fmt.Sprintf("%s find rank %d instead", sourceOf(l.Source), *l.Rank)
		}
		return "the stage times of the same run do not find it"
	}
	return lackSentences[l.Reason]
}

// sourceOf names what finds another rank.
func sourceOf(s evidence.Source) string {
	switch s {
	case evidence.FromOperators:
		return "the operators of the trace"
	case evidence.FromProfiler:
		return "the profiler's traces"
	}
	return "K-S, outliers or blame"
}

// countedAre is "1 step is" or "3 steps are".
func countedAre(n int, noun string) string { return counted(n, noun) + " " + isAre(n) }

// countedDo is "only 1 other does" or "only 2 others do".
func countedDo(n int) string {
	if n == 1 {
		return "only 1 other does"
	}
	return fmt.Sprintf("only %d others do", n)
}
