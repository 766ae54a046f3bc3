package report

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/internal/table"
)

// What delays a run, by cause; what fixing it saves; what else there is; why. Without a full stop where nothing else is said.

// sayLate states on whom others wait; inside is the line or operator behind it, in brackets.
func sayLate(a *diagnose.Answer, inside string) string {
	verb := " may delay"
	switch sure := a.First.Confidence; {
	case sure == evidence.Strong && isPlural(a.Who):
		verb = " delay"
	case sure == evidence.Strong:
		verb = " delays"
	case sure == evidence.Supported && isPlural(a.Who):
		verb = " probably delay"
	case sure == evidence.Supported:
		verb = " probably delays"
	}
	if e, ok := evidence.Find[evidence.LateTogether](a.First.Evidence); ok && len(e.Others) > 0 {
		return fmt.Sprintf("%s take longer than %s %s: %s", upper(subject(a.Who)), ranksWord(e.Others), sayWhere(&a.Where), sayHowMuch(a.First))
	}
	text := fmt.Sprintf("%s%s everyone %s%s: %s", upper(subject(a.Who)), verb, sayWhere(&a.Where), inside, sayHowMuch(a.First))
	if e, ok := evidence.Find[evidence.LastToArrive](a.First.Evidence); ok && e.Line != nil {
		trend := "falling"
		if e.Line.Grows() {
			trend = "growing"
		}
		text += fmt.Sprintf(", %s to %s", trend, length(e.Line.To))
	}
	return text
}

// sayWhere states where ranks are late.
func sayWhere(w *diagnose.Where) string {
	switch {
	case w.OnDevice:
		return "on the device in " + stageWord(w.Stage)
	case w.Before && w.Line != nil:
		return "before " + sourceWord(w.Line)
	case w.Before:
		return "before " + bareOp(w.Op)
	}
	return "in " + stageWord(w.Stage)
}

// sayDelay states how a finding delays a run by another cause than late ranks; "" of a cause that the answer does not
// name.
func sayDelay(f *diagnose.Finding) string {
	switch f.Cause {
	case diagnose.CauseMissing:
		return sayHang(f)
	case diagnose.CauseDesync:
		return sayDesync(f)
	case diagnose.CauseMoreWork:
		return fmt.Sprintf("%s does %s more work in every %s step than the others, who wait for it", upper(subject(f.Who())), length(f.Excess), length(f.Step))
	case diagnose.CauseTurns:
		return sayLateInTurn(f)
	case diagnose.CauseRegression:
		return sayRegression(f)
	case diagnose.CauseSlowSteps:
		return sayStepsAreSlow(f)
	case diagnose.CausePeriodic:
		return sayPeriodic(f)
	case diagnose.CauseStartUp:
		return sayStartUp(f)
	case diagnose.CauseHost:
		return sayHostBound(f)
	}
	return ""
}

func sayDesync(f *diagnose.Finding) string {
	e, ok := evidence.Find[evidence.EnteredDifferently](f.Evidence)
	if !ok {
		return ""
	}
	return "Desync: " + sayEnteredDifferently(e)
}

func sayHostBound(f *diagnose.Finding) string {
	e, ok := evidence.Find[evidence.DeviceTime](f.Evidence)
	if !ok {
		return ""
	}
	return fmt.Sprintf("All ranks spend %s of every %s step in %s on the host; the device works for %s of it", length(e.Host), length(f.Step), stageWord(e.Stage), length(e.Device))
}

func sayHang(f *diagnose.Finding) string {
	e, ok := evidence.Find[evidence.NeverEntered](f.Evidence)
	if !ok {
		return ""
	}
	op := cmp.Or(e.Op, "call")
	if e.N > 0 {
		op += fmt.Sprintf(" #%d", e.N)
	}
	text := fmt.Sprintf("Hang: %s %s of %s; %s waiting", sayWhoIsMissing(f, &e), op, groupWord(e.Group), table.Counted(len(e.Waiting), "rank"))
	switch {
	case e.GaveUp && e.AtLeast != 0:
		text += " for " + length(e.AtLeast)
	case e.Since == 0:
	case e.AtLeast > int64(time.Second):
		text += " for at least " + length(e.AtLeast)
	default:
		text += " since " + clockWord(e.Since)
	}
	return text
}

