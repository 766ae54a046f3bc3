package diagnose

import (
	"slices"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/stagename"
)

// joinOperators joins the claims with those of an operator trace of the same run. Windows show every step and
// where time is lost, operators of the steps that they were recorded in who computes longer:
//
//   - a rank that both find is one claim, with the evidence of both;
//   - a rank that windows find late where ranks compute, while operators find another slow and not it, is less
//     certain;
//   - what operators find alone is a claim of the run: where windows show everybody's waits, and nobody late, it is
//     less certain.
//
// A run without windows is judged by its operators alone.
func (j *judge) joinOperators(claims []Finding) []Finding {
	if j.operators == nil || len(j.windows) == 0 {
		return claims
	}
	o := j.operators
	reported := flaggedFindings(o.Findings)
	_, hidden := largestHidden(j.stepQuestions())
	return j.join(claims, testimony{late: reported, agrees: func(l *Finding) evidence.Witness {
		return evidence.Witness{Source: evidence.FromOperators, Op: l.Op, Excess: l.Excess, Step: l.Step, Steps: len(o.Operators.Steps)}
	}, denies: func(f Finding) Finding {
		f.addContradiction(reported, o.Operators)
		return f
	}, alone: func(l Finding) Finding {
		l.lackIf(l.Rank != nil && !hidden && j.synchronises(), evidence.Lack{Reason: evidence.SourcesDisagree, AtMost: evidence.Supported})
		return l
	}})
}

// operatorsSeen returns what was read of an operator trace; nil: none.
func (j *judge) operatorsSeen() *Operators {
	if j.operators == nil {
		return nil
	}
	return j.operators.Operators
}

// flaggedFindings returns the findings that are worth acting on.
func flaggedFindings(all []Finding) []Finding {
	return slices.DeleteFunc(slices.Clone(all), func(f Finding) bool { return !f.IsFlagged() })
}

// needsOperators reports whether a finding is that of an operator trace, or certain enough
// only with it.
func (f *Finding) needsOperators() bool {
	_, alone := evidence.Find[evidence.StepReplay](f.Evidence)
	w, asked := evidence.WitnessOf(f.Evidence, evidence.FromOperators)
	return alone || asked && w.Raised
}

// tracedSteps returns what operators were looked at.
func tracedSteps(o *Operators) evidence.Witness {
	return evidence.Witness{Source: evidence.FromOperators, Operators: o.Ops, Ranks: len(o.Workers), Steps: len(o.Steps), First: o.Steps[0], Last: o.Steps[len(o.Steps)-1]}
}

// addContradiction adds the evidence that operators find nothing of a rank that windows find late, where the delay is in stages in
// which ranks compute.
func (f *Finding) addContradiction(reported []Finding, o *Operators) {
	kind := stagename.KindOf(f.Stage)
	there := slices.ContainsFunc(o.Workers, func(r trace.Rank) bool { return r.ID == *f.Rank })
	if !there || !f.IsFlagged() || f.Stage != "" && kind != stagename.Forward && kind != stagename.Backward {
		return
	}
	at := slices.IndexFunc(reported, func(l Finding) bool { return l.Rank != nil })
	if at < 0 {
		f.Evidence = append(f.Evidence, tracedSteps(o))
		return
	}
	f.lack(evidence.Lack{Reason: evidence.SourcesDisagree, AtMost: evidence.Supported, Rank: reported[at].Rank, Source: evidence.FromOperators})
}
