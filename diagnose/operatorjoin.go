package diagnose

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/stagename"
)

// traced joins the findings of the windows with those of an operator trace of the
// same run. Windows show every step and where time is lost, operators of the steps
// that they were recorded in who computes longer:
//
//   - a rank that both find is one finding, with the evidence of both;
//   - a rank that windows find late where ranks compute, while operators find
//     another slow and not it, is less certain;
//   - what operators find alone is a finding of the run: where windows show
//     everybody's waits, and nobody late, it is less certain.
//
// A run without windows is judged by its operators alone.
func (j *judge) traced(v *RunVerdict) {
	o := *j.operators
	if len(j.windows) == 0 {
		o.MinGain = v.MinGain
		*v = o
		return
	}
	v.Operators, v.Undecided = o.Operators, append(v.Undecided, o.Undecided...)
	reported := slices.DeleteFunc(slices.Clone(o.Findings), func(f Finding) bool { return !f.Flagged() })
	left := v.join(testimony{late: reported, says: func(l *Finding) evidence.Witness {
		return evidence.Witness{Source: evidence.FromOperators, Op: l.Op, Excess: l.Excess, Step: l.Step, Steps: len(o.Operators.Steps)}
	}, apart: func(f *Finding) { f.apartFrom(reported, o.Operators) }})
	if len(reported) == 0 {
		v.Observed = append(v.Observed, tracedSteps(o.Operators))
		return
	}
	_, hidden := v.Hidden()
	for i := range left {
		if f := &left[i]; f.Rank != nil && !hidden && j.synchronises() {
			f.lack(evidence.Lack{Reason: evidence.SourcesDisagree, AtMost: evidence.Supported})
		}
	}
	v.Findings = append(v.Findings, left...)
	// Of what weighs alike, what windows find comes first: they are of the whole run.
	slices.SortStableFunc(v.Findings, func(a, b Finding) int { return cmp.Compare(b.weight(), a.weight()) })
	if first := &v.Findings[0]; first.traced() {
		v.Undecided = slices.DeleteFunc(v.Undecided, func(u answer.Undecided) bool { return u.HidesRank() })
		if len(left) > 0 && sameRank(left, first) >= 0 {
			v.Next = o.Next
		}
	}
}

// traced reports whether a finding is that of an operator trace, or certain enough
// only with it.
func (f *Finding) traced() bool {
	_, alone := evidence.Find[evidence.StepReplay](f.Evidence)
	w, asked := evidence.WitnessOf(f.Evidence, evidence.FromOperators)
	return alone || asked && w.Raised
}

// tracedSteps is what operators were looked at.
func tracedSteps(o *Operators) evidence.Witness {
	return evidence.Witness{Source: evidence.FromOperators, Operators: o.Ops, Ranks: len(o.Workers), Steps: len(o.Steps), First: o.Steps[0], Last: o.Steps[len(o.Steps)-1]}
}

// apartFrom says that operators find nothing of a rank that windows find late, where
// that is time in which ranks compute.
func (f *Finding) apartFrom(reported []Finding, o *Operators) {
	kind := stagename.KindOf(f.Stage)
	there := slices.ContainsFunc(o.Workers, func(r trace.Rank) bool { return r.ID == *f.Rank })
	if !there || !f.Flagged() || f.Stage != "" && kind != stagename.Forward && kind != stagename.Backward {
		return
	}
	at := slices.IndexFunc(reported, func(l Finding) bool { return l.Rank != nil })
	if at < 0 {
		f.Evidence = append(f.Evidence, tracedSteps(o))
		return
	}
	f.lack(evidence.Lack{Reason: evidence.SourcesDisagree, AtMost: evidence.Supported, Rank: reported[at].Rank, Source: evidence.FromOperators})
}
