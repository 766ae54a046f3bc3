// Package diagnose composes the engines into one verdict: what made the group
// slow, which rank and stage, how sure that is, and what to record next.
//
// It asks, in order: is the data good enough; what does the frontier charge
// (by the analysis cut and, beside it, by the paper's); who was late where the
// ranks synchronise; what would fixing that save; and what cannot be told from this
// signal. Suspects are ranked by the exposed time that they explain.
// Confidence is decided by labels and by agreement between independent
// evidence, and every finding carries its evidence as kinds and numbers: package
// report alone makes sentences of them.
package diagnose

import (
	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/diagnose/operators"
	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/engine/frontier/gates"
)

// RunVerdict is the verdict on one run.
type RunVerdict struct {
	Run        string
	Confidence evidence.Confidence
	Status     answer.Status
	MinGain    float64 // from which on a finding is large enough to act on
	Suspects   []Finding
	Observed   []evidence.Observation // of the run as a whole, where nobody is suspected
	Undecided  []answer.Undecided
	Problems   []answer.Problem
	Next       []answer.Action
	Limits     []Limit // of what windows can show, by stage in the order of the step; nil: not computed
	Windows    []Window
	Earlier    []Stretch  // of the same run, before Windows; nil: there was nothing
	Operators  *Operators // of an operator trace, which has no windows; else nil
	// Communications is what there was to compare, of a run that is judged by
	// calls and kernels of NCCL alone; else nil.
	Communications *Communications
	// Traffic is what calls and kernels of NCCL were put together to; nil where there
	// are not both.
	Traffic *comm.Result
}

// Window is one window of a run: the frontier by the analysis cut, by the
// paper's cut beside it, and one for each role group.
type Window struct {
	Main   *frontier.Result
	Paper  *frontier.Result   // step cut without model fit; nil when Main is that
	Groups []*frontier.Result // one per role group when roles differ
	// Signs are those of K-S, pooled outliers and blame; nil where nobody is charged
	// enough to look for them.
	Signs  *operators.Signs
	Stages []string // in the order of the step as recorded

	later *weighing // is looked at when a finding asks for it; nil: Signs are known
}

// Verdict is the answer to all runs of the input. Its own fields repeat those
// of the run whose cause is surest, and among those explains the largest part.
type Verdict struct {
	RunVerdict
	Runs      []RunVerdict
	Recurring *evidence.RecurringHost // that late ranks of several runs are on; nil: none
	Gates     gates.Gates
}

// All are the runs; a verdict that lists none is its own only one.
func (v *Verdict) All() []RunVerdict {
	if len(v.Runs) == 0 {
		return []RunVerdict{v.RunVerdict}
	}
	return v.Runs
}
