package report

import (
	"fmt"

	"github.com/sfstat/sfstat/diagnose/evidence"
)

// lackWords states what a higher confidence lacks.
func lackWords(l evidence.Lack) string {
	switch l.Reason {
	case evidence.FewOccurrences:
		if l.N > 0 {
			return countIs(l.N, "occurrence") + " too few to exclude chance"
		}
		return "too few occurrences to exclude chance"
	case evidence.ChanceNotExcluded:
		if l.P > 0 {
			return "p is above " + probability(l.P)
		}
		return "no test separates it from chance"
	case evidence.FewPeers:
		return sayFewPeers(l.N)
	case evidence.SourcesDisagree:
		return sayDisagreement(l)
	}
	return sayCondition(l.Reason)
}

func sayFewPeers(n int) string {
	switch {
	case n == 1:
		return "only 1 other does the same work: which is slower is known, and not which is unusual"
	case n > 1:
		return fmt.Sprintf("only %d others do the same work: which is slower is known, and not which is unusual", n)
	}
	return "nobody else does the same work, so that a fault and heavier work look the same"
}

func sayDisagreement(l evidence.Lack) string {
	if l.Rank == nil {
		return "the stage times of the same run do not find it"
	}
	source := "K-S, outliers or blame"
	switch l.Source {
	case evidence.FromOperators:
		source = "the operators of the trace"
	case evidence.FromProfiler:
		source = "the profiler's traces"
	}
	return fmt.Sprintf("%s find rank %d instead", source, *l.Rank)
}

// sayCondition states which condition is not met; "" of a reason that needs numbers.
func sayCondition(r evidence.Reason) string {
	switch r {
	case evidence.SeveralCauses:
		return "other causes would look the same here: input sizes, a larger share of the work, a shared resource, noise"
	case evidence.MayBeByDesign:
		return "ranks may do different work by design: times cannot separate a fault from how the model is divided"
	case evidence.WorkUnknown:
		return "the sizes of its inputs or transfers are not recorded, so it may have more work"
	case evidence.WorkVaries:
		return "in other steps it is shorter than on the peers: its work varies"
	case evidence.DelayInherited:
		return "it adds no delay of its own before any call: it waits for another rank"
	case evidence.OthersMayWait:
		return "the others may have to wait for the same next"
	case evidence.WaitNotRecorded:
		return "it may have waited for another rank in operations that are not recorded"
	case evidence.ClockOffset:
		return "its clock may be off by as much"
	case evidence.Unconfirmed:
		return "one kind of evidence alone shows it"
	case evidence.SyncNotShown:
		return "no synchronisation point is shown, so whether others wait for it is inferred from the end of the step"
	case evidence.NobodyWaits:
		return "its steps are longer than the others', who do not wait for it in theirs: it delays them only where all wait outside the recorded steps"
	case evidence.SyncLikely:
		return "where the ranks synchronise is likely, not shown: too few steps or ranks, or too little noise"
	case evidence.NoWallTime:
		return "no wall time was recorded, so gaps between stages and steps are unknown"
	case evidence.Incomplete:
		return "the recording of these steps is incomplete, or its stages do not add up"
	case evidence.RolesMixed:
		return "ranks of different roles are compared with each other"
	case evidence.WithinOneRole:
		return "it is compared with the ranks of its role only"
	case evidence.MicrostepsSummed:
		return "accumulation microsteps are summed, so their order is lost"
	case evidence.LimitUnknown:
		return "the logs do not say what the link carries (NCCL_DEBUG_SUBSYS=GRAPH)"
	case evidence.DumpIncomplete:
		return "a dump is missing, not whole, or does not say when it was written, so the process may have failed, or the job may have gone on"
	case evidence.TimesRounded:
		return "times are rounded so far that a delay of this size may be none"
	}
	return ""
}
