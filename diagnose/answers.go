package diagnose

import (
	"slices"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
)

// Answer is what the verdict on a run comes to: who delays it, where, by how much, what fixing that saves, how
// certain it is and what to do next. All that words a verdict reads it: text, pages, JSON, serve, watch.
type Answer struct {
	Basis     Basis
	First     *Finding            // what delays the run; nil: the answer names nothing
	Who       Who                 // of First
	Where     Where               // of First
	Saving    Saving              // by fixing First
	Certainty evidence.Confidence // of First where it may be acted on
	Also      []*Finding          // what is wrong beside First, the most costly first
	Late      int                 // how many of First and Also are late, where Together is known
	Together  float64             // part of the run that fixing all of these saves
	Why       Why                 // of First

	Largest  *Finding         // of an operator trace in which nothing is worth acting on; nil: nothing
	Shortage Shortage         // of too little data
	Open     answer.Undecided // what leaves the run undecided
	Behind   *Finding         // who is slow by stage times, and may wait for others in messages; nil: nobody
	Healthy  *Healthy         // of a run without a straggler
	Next     []answer.Action  // what to do first
}

// Basis is what an answer rests on.
type Basis string

const (
	OnStatus        Basis = "status"        // the status alone
	OnFinding       Basis = "finding"       // the first finding
	OnOperators     Basis = "operators"     // an operator trace
	OnCommunication Basis = "communication" // calls and kernels of NCCL
	OnCalls         Basis = "calls"         // the same, which show no suspect
	OnNoStraggler   Basis = "no_straggler"
	OnUnseen        Basis = "unseen"
	OnTooLittle     Basis = "too_little"
	OnOpenQuestion  Basis = "open_question"
)

// mostNext is how many actions an answer has: who reads more of them acts on none.
const mostNext = 2

// Answer returns the answer to a run.
func (v *RunVerdict) Answer() Answer {
	a := Answer{Basis: v.basis(), Next: v.Next[:min(mostNext, len(v.Next))]}
	switch a.Basis {
	case OnNoStraggler, OnUnseen:
		a.Healthy = v.healthy()
	case OnTooLittle:
		a.Shortage = v.shortage()
	case OnOpenQuestion:
		a.Open = v.openQuestion()
		if f := v.first(); a.Open.Question == answer.MessagesNotRecorded && f != nil && f.Rank != nil && f.Stage != "" {
			a.Behind = f
		}
	case OnFinding, OnCommunication:
		a.First = v.first()
	case OnOperators:
		if f := v.first(); f != nil && f.BelowMinGain {
			a.Largest, a.Why = f, f.mainEvidence()
		} else {
			a.First = f
		}
	}
	if f := a.First; f != nil {
		a.Who, a.Where, a.Saving, a.Why = f.Who(), f.Where(), f.Saving(), f.mainEvidence()
		a.Also = v.furtherFindings(a.Basis)
		if f.IsFlagged() {
			a.Certainty = f.Confidence
		}
		if late := countLate(a.Also) + 1; v.Together > 0 && late > 1 && f.Cause == CauseLate {
			a.Late, a.Together = late, v.Together
		}
	}
	return a
}

// first returns the first finding, nil without one.
func (v *RunVerdict) first() *Finding {
	if len(v.Findings) == 0 {
		return nil
	}
	return &v.Findings[0]
}

func (v *RunVerdict) basis() Basis {
	first := v.first()
	alone := v.Operators != nil && len(v.Windows) == 0
	switch {
	case alone && (first == nil || first.BelowMinGain) && v.Status == answer.Unseen:
		return OnUnseen
	case alone && first == nil && v.Status == answer.TooLittleData:
		return OnTooLittle
	case alone || v.Operators != nil && first != nil && first.isReplay():
		return OnOperators
	case v.Communications != nil && first == nil:
		return OnCalls
	case first != nil && first.isCommunicationOnly():
		return OnCommunication
	case v.Status == answer.NoStraggler:
		return OnNoStraggler
	case v.Status == answer.Unseen:
		return OnUnseen
	case v.Status == answer.TooLittleData:
		return OnTooLittle
	case v.Status == answer.UndecidedRun && (first == nil || first.BelowMinGain || first.Confidence < evidence.Ambiguous):
		return OnOpenQuestion
	case first == nil:
		return OnStatus
	}
	return OnFinding
}

// isReplay reports whether a finding is that of an operator trace alone.
func (f *Finding) isReplay() bool {
	_, ok := evidence.Find[evidence.StepReplay](f.Evidence)
	return ok
}

