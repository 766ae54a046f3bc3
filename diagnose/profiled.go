package diagnose

import (
	"slices"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
)

// joinTraces joins the claims with those of the windows that a profiler's traces of the run come down to. Both
// account for the same steps by themselves, so that a rank that both find late is as certain as the surer of them
// says; where the traces find another, neither is strong.
func (j *judge) joinTraces(claims []Finding) []Finding {
	if j.traced == nil {
		return claims
	}
	late := slices.DeleteFunc(flaggedFindings(j.traced.Findings), func(f Finding) bool {
		return f.Kind != KindRank || f.Cause != CauseLate || f.Rank == nil
	})
	if len(late) == 0 {
		return claims
	}
	steps := 0
	for _, w := range j.traced.Windows {
		steps += w.Main.Steps
	}
	return j.join(claims, testimony{late: late, agrees: func(l *Finding) evidence.Witness {
		return evidence.Witness{Source: evidence.FromProfiler, Stage: l.Stage, Excess: l.Excess, Step: l.Step, Steps: steps}
	}, denies: func(f Finding) Finding {
		f.lackIf(f.Cause == CauseLate && f.IsFlagged(), evidence.Lack{Reason: evidence.SourcesDisagree, AtMost: evidence.Supported, Rank: late[0].Rank, Source: evidence.FromProfiler})
		return f
	}, alone: func(l Finding) Finding {
		l.source, l.Windows, l.Detail = evidence.FromProfiler, nil, -1 // they are of the traces
		l.lackIf(j.synchronises(), evidence.Lack{Reason: evidence.SourcesDisagree, AtMost: evidence.Supported})
		return l
	}})
}

// tracesNext returns what to do about a rank that the traces alone find; they need not be recorded again.
func (j *judge) tracesNext() (out []answer.Action) {
	for _, a := range j.traced.Next {
		if a.Window = nil; a.Action != answer.Profile {
			out = append(out, a)
		}
	}
	return out
}