// sayWhoIsMissing states who is missing from a call: the call itself follows.
func sayWhoIsMissing(f *diagnose.Finding, e *evidence.NeverEntered) string {
	who := subject(f.Who())
	switch {
	case e.GaveUp && e.Rank < 0:
		return "no rank that reports is behind in"
	case e.GaveUp && e.NoDump:
		report := "reports"
		if isPlural(f.Who()) {
			report = "report"
		}
		return fmt.Sprintf("%s %s nothing, others wait in", who, report)
	case e.Rank < 0:
		return "a rank is missing from"
	case e.NoDump:
		return fmt.Sprintf("all ranks but %s wait in", who)
	case e.Dump != "":
		return who + " may never have entered"
	}
	return who + " never entered"
}

func sayLateInTurn(f *diagnose.Finding) string {
	cost := fmt.Sprintf("%s of every %s step", length(f.Excess), length(f.Step))
	if e, ok := evidence.Find[evidence.RankToRank](f.Evidence); ok {
		text := fmt.Sprintf("%s delay everyone in %s one after another: %s, moving from rank to rank", upper(ranksWord(e.Ranks)), stageWord(f.Stage), cost)
		if len(e.Hosts) > 1 {
			text += ": not one host"
		}
		return text
	}
	e, ok := evidence.Find[evidence.LateIntermittently](f.Evidence)
	who := ""
	if ok {
		who = upper(sayWhoTakesTurns(e))
	}
	text := fmt.Sprintf("%s delay each other intermittently in %s: %s", who, stageWord(f.Stage), cost)
	if e.Even {
		text += ", and none of them more than the others"
	}
	return text
}

func sayRegression(f *diagnose.Finding) string {
	e, ok := evidence.Find[evidence.Slower](f.Evidence)
	switch {
	case !ok:
		return ""
	case e.Grows:
		who := upper(stageWord(f.Stage)) + " grows"
		switch {
		case f.Stage == "" && f.Op != "":
			who = upper(e.Stage) + " grows"
		case f.Stage == "":
			who = upper(stageWord(e.Stage)) + " and other stages grow"
		}
		return fmt.Sprintf("%s on all ranks from %s in step %d to %s in step %d", who, length(e.BaseTime), e.Steps[0], length(e.Time), e.Steps[1])
	case e.Baseline:
		return fmt.Sprintf("%s is slower on all ranks than in the baseline: %s a step instead of %s", upper(stageWord(f.Stage)), length(e.Time), length(e.BaseTime))
	case f.Stage == "" && f.Op != "":
		return fmt.Sprintf("%s takes longer on all ranks in %s: %s a step, where steps %d–%d take %s",
			upper(e.Stage), stepsWord(e.Steps[0], e.Steps[1]), length(e.Time), e.BaseSteps[0], e.BaseSteps[1], length(e.BaseTime))
	case f.Stage == "":
		return fmt.Sprintf("All ranks are slower in several stages in %s: %s of every %s step", stepsWord(e.Steps[0], e.Steps[1]), length(f.Excess), length(f.Step))
	}
	return fmt.Sprintf("%s is slower on all ranks in %s: %s a step, where steps %d–%d take %s",
		upper(stageWord(f.Stage)), stepsWord(e.Steps[0], e.Steps[1]), length(e.Time), e.BaseSteps[0], e.BaseSteps[1], length(e.BaseTime))
}

