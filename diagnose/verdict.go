// Package diagnose composes the engines into one verdict: what made the group
// slow, which rank and stage, how sure that is, and what to record next.
//
// It asks, in order: is the data good enough; what does the frontier charge
// (by the analysis cut and, beside it, by the paper's); who was late where the
// ranks synchronise; what would fixing that save; and what cannot be told from this
// signal. Findings are ranked by the exposed time that they explain.
// Confidence is decided by labels and by agreement between independent
// evidence, and every finding carries its evidence as kinds and numbers: package
// report alone makes sentences of them.
package diagnose

import (
	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/engine/gates"
)

// RunVerdict is the verdict on one run.
type RunVerdict struct {
	Run        string                 // identity of the run
	Status     answer.Status          // the answer in one word
	Confidence evidence.Confidence    // certainty of the first finding
	Findings   []Finding              // what may be acted on first, then what is uncertain, then what is small; within each by exposed time explained
	Together   float64                // part of the run that fixing every rank that is late for certain saves; 0: not known, or there is one at most
	Limits     []answer.Limit         // how large a delay of one rank has to be to be reported, and where one may hide
	Coverage   []answer.Coverage      // what the recording shows of each place of a step
	Latent     *answer.Latent         // who differs by less than a delay is found by; nil: nothing was tested
	Observed   []evidence.Observation // what is known of the run as a whole
	Undecided  []answer.Undecided     // what the data cannot answer, each with what would
	Problems   []answer.Problem       // what was lost, skipped or refused
	Next       []answer.Action        // what to do next, the most useful first
	Devices    []Device               // how the device of each rank spent its time; empty: not recorded
	Earlier    *Earlier               // of a run that goes on: what came before the windows that the verdict is on; nil: nothing

	MinGain   float64 // from which on a finding is large enough to act on
	Windows   []Window
	Operators *Operators // of an operator trace, which has no windows; else nil
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
	Stages []string           // in the order of the step as recorded
}

// Verdict is the answer to all runs of the input. Its own fields repeat those
// of the run whose cause is surest, and among those explains the largest part.
type Verdict struct {
	RunVerdict
	Runs      []RunVerdict            // in the order of the input
	First     int                     // index in Runs of the run that the verdict's own fields repeat
	Recurring *evidence.RecurringHost // that late ranks of several runs are on; nil: none
	Thresholds
}

// Thresholds are what a verdict rests on.
type Thresholds struct {
	Gates gates.Gates // thresholds that were used
}

// All returns the runs; a verdict without a list is its own only run.
func (v *Verdict) All() []RunVerdict {
	if len(v.Runs) == 0 {
		return []RunVerdict{v.RunVerdict}
	}
	return v.Runs
}
