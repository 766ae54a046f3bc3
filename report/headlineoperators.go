package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/trace"
)

// operatorHeadline is that of an operator trace.
func operatorHeadline(v *diagnose.RunVerdict, a *diagnose.Answer) string {
	step := length(v.Operators.Replay.Recorded.Mean)
	if f := a.Largest; f != nil {
		r, _ := evidence.Find[evidence.StepReplay](f.Evidence)
		return fmt.Sprintf("No finding above the %s threshold; largest: %s, %s of a %s step.", percentOf(v.MinGain), operatorFinding(f), about(r.Share), step)
	}
	f := a.First
	if f == nil {
		return fmt.Sprintf("No worker, stage or operator stands out: a step takes %s, and %s with every operator as long as its peers.",
			step, length(v.Operators.Replay.Ideal.Mean))
	}
	text := operatorFinding(f)
	if len(f.Ranks) > 1 {
		text = fmt.Sprintf("%ss %s each take longer than their peers for the same work", nounOf(f.StandsFor != nil), rankList(f.Ranks))
	}
	text = certainly(f.Confidence, text) + ". " + fixed(f)
	for _, second := range a.Also {
		r, _ := evidence.Find[evidence.StepReplay](second.Evidence)
		text += fmt.Sprintf(" Second: %s (%s).", operatorFinding(second), about(r.Share))
	}
	return text
}

