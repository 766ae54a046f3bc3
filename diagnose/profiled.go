package diagnose

import (
	"slices"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
)

// witnessed joins the findings of a run's windows with those of the windows that a
// profiler's traces of it come down to. Both account for the same steps by
// themselves, so that a rank that both find late is as certain as the surer of them
// says; where the traces find another, neither is strong.
func (j *judge) witnessed(v *RunVerdict) {
	p := j.profiled.judge(j.gates, j.minGain, nil)
	late := slices.DeleteFunc(p.Findings, func(f Finding) bool {
		return !f.Flagged() || f.Kind != KindRank || f.Cause != CauseLate || f.Rank == nil
	})
	if len(late) == 0 {
		return
	}
	steps := 0
	for _, w := range p.Windows {
		steps += w.Main.Steps
	}
	left := v.join(testimony{late: late, says: func(l *Finding) evidence.Witness {
		return evidence.Witness{Source: evidence.FromProfiler, Stage: l.Stage, Excess: l.Excess, Step: l.Step, Steps: steps}
	}, apart: func(f *Finding) {
		if f.Cause == CauseLate && f.Flagged() {
			f.lack(evidence.Lack{Reason: evidence.SourcesDisagree, AtMost: evidence.Supported, Rank: late[0].Rank, Source: evidence.FromProfiler})
		}
	}})
	for i := range left {
		left[i].Windows, left[i].Detail = nil, -1 // they are of the traces
		if j.synchronises() {
			left[i].lack(evidence.Lack{Reason: evidence.SourcesDisagree, AtMost: evidence.Supported})
		}
	}
	v.Findings = append(v.Findings, left...)
	slices.SortStableFunc(v.Findings, func(a, b Finding) int { return byWeight(&a, &b) })
	if len(left) > 0 && sameRank(left, &v.Findings[0]) >= 0 {
		for _, a := range p.Next {
			if a.Window = nil; a.Action != answer.Profile { // which was done
				v.Next = append(v.Next, a)
			}
		}
	}
}
