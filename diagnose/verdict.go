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
	"fmt"

	"github.com/sfstat/sfstat/engine/frontier"
)

// Confidence is how far a finding may be trusted.
type Confidence uint8

const (
	// Insufficient: too small, or too little data, for this window to call.
	Insufficient Confidence = iota
	// Ambiguous: several readings fit.
	Ambiguous
	// Supported: one kind of evidence stands alone, or a condition for Strong
	// is missing and named.
	Supported
	// Strong: independent evidence agrees, and nothing speaks against it.
	Strong
)

var confidenceNames = [...]string{"insufficient", "ambiguous", "supported", "strong"}

func (c Confidence) String() string {
	if int(c) < len(confidenceNames) {
		return confidenceNames[c]
	}
	return fmt.Sprintf("confidence(%d)", c)
}

// Kind is what a suspect is.
type Kind uint8

const (
	KindRank     Kind = iota // one rank, in one stage
	KindStage                // a stage on all ranks alike
	KindOp                   // one operator
	KindEdge                 // a transfer between ranks, or a link
	KindGroup                // a role group, or a communicator
	KindWorkload             // the work itself varies
)

var kindNames = [...]string{"rank", "stage", "op", "edge", "group", "workload"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", k)
}

// Suspect is one possible cause.
type Suspect struct {
	Kind      Kind
	Rank      *int   // global rank; nil when not one rank, or not decidable
	Stage     string // "" when the suspect is not a stage
	Op        string // "" when not an operator
	Seq       *int   // of the instance in its step; nil: all of them
	Group     string // role group, "" otherwise
	Role      string // place of the rank in the layout, "" when not known
	Score     float64
	Explained int64   // exposed nanoseconds over the windows that show it
	Gain      float64 // fraction of the makespan that mending it alone saves
	// Confidence and the sentences that justify it, strongest first.
	Confidence Confidence
	Evidence   []string
	Windows    []int64 // the windows that show it
	// Ranks are those at the ends of a link or of a communicator, where calls and kernels of NCCL tell; nil otherwise.
	Ranks    []int
	Sentence string // the suspect in one sentence, "" where the headline alone has it
}

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
	Suspects    []Suspect
	Undecidable []string // what this signal cannot tell, each with what would
	CapturePlan *CapturePlan
	Windows     []Window
	Operators   *Operators // of an operator trace, which has no windows; else nil
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
