package report

import (
	"fmt"
	"math"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/internal/table"
)

// The first screen of an operator trace.

func sayOperatorAnswer(v *diagnose.RunVerdict, a *diagnose.Answer) string {
	step := length(v.Operators.Replay.Recorded.Mean)
	switch {
	case a.Largest != nil:
		return fmt.Sprintf("No finding above the %s threshold; largest: %s, %s of a %s step.", percentOf(v.MinGain), sayOperatorFinding(a.Largest), sayExplains(a.Largest), step)
	case a.First == nil:
		return fmt.Sprintf("Nothing found among %s%s. A step takes %s, and %s with every operator as long as its peers.",
			sayOperatorsOf(v.Operators), sayLeast(v.Coverage), step, length(v.Operators.Replay.Ideal.Mean))
	}
	what := sayFirstOfOperators(a.First)
	switch a.First.Confidence {
	case evidence.Supported:
		what = "Probably " + what
	case evidence.Ambiguous:
		what = "Possibly " + what
	default:
		what = upper(what)
	}
	text := what + ". " + sayFixed(a.First)
	for _, f := range a.Also {
		text += fmt.Sprintf(" Second: %s (%s).", sayOperatorFinding(f), sayExplains(f))
	}
	return text
}

// sayLeast states what would have been found wherever it is, or what noise may hide; "" where neither is known.
func sayLeast(coverage []answer.Coverage) string {
	if least := minDetectable(coverage); least != 0 {
		return fmt.Sprintf(": a worker slower by %s a step would have been", length(least))
	}
	if noise := noiseLimit(coverage); noise != 0 {
		return fmt.Sprintf(": what any worker takes longer than its peers costs at most %s a step", length(noise))
	}
	return ""
}

// sayExplains states how much of a step a finding explains by replay.
func sayExplains(f *diagnose.Finding) string {
	e, ok := evidence.Find[evidence.StepReplay](f.Evidence)
	if !ok {
		return ""
	}
	return fraction(e.Share)
}

func sayFirstOfOperators(f *diagnose.Finding) string {
	if len(f.Ranks) > 1 {
		return fmt.Sprintf("%ss %s each take longer than their peers for the same work", nounOf(f.StandsFor != nil), rankList(f.Ranks))
	}
	return sayOperatorFinding(f)
}

func sayOperatorFinding(f *diagnose.Finding) string {
	transfer, timed := evidence.Find[evidence.TransferTimes](f.Evidence)
	switch f.Cause {
	case diagnose.CauseCompute:
		what := "takes longer than its peers"
		if e, ok := evidence.Find[evidence.OperatorTimes](f.Evidence); ok {
			what = sayOperatorTimes(e)
		}
		return fmt.Sprintf("%s %s%s", workerOf(f), what, sayInSteps(&f.Struck))
	case diagnose.CauseTransfer:
		to := -1
		if len(transfer.Between) == 2 {
			to = transfer.Between[1]
		}
		return fmt.Sprintf("the transfer by %s from %s to %s %d is slower than between its peers", f.Op, workerOf(f), nounOf(f.StandsFor != nil), to)
	case diagnose.CauseLink:
		if !timed {
			return ""
		}
		return fmt.Sprintf("the transfer by %s from %s to %s takes %s as long as between the other stages", f.Op, f.Stage, transfer.To, table.Times(transfer.Factor))
	case diagnose.CauseCollective:
		factor := ""
		if timed {
			factor = table.Times(transfer.Factor)
		}
		return fmt.Sprintf("the collective %s over the replicas of %s takes %s as long as on the other stages", f.Op, f.Stage, factor)
	case diagnose.CauseLaunch:
		return fmt.Sprintf("%s starts %s late, behind operators that were on time: its host was busy, or waits for something that is not in the trace", workerOf(f), f.Op)
	case diagnose.CauseHeavy:
		return sayHeavyStage(f)
	case diagnose.CauseRegression:
		return sayStageSlower(f) + sayOnStage(f)
	case diagnose.CauseSlowSteps, diagnose.CausePeriodic:
		return fmt.Sprintf("%s longer%s%s", countIs(f.Struck.Count, "step"), sayInOp(f), sayOnStage(f))
	}
	if _, ok := evidence.Find[evidence.MicrobatchCorrelation](f.Evidence); ok {
		return "uneven microbatches make the workers wait for each other in turn"
	}
	return fmt.Sprintf("uneven work%s makes the workers wait for each other in turn", sayInOp(f))
}

func sayInOp(f *diagnose.Finding) string {
	if f.Op == "" {
		return ""
	}
	return " in " + f.Op
}

func sayStageSlower(f *diagnose.Finding) string {
	e, ok := evidence.Find[evidence.Slower](f.Evidence)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%s takes %s a step from step %d on, %s before", e.Stage, length(e.Time), f.Struck.First, length(e.BaseTime))
}

func sayHeavyStage(f *diagnose.Finding) string {
	e, ok := evidence.Find[evidence.PassTimes](f.Evidence)
	if !ok {
		return ""
	}
	last := ""
	if e.Stage != nil && *e.Stage == e.Peers {
		last = " (the last)"
	}
	return fmt.Sprintf("pipeline stage %s%s takes %s as long in forward and backward compute as the others", f.Stage, last, table.Times(e.Factor))
}

func sayOnStage(f *diagnose.Finding) string {
	if f.Stage == "" {
		return ", on all workers"
	}
	return ", on all replicas of " + f.Stage
}

// sayInSteps states which steps make a worker slow; "" where all do.
func sayInSteps(s *diagnose.Struck) string {
	which := ""
	switch s.Pattern {
	case diagnose.PatternWindow:
		which = fmt.Sprintf(" (%s)", stepsWord(s.First, s.Last))
	case diagnose.PatternPeriodic:
		which = fmt.Sprintf(" (every %s from step %d on)", ordinal(s.Period), s.First)
	case diagnose.PatternIntermittent:
	default:
		return ""
	}
	return fmt.Sprintf(" over all steps, because of %s of %s steps%s", table.Grouped(int64(s.Count)), table.Grouped(int64(s.Of)), which)
}

// sayFixed states what fixing a finding saves by replay.
func sayFixed(f *diagnose.Finding) string {
	e, ok := evidence.Find[evidence.StepReplay](f.Evidence)
	if !ok {
		return ""
	}
	saved, fixing := e.Saved, "Fixing it"
	switch {
	case len(f.Ranks) > 1:
		saved, fixing = e.Joint, "Fixing all of them"
	case e.Masked:
		fixing = "Fixing it alone"
	case f.Cause == diagnose.CauseTurns:
		fixing = "Evening it out"
	case f.Cause == diagnose.CauseHeavy:
		fixing = "Making it as fast as the others"
	}
	text := fmt.Sprintf("%s would cut step time by %s, from %s to %s", fixing, fraction(share(saved, e.Step)), length(e.Step), length(e.Step-saved))
	switch {
	case e.Masked && len(f.Ranks) <= 1:
		text += fmt.Sprintf(", since others hold it up too; without all of them it is %s (%s less)", length(e.Step-e.Joint), fraction(share(e.Joint, e.Step)))
	case math.Abs(float64(e.Record-e.Step)) > float64(e.Record)/100:
		text += " (late starts left out)"
	}
	return text + "."
}

// workerOf names the rank of a finding with its place, or the worker that stands for several ranks.
func workerOf(f *diagnose.Finding) string { return workerName(*f.Rank, f.Role, f.StandsFor) }
