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
	left := slices.Clone(late)
	for i := range v.Findings {
		f := &v.Findings[i]
		if f.Kind != KindRank || f.Rank == nil || f.Cause != CauseLate {
			continue
		}
		if at := sameRank(late, f); at >= 0 {
			f.witnessedBy(&late[at], steps)
			left = slices.DeleteFunc(left, func(l Finding) bool { return *l.Rank == *f.Rank })
		} else if f.Flagged() {
			f.lack(evidence.Lack{Reason: evidence.SourcesDisagree, AtMost: evidence.Supported, Rank: late[0].Rank, Source: evidence.FromProfiler})
		}
	}
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

// witnessedBy adds to a finding that a profiler's traces find the rank late too.
func (f *Finding) witnessedBy(l *Finding, steps int) {
	raised := f.Confidence < l.Confidence
	f.Confidence = max(f.Confidence, l.Confidence)
	f.Evidence = slices.DeleteFunc(slices.Clone(f.Evidence), func(e evidence.Observation) bool {
		lack, ok := e.(evidence.Lack)
		return ok && lack.AtMost < f.Confidence // which the traces make up for
	})
	f.Evidence = append(f.Evidence, evidence.Witness{Source: evidence.FromProfiler, Agrees: true, Stage: l.Stage, Excess: l.Excess, Step: l.Step, Steps: steps, Confidence: l.Confidence, Raised: raised})
}