// certainly begins a sentence with how certain it is.
func certainly(c evidence.Confidence, text string) string {
	switch c {
	case evidence.Supported:
		return "Probably " + text
	case evidence.Ambiguous:
		return "Possibly " + text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// operatorFinding is what a finding of an operator trace is, to stand in a
// sentence.
func operatorFinding(f *diagnose.Finding) string {
	rank := func() string { return workerName(*f.Rank, f.Role, f.StandsFor) }
	factorOf, _ := evidence.Find[evidence.TransferTimes](f.Evidence)
	switch f.Cause {
	case diagnose.CauseCompute:
		times, _ := evidence.Find[evidence.OperatorTimes](f.Evidence)
		return rank() + " " + operatorTimesWords(times) + inSteps(f.Struck)
	case diagnose.CauseTransfer:
		return fmt.Sprintf("the transfer by %s from %s to %s %d is slower than between its peers", f.Op, rank(), nounOf(f.StandsFor != nil), receiver(f))
	case diagnose.CauseLink:
		return fmt.Sprintf("the transfer by %s from %s to %s takes %s as long as between the other stages", f.Op, f.Stage, factorOf.To, table.Times(factorOf.Factor))
	case diagnose.CauseCollective:
		return fmt.Sprintf("the collective %s over the replicas of %s takes %s as long as on the other stages", f.Op, f.Stage, table.Times(factorOf.Factor))
	case diagnose.CauseLaunch:
		return fmt.Sprintf("%s starts %s late, behind operators that were on time: its host was busy, or waits for something that is not in the trace", rank(), f.Op)
	case diagnose.CauseHeavy:
		e, _ := evidence.Find[evidence.PassTimes](f.Evidence)
		place := f.Stage
		if e.Stage != nil && *e.Stage == e.Peers {
			place += " (the last)"
		}
		return fmt.Sprintf("pipeline stage %s takes %s as long in forward and backward compute as the others", place, table.Times(e.Factor))
	case diagnose.CauseRegression:
		e, _ := evidence.Find[evidence.Slower](f.Evidence)
		return fmt.Sprintf("%s takes %s a step from step %d on, %s before%s", e.Stage, length(float64(e.Time)), f.Struck.First, length(float64(e.BaseTime)), onStage(f))
	case diagnose.CauseSlowSteps, diagnose.CausePeriodic:
		return fmt.Sprintf("%s longer%s%s", counted(f.Struck.Count, "step")+are(f.Struck.Count), inOp(f), onStage(f))
	}
	if _, ok := evidence.Find[evidence.MicrobatchCorrelation](f.Evidence); ok {
		return "uneven microbatches make the workers wait for each other in turn"
	}
	return "uneven work" + inOp(f) + " makes the workers wait for each other in turn"
}

// onStage is where all replicas take longer.
func onStage(f *diagnose.Finding) string {
	if f.Stage != "" {
		return ", on all replicas of " + f.Stage
	}
	return ", on all workers"
}

func inOp(f *diagnose.Finding) string {
	if f.Op == "" {
		return ""
	}
	return " in " + f.Op
}

func are(n int) string {
	if n == 1 {
		return " is"
	}
	return " are"
}

// inSteps says of what does not strike every step how many, and which.
func inSteps(s diagnose.Struck) string {
	which := fmt.Sprintf("%s of %s steps", table.Grouped(int64(s.Count)), table.Grouped(int64(s.Of)))
	switch s.Pattern {
	case diagnose.PatternWindow:
		return fmt.Sprintf(" over all steps, because of %s (%s)", which, stepsWord(s.First, s.Last))
	case diagnose.PatternPeriodic:
		return fmt.Sprintf(" over all steps, because of %s (every %s from step %d on)", which, ordinal(s.Period), s.First)
	case diagnose.PatternIntermittent:
		return " over all steps, because of " + which
	}
	return ""
}

// receiver is the rank at the other end of slow transfers.
func receiver(f *diagnose.Finding) int {
	e, _ := evidence.Find[evidence.TransferTimes](f.Evidence)
	between := e.Between
	if len(between) != 2 {
		return -1
	}
	return between[1]
}

// fixed says what fixing a finding saves: it alone, all that are alike, or,
// where others mask it, it and the others.
func fixed(f *diagnose.Finding) string {
	r, _ := evidence.Find[evidence.StepReplay](f.Evidence)
	saved, it := r.Saved, "Fixing it"
	base := length(float64(r.Step))
	switch {
	case len(f.Ranks) > 1:
		saved, it = r.Joint, "Fixing all of them"
	case r.Masked:
		return fmt.Sprintf("Fixing it alone would cut step time by %s, from %s to %s, since others hold it up too; without all of them it is %s (%s less).",
			about(share(r.Saved, r.Step)), base, length(float64(r.Step-r.Saved)), length(float64(r.Step-r.Joint)), about(share(r.Joint, r.Step)))
	case f.Cause == diagnose.CauseTurns:
		it = "Evening it out"
	case f.Cause == diagnose.CauseHeavy:
		it = "Making it as fast as the others"
	}
	text := fmt.Sprintf("%s would cut step time by %s, from %s to %s", it, about(share(saved, r.Step)), base, length(float64(r.Step-saved)))
	if late := float64(r.Record - r.Step); math.Abs(late) > 0.01*float64(r.Record) {
		text += " (late starts left out)"
	}
	return text + "."
}

// communicationHeadline is that of findings from calls and kernels of NCCL,
// alone or beside windows.
func communicationHeadline(v *diagnose.RunVerdict, a *diagnose.Answer) string {
	f, text := a.First, ""
	if e, slow := evidence.Find[evidence.SlowLink](f.Evidence); slow && !e.Elsewhere {
		is := "is"
		if f.Confidence == evidence.Ambiguous {
			is = "may be"
		}
		name := linkName(e.Between)
		text = strings.ToUpper(name[:1]) + name[1:] + " " + is + " slow"
		if e.From > 0 {
			text += " for messages from " + binaryBytes(e.From) + " on"
		}
		text += fmt.Sprintf(": %s; that costs %s, %s of the time.", linkWords(e), length(float64(e.Lost)), about(e.Share))
	} else {
		e, _ := evidence.EntersLast(f.Evidence, evidence.FromNCCL)
		host := ""
		if f.Host != "" {
			host = fmt.Sprintf(" (%s)", f.Host)
		}
		text = fmt.Sprintf("Rank %d%s makes the others wait: %s.", e.Rank, host, enterWords(e))
	}
	if also := alsoSuspected(a.Also); also != "" {
		text += " Also suspected: " + also + "."
	}
	for _, s := range v.Findings[1:] {
		if e, victim := evidence.Find[evidence.SlowLink](s.Evidence); victim && e.Elsewhere && s.Rank == nil && s.Stage != "" {
			return text + fmt.Sprintf(" The group loses it in %s.", s.Stage)
		}
	}
	return text
}

// alsoSuspected names findings of communication, each once.
func alsoSuspected(list []*diagnose.Finding) string {
	var names []string
	for _, f := range list {
		name := ""
		switch {
		case f.Kind == diagnose.KindEdge && f.Rank != nil:
			name = fmt.Sprintf("the link of rank %d", *f.Rank)
		case f.Kind == diagnose.KindEdge:
			name = "the link of ranks " + trace.RankList(f.Ranks)
		case f.Kind == diagnose.KindGroup:
			name = "the communicator " + f.Group
		default:
			name = fmt.Sprintf("rank %d", *f.Rank)
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// nothingHeard is the answer where calls and kernels of NCCL show no suspect.
func nothingHeard(c *diagnose.Communications) string {
	switch last := c.LastMost; {
	case last != nil && last.Delay > 0:
		return fmt.Sprintf("Rank %d (%s) is the last to enter %d of %s, with an own delay of %s (median): too few to rule out chance.",
			last.Rank, c.LastHost, last.N, counted(last.Of, "collective"), length(float64(last.Delay)))
	case last != nil:
		return fmt.Sprintf("Rank %d (%s) is the last to enter %d of %s, which costs the others most; the dumps do not show whether the delay is its own.",
			last.Rank, c.LastHost, last.N, counted(last.Of, "collective"))
	case c.Met && c.Absent > 0:
		return fmt.Sprintf("Nothing stands out among the ranks that were seen together; what %s did is not known.", counted(c.Absent, "rank"))
	case c.Met:
		return "Nothing stands out: no rank keeps the others waiting, and no link or communicator is significantly slower than those that do the same."
	case c.Paired > 0:
		return fmt.Sprintf("%s of %s were found with their kernels, none of which can be compared with those of other ranks.", counted(c.Paired, "call"), counted(c.Ranks, "rank"))
	case c.Calls > 0:
		return fmt.Sprintf("%s of %s on %s; nothing tells when they ran.", counted(c.Calls, "call"), counted(c.Ranks, "rank"), counted(c.Communicators, "communicator"))
	case c.Exports == 0:
		return fmt.Sprintf("No calls in %s: NCCL logs them with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,COLL,TUNING,GRAPH.", counted(c.Logs, "log"))
	}
	return fmt.Sprintf("%s of NCCL on %s; no call of a log was paired with them.", counted(c.Kernels, "kernel"), counted(c.Ranks, "rank"))
}
