package answer

import (
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/claim"
)

// Latent is what the second stage shows of a run: who differs from the peers by more than a margin in what they work by
// themselves, however little that costs. It decides no status.
type Latent struct {
	Refused     Refusal // why nothing was tested; "": it was
	Screened    bool    // nobody's level comes near the margin, and nobody varies much more than others: nothing was drawn
	Steps       int
	Margin      int64   // that a difference has to exceed, ns a step
	Step        int64   // length of a step, ns
	Tau         float64 // steps that count as one independent step
	Block       int     // length of a block, steps
	Blocks      int
	Walked      bool         // walks of blame say who is waited for, and replay what that costs: of operator traces
	Differences []Difference // the surest first
}

// Difference is how one rank differs, as its claim has it.
type Difference struct {
	claim.Difference
	Rank      int
	StandsFor []int  // ranks that a worker of an operator trace stands for, which Rank names; empty: that rank alone
	Role      string // likewise its place in the layout
	Host      string // "": not known
	Peer      *int   // the only other rank, which may as well be the one that differs; nil: there are several
	Stages    []Excess
	// Confidence is Ambiguous where the distribution alone shows it, and nobody is seen to wait.
	Confidence evidence.Confidence
	P          float64 // of distribution and waits
	// Of a worker of an operator trace walks of blame say who is waited for, and a replay what that costs.
	Walks    int     // that end there
	Symptoms int     // walks in all
	Saves    float64 // part of a step that a replay saves in which it takes Level less
	Named    bool    // a finding says that the rank is late, so that this is evidence for it
}

// Refusal is why the second stage tests nothing.
type Refusal string

// The refusals.
const (
	TooFewSteps  Refusal = "few_steps"  // to say how long noise stays correlated
	TooFewBlocks Refusal = "few_blocks" // noise stays correlated so long that too few stretches are independent
)

// Names returns all refusals.
func (Refusal) Names() []string { return namesOf([]Refusal{TooFewSteps, TooFewBlocks}) }

// Excess is what a rank takes in a stage beyond the median of its peers, ns a step.
type Excess struct {
	Stage string // of an operator trace the kind of operators; "": several that are short
	Late  bool   // they start so much later after all that they wait for
	Time  int64
}

// IsReported reports whether a difference is worth a line under a verdict: distribution and waits agree, and no finding has it.
func (d *Difference) IsReported() bool { return !d.Named && d.Confidence >= evidence.Supported }
