// Package diagnose composes the engines into one verdict: what made the group
// slow, which rank and stage, how sure that is, and what to record next.
//
// It asks, in order: is the data good enough; what does the frontier charge
// (by the analysis cut and, beside it, by the paper's); who was late where the
// ranks meet; what would mending that buy; and what cannot be told from this
// signal. Suspects are ranked by the exposed time that they explain.
// Confidence is decided by labels and by agreement between independent
// evidence, and every suspect carries the evidence as sentences.
package diagnose

import (
	"github.com/sfstat/sfstat/engine/frontier"
)

// CapturePlan is what a heavy profiler should record next.
type CapturePlan struct {
	Window int64    // −1: the trace is not in windows
	Steps  [2]int64 // first and last step of that window, or of the trace; −1: steps are not known
	Ranks  []int
	Stages []string
	Tool   string // what to record with
	Why    string
}

// RunVerdict is the verdict on one run.
type RunVerdict struct {
	Run         string
	Headline    string
	Confidence  Confidence
	Status      Status
	Suspects    []Finding
	Undecided   []Undecided
	Problems    []Problem
	Next        []Action
	Undecidable []string // of a judge that is not typed yet
	CapturePlan *CapturePlan
	Windows     []Window
	Operators   *Operators // of an operator trace, which has no windows; else nil
	// Communications is what there was to compare, of a run that is judged by
	// calls and kernels of NCCL alone; else nil.
	Communications *Communications
}

// Window is one window of a run: the frontier by the analysis cut, by the
// paper's cut beside it, and one for each role group.
type Window struct {
	Main   *frontier.Result
	Paper  *frontier.Result   // step cut without model fit; nil when Main is that
	Groups []*frontier.Result // one per role group when roles differ
}

// Verdict is the answer to all runs of the input. Its own fields repeat those
// of the run whose cause is surest, and among those explains the largest part.
type Verdict struct {
	RunVerdict
	Runs  []RunVerdict
	Gates frontier.Gates
}