func sayStepsAreSlow(f *diagnose.Finding) string {
	e, ok := evidence.Find[evidence.SlowSteps](f.Evidence)
	if !ok {
		return fmt.Sprintf("%s has slow steps on all ranks: %s", upper(stageWord(f.Stage)), sayHowMuch(f))
	}
	which := fmt.Sprintf("%d of %d steps %s", e.N, e.Of, isAre(e.N))
	if f.Struck.Pattern == diagnose.PatternWindow {
		which = upper(stepsWord(e.First, e.Last)) + " are"
	}
	return fmt.Sprintf("%s slow on all ranks alike: %s as long as the others, %s more each", which, table.Times(e.Factor), length(e.Excess))
}

func sayPeriodic(f *diagnose.Finding) string {
	where := ""
	if f.Stage != "" {
		where = " in " + stageWord(f.Stage)
	}
	return fmt.Sprintf("%s is %s longer%s on all ranks, perhaps by design", upper(sayPeriod(&f.Struck)), length(f.Excess), where)
}

// sayPeriod states which steps at equal distances were struck: "every 10th step (7, 17 … 97)".
func sayPeriod(s *diagnose.Struck) string {
	if s.First < 0 { // not known which
		return fmt.Sprintf("every %s step", ordinal(s.Period))
	}
	return fmt.Sprintf("every %s step (%d, %d … %d)", ordinal(s.Period), s.First, s.First+int64(s.Period), s.Last)
}

func sayStartUp(f *diagnose.Finding) string {
	steps, who := "step takes", "all ranks"
	if f.Struck.Count != 1 {
		steps = table.Counted(f.Struck.Count, "step") + " take"
	}
	if f.Rank != nil {
		who = fmt.Sprintf("rank %d", *f.Rank)
	}
	return fmt.Sprintf("The first %s %s longer on %s, most of it in %s: start-up", steps, length(f.Excess), who, stageWord(f.Stage))
}

// sayHowMuch states by how much a finding delays which steps.
func sayHowMuch(f *diagnose.Finding) string {
	s, excess := &f.Struck, length(f.Excess)
	periodic, window := s.Pattern == diagnose.PatternPeriodic, s.Pattern == diagnose.PatternWindow
	switch {
	case periodic && s.Period > 1:
		return excess + " in " + sayPeriod(s)
	case periodic, s.Pattern == diagnose.PatternIntermittent, window && s.First < 0:
		return fmt.Sprintf("%s in %s of %s steps", excess, table.Grouped(int64(s.Count)), table.Grouped(int64(s.Of)))
	case window:
		return fmt.Sprintf("%s of every %s step in %s", excess, length(f.Step), stepsWord(s.First, s.Last))
	}
	return fmt.Sprintf("%s of every %s step", excess, length(f.Step))
}

// saySaving states what fixing a finding saves; "" where nothing is known.
func saySaving(kind diagnose.SavingKind, s *diagnose.Saving) string {
	it := "it"
	if s.All {
		it = "them"
	}
	switch kind {
	case diagnose.SavesUpTo:
		return fmt.Sprintf("Fixing it would cut step time by %s, and by up to %s if it is as slow where ranks synchronise", fraction(s.Run), fraction(s.UpTo))
	case diagnose.SavesUntilEnd:
		return fmt.Sprintf("Fixing it would cut those steps by %s, and the run by %s, or by up to %s if it stayed as slow where its record ends", fraction(s.Steps), fraction(s.Run), fraction(s.UpTo))
	case diagnose.SavesByEvening:
		return "Were the work even, step time would fall by " + fraction(s.Run)
	case diagnose.SavesAtMost:
		return "At the device's pace step time would fall by up to " + fraction(s.Run)
	case diagnose.SavesNoMore:
		return fmt.Sprintf("Fixing it would cut step time by %s at most: it waits for what comes at its own pace, and the others may have to wait for theirs next", fraction(s.Run))
	case diagnose.SavesSlowSteps:
		return fmt.Sprintf("At the length of the others the run would take %s less", fraction(s.Run))
	case diagnose.SavesEveryStep:
		return fmt.Sprintf("Fixing %s would cut step time by %s", it, fraction(s.Run))
	case diagnose.SavesSteps:
		return fmt.Sprintf("Fixing %s would cut those steps by %s, and the run by %s", it, fraction(s.Steps), fraction(s.Run))
	case diagnose.SavesLittleAlone:
		return "Others would hold the steps up next: fixing it alone would cut step time by only " + fraction(s.Run)
	}
	return ""
}