// furtherFindings returns the findings behind the first that the answer names.
func (v *RunVerdict) furtherFindings(b Basis) (out []*Finding) {
	first := v.first()
	for i := range v.Findings[1:] {
		f := &v.Findings[i+1]
		named := false
		switch b {
		case OnOperators: // the next one, where the first is about one worker
			named = i == 0 && len(first.Ranks) < 2 && f.Confidence >= evidence.Supported && f.isReplay()
		case OnCommunication:
			named = f.Confidence >= evidence.Supported && (f.Kind == KindEdge || f.Kind == KindGroup || f.Rank != nil) &&
				(first.Rank == nil || f.Rank == nil || *first.Rank != *f.Rank)
		default:
			named = f.IsFlagged() && f.Cause != CauseOperator && (f.Rank == nil || !slices.Contains(first.Ranks, *f.Rank)) &&
				(f.Kind == KindStage || (f.Cause == CauseLate || f.Cause == CauseMissing) && f.Who().Kind != AllRanks)
		}
		if named {
			out = append(out, f)
		}
	}
	return out
}

func countLate(list []*Finding) (n int) {
	for _, f := range list {
		if f.Cause == CauseLate && f.Who().Kind != AllRanks {
			n++
		}
	}
	return n
}

// Saving is what fixing a finding saves.
type Saving struct {
	Kind  SavingKind
	Steps float64 // part of the steps that it struck
	Run   float64 // part of the run
	UpTo  float64 // the most that it may be of the run
	All   bool    // of all ranks that are late together, not of one
	Below bool    // less than what is worth acting on
}

// SavingKind is how a saving comes about.
type SavingKind string

const (
	SavesNothing     SavingKind = ""             // or it is not known
	SavesSteps       SavingKind = "steps"        // those that it struck are shorter
	SavesEveryStep   SavingKind = "every_step"   // all steps are
	SavesUpTo        SavingKind = "up_to"        // and more where the rank is slow too where ranks synchronise
	SavesUntilEnd    SavingKind = "until_end"    // and more if it stayed as slow where it was not recorded
	SavesByEvening   SavingKind = "by_evening"   // the work, among ranks
	SavesLittleAlone SavingKind = "little_alone" // others would hold the steps up next
	SavesAtMost      SavingKind = "at_most"      // at the device's pace
	SavesNoMore      SavingKind = "no_more"      // as others may wait next for what it waits for
	SavesSlowSteps   SavingKind = "slow_steps"   // were these as long as the others
)

// slowerInside is the part of a run by which an upper bound must exceed what is saved for certain to be told.
const slowerInside = 0.02

// Saving returns what fixing the finding saves, with all that are late together with it.
func (f *Finding) Saving() Saving {
	s := Saving{Steps: f.Gain, Run: f.RunGain, UpTo: f.RunAtMost, Below: f.BelowMinGain && !f.Jointly}
	if e, ok := evidence.Find[evidence.LateTogether](f.Evidence); ok {
		s.Steps, s.Run, s.All = e.Gain, e.RunGain, true
	}
	_, paced := evidence.Find[evidence.OwnPace](f.Evidence)
	switch {
	case s.Steps == 0 && s.Run == 0:
		s.Kind = SavesNothing
	case paced:
		s.Kind = SavesNoMore
	case f.Cause == CauseLate && !s.All && (f.Stage == "" || f.isOnDevice()) && s.UpTo >= s.Run+slowerInside:
		s.Kind = SavesUpTo
	case s.UpTo >= s.Run+slowerInside && f.recordEnds():
		s.Kind = SavesUntilEnd
	case f.Cause == CauseMoreWork || f.Cause == CauseTurns:
		s.Kind = SavesByEvening
	case f.Kind == KindRank && !s.All && s.Steps < float64(f.Excess)/float64(max(1, f.Step))/2:
		s.Kind = SavesLittleAlone
	case f.Cause == CauseHost:
		s.Kind = SavesAtMost
	case f.Cause == CauseSlowSteps && f.Stage == "":
		s.Kind = SavesSlowSteps
	case f.Struck.Pattern == PatternConstant:
		s.Kind = SavesEveryStep
	default:
		s.Kind = SavesSteps
	}
	return s
}

// recordEnds reports whether the rank of a finding recorded none of the last steps that others did.
func (f *Finding) recordEnds() bool {
	e, ok := evidence.Find[evidence.LastToArrive](f.Evidence)
	return ok && e.Ends
}

// Why is what speaks for a finding in a line.
type Why struct {
	Strongest evidence.Observation // nil: nothing
	Agree     []evidence.Source    // other recordings that find the same
	Certainty evidence.Confidence
	Lack      *evidence.Lack // what keeps the certainty where it is; nil: nothing
}

// mainEvidence returns the strongest evidence of a finding that the headline does not contain.
func (f *Finding) mainEvidence() Why {
	w := Why{Certainty: f.Confidence}
	for _, e := range f.Evidence {
		lack, lacks := e.(evidence.Lack)
		_, said := e.(evidence.OperatorTimes)
		switch {
		case lacks && w.Lack == nil && lack.AtMost == f.Confidence:
			w.Lack = &lack
		case !lacks && !said && w.Strongest == nil:
			w.Strongest = e
		}
	}
	for _, s := range []evidence.Source{evidence.FromOperators, evidence.FromProfiler} {
		if e, ok := evidence.WitnessOf(f.Evidence, s); ok && e.Agrees {
			w.Agree = append(w.Agree, s)
		}
	}
	return w
}
