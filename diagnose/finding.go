package diagnose

import (
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/trace/enum"
)

// Finding is one answer: what delays whom, where, how much, how sure.
type Finding struct {
	Kind  Kind  // what delays the job
	Cause Cause // how it delays the job
	Place
	Confidence   evidence.Confidence // how certain it is, whatever its size
	BelowMinGain bool                // it is smaller than the least gain, however certain
	Cost
	Evidence []evidence.Observation // what speaks for it, the strongest first; then what a higher confidence lacks
	Windows  []int64                // numbers of the windows that show it
	Detail   int                    // index in RunVerdict.Windows of the one that the evidence is from

	Jointly   bool            // it is worth acting on together with others
	P         float64         // of a finding of the steps: chance of it
	Incidents int             // likewise: stretches of steps apart from one another
	modelled  bool            // from the model of steps
	source    evidence.Source // that claims it; "": the steps
}

// IsFlagged reports whether a finding is certain and large enough to act on, alone or together with others.
func (f *Finding) IsFlagged() bool {
	return f.Confidence >= evidence.Supported && (!f.BelowMinGain || f.Jointly)
}

// Kind is what is suspected.
type Kind uint8

const (
	KindRank     Kind = iota // one rank
	KindStage                // a stage on all ranks alike
	KindOp                   // one operator
	KindEdge                 // a transfer between ranks, or a link
	KindGroup                // a role group, or a communicator
	KindWorkload             // the work itself varies
	KindHost                 // all ranks of one host
)

var kindNames = [...]string{"rank", "stage", "op", "edge", "group", "workload", "host"}

func (k Kind) String() string { return enum.Name(kindNames[:], k) }

// Names returns all kinds.
func (Kind) Names() []string { return kindNames[:] }

// Cause is how a finding delays the job. It decides what the headline says and
// what to do next.
type Cause uint8

const (
	CauseUnknown    Cause = iota
	CauseLate             // others waited for it at synchronisation points
	CauseDevice           // slow on the device
	CauseMoreWork         // a role group with more work than the others
	CauseRegression       // longer in some windows or steps than in others, on all ranks
	CauseTurns            // ranks are late by turns
	CauseSlowSteps        // steps, or a stage in some steps, slow on all ranks
	CauseHost             // long on the host, short on the device, on all ranks
	CauseOperator         // the operator behind another finding
	CauseCompute          // a worker computes longer than its peers
	CauseTransfer         // the transfers between two workers take longer
	CauseLink             // the transfers between two stages take longer in all replicas, or a link is slow
	CauseCollective       // the collectives of one stage or communicator take longer
	CauseLaunch           // an operator starts late behind what was on time
	CauseHeavy            // a pipeline stage has more to compute
	CauseMissing          // never entered a collective that the others wait in
	CauseDesync           // ranks entered different collectives
	CauseStartUp          // the first steps are longer
	CausePeriodic         // steps at equal distances are longer on all ranks, perhaps by design
)

var causeNames = [...]string{"unknown", "late", "device", "more_work", "regression", "turns", "slow_steps", "forward_host_overhead", "operator",
	"compute", "transfer", "link", "collective", "launch", "heavy", "missing", "desync", "start_up", "periodic"}

func (c Cause) String() string { return enum.Name(causeNames[:], c) }

// Names returns all causes.
func (Cause) Names() []string { return causeNames[:] }

// Place is where a finding is. Whatever does not apply, or is not known, is
// zero.
type Place struct {
	Rank      *int                 // global rank; nil: not one rank, or not known which
	StandsFor []int                // ranks that a worker of an operator trace stands for, which Rank names; empty: that rank alone
	Host      string               // host of the rank, or the host that delays the job
	LocalRank *int                 // index of the rank on its host
	Role      string               // place of the rank in the layout
	Stage     string               // stage with the delay; "": several, or not known
	Op        string               // operation with the delay, or at which the rank is waited for
	Seq       *int                 // instance of the operation in its step; nil: all of them
	Group     string               // role group, process group or communicator
	Ranks     []int                // ranks at the ends of a link, of a communicator, or late together
	Source    *evidence.SourceLine // line of the program with the delay, or that enters the operation
}

// Cost is what a finding costs. Times are nanoseconds.
type Cost struct {
	Gain      float64 // part of the steps that it struck that fixing it alone saves
	RunGain   float64 // part of the run that fixing it alone saves
	RunLow    float64 // RunGain lies above it, at 90 %
	RunAtMost float64 // RunGain lies below it, at 90 %; with what a stage in which ranks synchronise may hide, or with the other findings fixed before
	After     float64 // part of the run that it saves with the other findings fixed before
	Struck    Struck  // which steps it struck
	Step      int64   // length of a step that it struck
	Excess    int64   // how much longer a step that it struck is than one without it
	Explained int64   // exposed time that it explains, over all steps that it struck
	Score     float64 // Explained as a fraction of the windows that show it
}

// times returns a part of a cost, in the same steps.
func (c Cost) times(part float64) Cost {
	c.Excess, c.Explained = int64(part*float64(c.Excess)), int64(part*float64(c.Explained))
	c.Score, c.Gain, c.RunGain, c.After = part*c.Score, part*c.Gain, part*c.RunGain, part*c.After
	c.RunLow, c.RunAtMost = part*c.RunLow, part*c.RunAtMost
	return c
}

// Struck is which steps a finding struck.
type Struck struct {
	Count int   // steps that it struck
	Of    int   // steps that were compared
	First int64 // first of the steps that it struck, as recorded; negative: not known
	Last  int64 // last of them

	Pattern Pattern // how they lie in the run
	Period  int     // how many steps lie from one that it struck to the next; 0: not always as many
}

// rate returns the fraction of the steps that were struck.
func (s Struck) rate() float64 { return float64(s.Count) / float64(max(1, s.Of)) }

// Pattern is how struck steps lie in the run.
type Pattern uint8

const (
	PatternUnknown      Pattern = iota
	PatternConstant             // (nearly) every step
	PatternIntermittent         // some steps, over the whole run
	PatternWindow               // one stretch of the run
	PatternPeriodic             // steps at equal distances
)

var patternNames = [...]string{"unknown", "constant", "intermittent", "window", "periodic"}

func (p Pattern) String() string { return enum.Name(patternNames[:], p) }

// Names returns all patterns.
func (Pattern) Names() []string { return patternNames[:] }