// sayAlso states what else delays the run.
func sayAlso(a *diagnose.Answer) string {
	text := "Also: " + strings.Join(each(a.Also[:min(3, len(a.Also))], sayAnother), "; ")
	if more := len(a.Also) - 3; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	if a.Together > 0 {
		which := "all of them"
		if a.Late == 2 {
			which = "both"
		}
		text += fmt.Sprintf("; fixing %s: %s", which, fraction(a.Together))
	}
	return text + "."
}

func sayAnother(f *diagnose.Finding) string {
	who := subject(f.Who())
	switch {
	case who != "" && f.Cause == diagnose.CauseLate:
		return fmt.Sprintf("%s in %s", who, stageWord(f.Stage))
	case who != "" && f.Cause == diagnose.CauseMissing:
		return fmt.Sprintf("%s, which never entered %s of %s", who, f.Op, groupWord(f.Group))
	}
	return fmt.Sprintf("%s on all ranks, %s", bareStage(f.Stage), fraction(f.RunGain))
}

// sayWhy states what speaks for a finding, and how certain that is where something is lacking.
func sayWhy(f *diagnose.Finding, w *diagnose.Why) string {
	text := ""
	if w.Strongest != nil {
		text = shortEvidence(f, w.Strongest)
	}
	for _, s := range w.Agree {
		switch s {
		case evidence.FromOperators:
			text += "; its operators agree"
		case evidence.FromProfiler:
			text += "; the profiler's traces agree"
		default:
			text += "; "
		}
	}
	says := w.Strongest != nil || len(w.Agree) > 0
	if w.Lack != nil || !says {
		if says {
			text += ". "
		}
		text += fmt.Sprintf("Certainty: %v", w.Certainty)
		if w.Lack != nil {
			text += fmt.Sprintf(" (%s)", lackWords(*w.Lack))
		}
	}
	return text + "."
}

// shortEvidence returns the first line of evidence under a headline that names the suspect already.
func shortEvidence(f *diagnose.Finding, e evidence.Observation) string {
	switch e := e.(type) {
	case evidence.LastToEnter:
		if e.Source == evidence.FromNCCL {
			return fmt.Sprintf("%s if all %d ranks were alike; own delay %s in total, %s waited for others", pValue(e.P), e.Among, length(e.Own), length(e.Waited))
		}
	case evidence.SlowLink:
		if !e.Elsewhere {
			return saySlow(e) + measuredFromLast
		}
	case evidence.LastToArrive:
		return sayBrieflyLast(f, e)
	}
	return evidenceWords(e)
}

func sayBrieflyLast(f *diagnose.Finding, e evidence.LastToArrive) string {
	text := fmt.Sprintf("last in %d of %d steps, %s", e.N, e.Of, pValue(e.P))
	if _, ok := evidence.Find[evidence.SyncPoint](f.Evidence); ok {
		text = fmt.Sprintf("last to arrive at %d of %d synchronisation points, %s", e.N, e.Of, pValue(e.P))
	}
	if e.Stage == "" {
		text += ", most of it in " + stageWord(e.Mainly)
	}
	if e.Line != nil {
		text += "; " + sayTrend(e.Line)
	}
	if e.Ends {
		text += "; its record ends there"
	}
	all, together := evidence.Find[evidence.LateTogether](f.Evidence)
	replay, replayed := evidence.Find[evidence.Replay](f.Evidence)
	if together && len(all.Spans) > 0 {
		text += "; one after another: " + saySpans(all.Spans)
	} else if together && all.Host+all.Group != "" {
		text += fmt.Sprintf("; all %d ranks there and no other", len(all.Ranks))
	} else if replayed && replay.MatchesCharge() {
		text += "; recomputed without it, steps are as much shorter"
	}
	return text
}
