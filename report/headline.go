package report

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/diagnose/opnames"
	"github.com/sfstat/sfstat/internal/table"
)

// firstScreen is the first screen of a run: what, what fixing it saves, what else there is, why
// and what to do next. Each but the first may be empty.
type firstScreen struct {
	what, saves, also, why, next string
	level                        evidence.Confidence
}

// Headline is what delays a run, what fixing it saves and what else there is, in a sentence each.
func Headline(v *diagnose.RunVerdict) string { return answerTo(v).headline() }

func (a firstScreen) headline() string {
	text := a.what
	for _, more := range []string{a.saves, a.also} {
		if more != "" {
			text += " " + more
		}
	}
	return text
}

// answerTo words the answer to a run.
func answerTo(v *diagnose.RunVerdict) firstScreen {
	a := v.Answer()
	out := firstScreen{next: strings.Join(each(a.Next, actionWords), "; or "), level: a.Certainty}
	if f := cmp.Or(a.First, a.Largest); f != nil {
		out.why = why(f, &a.Why)
	}
	switch a.Basis {
	case diagnose.OnOperators:
		out.what = operatorHeadline(v, &a)
	case diagnose.OnCalls:
		out.what = nothingHeard(v.Communications)
	case diagnose.OnCommunication:
		out.what = communicationHeadline(v, &a)
	case diagnose.OnNoStraggler:
		out.what, out.why = healthy(v, a.Healthy)
	case diagnose.OnTooLittle:
		out.what, out.why = tooLittle(&a.Shortage)
	case diagnose.OnOpenQuestion:
		out.what, out.why = undecided(&a)
	case diagnose.OnStatus:
		out.what = upper(v.Status.String()) + "."
	default:
		out.what, out.saves, out.also = suspectWhat(v, &a), saves(&a, v.MinGain), also(&a)
	}
	return out
}

// healthy says that nothing was found, and how little would have been.
func healthy(v *diagnose.RunVerdict, h *diagnose.Healthy) (what, why string) {
	what = fmt.Sprintf("No straggler of %s or more", percentOf(v.MinGain))
	if e := h.Searched; e != nil {
		why = searched(*e)
		if h.Small == nil {
			why = nobodyLate(*e)
		}
		if h.Least > 0 {
			what = fmt.Sprintf("No straggler in %s: %s of a %s step would have been reported", stagesWord(h.Stages), length(float64(h.Least)), length(float64(e.Step)))
		} else if e.Step > 0 {
			what += fmt.Sprintf(" in steps of %s", length(float64(e.Step)))
		}
		what += mayHide(h.Hiding)
	}
	if e, ok := evidence.WitnessOf(v.Observed, evidence.FromNCCL); ok {
		why += ". " + upper(strings.TrimPrefix(evidenceWords(e), "calls and kernels of NCCL: "))
	}
	return what + ".", why + besidesHealthy(v, h)
}

// stagesWord is "data, forward or backward", or how many stages they are.
func stagesWord(stages []string) string {
	if len(stages) > mostStages {
		return fmt.Sprintf("%d stages", len(stages))
	}
	return listed(each(stages, func(s string) string { return strings.TrimPrefix(stageWord(s), "the ") }), "or")
}

// mostStages are named in a headline.
const mostStages = 5

// mayHide says in which stages a delay may hide.
func mayHide(list []answer.Limit) string {
	if len(list) == 0 {
		return ""
	}
	var text []string
	for i, l := range list[:min(len(list), mostNamed)] {
		may := "may hide up to"
		if i > 0 {
			may = "up to"
		}
		text = append(text, fmt.Sprintf("%s %s %s", strings.TrimPrefix(stageWord(l.Stage), "the "), may, length(float64(l.MayHide))))
	}
	return "; " + andList(text)
}

// also names what is wrong besides the first finding, and what fixing all that are late saves.
func also(a *diagnose.Answer) string {
	if len(a.Also) == 0 {
		return ""
	}
	names := each(a.Also[:min(len(a.Also), mostNamed)], func(f *diagnose.Finding) string {
		name, _ := subject(f.Who())
		switch {
		case f.Cause == diagnose.CauseLate && name != "":
			return fmt.Sprintf("%s in %s", name, stageWord(f.Stage))
		case f.Cause == diagnose.CauseMissing && name != "":
			return fmt.Sprintf("%s, which never entered %s of %s", name, f.Op, groupWord(f.Group))
		}
		return fmt.Sprintf("%s on all ranks, %s", strings.TrimPrefix(stageWord(f.Stage), "the "), about(f.RunGain))
	})
	text := "Also: " + strings.Join(names, "; ")
	if more := len(a.Also) - mostNamed; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	if a.Together > 0 {
		both := "all of them"
		if a.Late == 2 {
			both = "both"
		}
		text += fmt.Sprintf("; fixing %s: %s", both, about(a.Together))
	}
	return text + "."
}

// mostNamed of the findings beside the first are named on the first screen.
const mostNamed = 3

// besidesHealthy is what is known of a run without a straggler beside that.
func besidesHealthy(v *diagnose.RunVerdict, h *diagnose.Healthy) (why string) {
	if f := h.Small; f != nil {
		name, _ := subject(f.Who())
		why += fmt.Sprintf("; below the threshold: %s in %s, %s, %s", name, stageWord(f.Stage), howMuch(f), about(f.Saving().Run))
	}
	if f := h.Once; f != nil {
		name, _ := subject(f.Who())
		why += fmt.Sprintf("; once: %s in %s, %s, %s of the run", cmp.Or(name, "all ranks"), stageWord(f.Stage), howMuch(f), about(f.RunGain))
	}
	if e, ok := evidence.Find[evidence.InputBound](v.Observed); ok {
		why += "; " + evidenceWords(e)
	}
	if f := h.Periodic; f != nil {
		why += fmt.Sprintf("; e%s: %s of the run", periodicWhat(f)[1:], about(f.RunGain))
	}
	if f := h.StartUp; f != nil {
		why += "; t" + startUpWhat(f)[1:]
	}
	if u := h.Inside; u != nil {
		why += fmt.Sprintf("; a rank may be late inside %s, which only arrivals would show", stageWord(u.Stage))
	}
	if u := h.Transfer; u != nil {
		why += fmt.Sprintf("; up to %s of a step may be a slow transfer in %s, which only a comparison with a healthy run could show", length(float64(u.Hides)), stageWord(u.Stage))
	}
	return why
}

// tooLittle says what there is too little of.
func tooLittle(s *diagnose.Shortage) (what, why string) {
	switch s.Of {
	case diagnose.NoSteps:
		return "Too little data: there are no steps to judge.", ""
	case diagnose.NoPeers:
		what = "Too little data: one rank reported, so nobody can be compared"
		if s.Device != nil {
			what += "; " + deviceShares(*s.Device)
		}
		return what + ".", fmt.Sprintf("one rank, %s of %s each", counted(s.Steps, "step"), length(float64(s.Time)/float64(max(1, s.Steps))))
	case diagnose.UnlikeStages:
		return "Too little data: " + s.Says + ".", "ranks are compared stage by stage"
	case diagnose.DisorderedStages:
		return "Too little data: " + s.Says + ".", "whom ranks wait for is read from the order of stages"
	case diagnose.NestedStages:
		return "Too little data: " + s.Says + ".", "time in both counts twice"
	case diagnose.RanksMissing:
		return fmt.Sprintf("Too little data: %d of %d ranks did not report.", s.Missing, s.All), "the others may wait for a rank that is not recorded"
	case diagnose.IncompleteSteps:
		return "Too little data: what was recorded is incomplete, or its stages do not add up.", "nothing certain can be said about such steps"
	case diagnose.TooShort:
		return fmt.Sprintf("Too little data: all steps together take %s.", length(float64(s.Time))), "times are read as nanoseconds; if they were recorded in µs or ms, convert them"
	}
	return fmt.Sprintf("Too little data: %s of %s.", counted(s.Steps, "step"), counted(s.Ranks, "rank")), "so few steps cannot rule out chance"
}

func deviceShares(e evidence.DeviceShares) string {
	s := fmt.Sprintf("its device idles %s of the time and computes %s", about(e.Idle), about(e.Compute))
	if e.Exposed >= 0.01 {
		s += fmt.Sprintf("; communication that nothing covers takes %s", about(e.Exposed))
	}
	return s
}

// undecided says where a delay may hide.
func undecided(a *diagnose.Answer) (what, why string) {
	u := &a.Open
	hides, step := length(float64(u.Hides)), length(float64(u.Step))
	switch u.Question {
	case answer.RanksNotRecorded:
		return fmt.Sprintf("Undecided: no recorded rank arrives late, but %s without a record may.", oneOf(u.N)), "all others would wait for it alike"
	case answer.ClockOrDelay:
		why = "a delay in every step looks like the offset of a clock, and it is not known which ranks share one"
		clocks := "their clocks are"
		switch len(u.Ranks) {
		case 0:
			return fmt.Sprintf("Undecided: up to %s of every %s step may be one rank's delay, or its clock.", hides, step), why
		case 1:
			clocks = "its clock is"
		}
		return fmt.Sprintf("Undecided: %s may delay everyone by up to %s of every %s step, or %s off.", ranksWord(u.Ranks), hides, step, clocks), why
	case answer.RolesMixed:
		return "Undecided: ranks send to each other and meet in no collective, so none of them can be compared with another.",
			"each has layers of its own, so that work between a receive and the next send may be long by design"
	case answer.MessagesNotRecorded:
		return "Undecided: ranks wait for each other in sends and receives that are not recorded.", behindMessages(a.Behind)
	case answer.TransferHidden:
		return fmt.Sprintf("Undecided: no rank is late, but up to %s of every %s step may be a slow transfer in %s.", hides, step, stageWord(u.Stage)),
			"it follows the last entry of a collective, and takes all ranks the same time"
	case answer.RankHidden:
		may := fmt.Sprintf("up to %s of it may be one rank's delay", hides)
		if u.Hides >= u.Time {
			may = "any of it may be one rank's delay"
		}
		return fmt.Sprintf("Undecided: all ranks spend %s of every %s step in %s alike, and %s.", length(float64(u.Time)), step, stageWord(u.Stage), may),
			"they synchronise inside it, so stage times cannot show who is late"
	}
	return "Undecided: where the ranks synchronise is not shown, so who waits for whom cannot be told.", "no stage's times show that ranks wait for each other in it"
}

// behindMessages says why a rank is not named, and which one stage times show.
func behindMessages(f *diagnose.Finding) string {
	if f == nil {
		return "who arrives late at a collective may have waited for another in them"
	}
	return fmt.Sprintf("in every %s step %s takes %s longer in %s than its peers, but may wait for another there", length(float64(f.Step)),
		rankAt(*f.Rank, f.Host, f.LocalRank), length(float64(f.Excess)), stageWord(f.Stage))
}

// suspectWhat is who delays whom by how much.
func suspectWhat(v *diagnose.RunVerdict, a *diagnose.Answer) string {
	f, text := a.First, ""
	switch f.Cause {
	case diagnose.CauseLate, diagnose.CauseDevice:
		text = lateWhat(a, operatorBehind(v, f))
	case diagnose.CauseMissing:
		text = missingWhat(f)
	case diagnose.CauseDesync:
		text = desyncWhat(f)
	case diagnose.CauseMoreWork:
		name, _ := subject(a.Who)
		text = fmt.Sprintf("%s does %s more work in every %s step than the others, who wait for it", upper(name), length(float64(f.Excess)), length(float64(f.Step)))
	case diagnose.CauseTurns:
		if e, ok := evidence.Find[evidence.RankToRank](f.Evidence); ok {
			text = fmt.Sprintf("%s delay everyone in %s one after another: %s of every %s step, moving from rank to rank: not one host",
				upper(ranksWord(e.Ranks)), stageWord(f.Stage), length(float64(f.Excess)), length(float64(f.Step)))
			break
		}
		text = fmt.Sprintf("Ranks delay each other intermittently in %s: %s of every %s step, and none of them more than the others", stageWord(f.Stage), length(float64(f.Excess)), length(float64(f.Step)))
	case diagnose.CauseRegression:
		text = growthWhat(f)
	case diagnose.CauseSlowSteps:
		text = slowStepsWhat(f)
	case diagnose.CausePeriodic:
		text = periodicWhat(f)
	case diagnose.CauseStartUp:
		text = startUpWhat(f)
	case diagnose.CauseHost:
		if e, ok := evidence.Find[evidence.DeviceTime](f.Evidence); ok {
			text = fmt.Sprintf("All ranks spend %s of every %s step in %s on the host; the device works for %s of it",
				length(float64(e.Host)), length(float64(f.Step)), stageWord(e.Stage), length(float64(e.Device)))
		}
	}
	return text + "."
}

// startUpWhat is what the first steps take.
func startUpWhat(f *diagnose.Finding) string {
	who := "on all ranks"
	if f.Rank != nil {
		who = fmt.Sprintf("on rank %d", *f.Rank)
	}
	return fmt.Sprintf("The first %s take %s longer %s, most of it in %s: start-up", counted(f.Struck.Count, "step"), length(float64(f.Excess)), who, stageWord(f.Stage))
}

// lateWhat is the sentence on ranks that others wait for.
func lateWhat(a *diagnose.Answer, inside string) string {
	f := a.First
	name, several := subject(a.Who)
	verb := "delays"
	switch {
	case f.Confidence == evidence.Supported && several:
		verb = "probably delay"
	case f.Confidence == evidence.Supported:
		verb = "probably delays"
	case f.Confidence < evidence.Supported:
		verb = "may delay"
	case several:
		verb = "delay"
	}
	return fmt.Sprintf("%s %s everyone %s%s: %s", upper(name), verb, whereLate(a.Where), inside, howMuch(f))
}

// operatorBehind is the line or the operator that explains most of a finding, in
// brackets.
func operatorBehind(v *diagnose.RunVerdict, f *diagnose.Finding) string {
	if e, ok := evidence.Find[evidence.SpentIn](f.Evidence); ok {
		return fmt.Sprintf(" (%s)", lineWord(&e.Source))
	}
	if op := v.Inside(f); op != "" {
		return fmt.Sprintf(" (%s)", opnames.Label(op))
	}
	return ""
}

// howMuch is the delay of a struck step, and which steps those are.
func howMuch(f *diagnose.Finding) string {
	delay, s := length(float64(f.Excess)), f.Struck
	switch {
	case s.Pattern == diagnose.PatternPeriodic && s.Period > 1:
		return fmt.Sprintf("%s in every %s step (%d, %d … %d)", delay, ordinal(s.Period), s.First, s.First+int64(s.Period), s.Last)
	case s.Pattern == diagnose.PatternPeriodic, s.Pattern == diagnose.PatternIntermittent, s.Pattern == diagnose.PatternWindow && s.First < 0:
		return fmt.Sprintf("%s in %s of %s steps", delay, table.Grouped(int64(s.Count)), table.Grouped(int64(s.Of)))
	case s.Pattern == diagnose.PatternWindow:
		return fmt.Sprintf("%s of every %s step in %s", delay, length(float64(f.Step)), stepsWord(s.First, s.Last))
	}
	return fmt.Sprintf("%s of every %s step", delay, length(float64(f.Step)))
}

func growthWhat(f *diagnose.Finding) string {
	e, ok := evidence.Find[evidence.Slower](f.Evidence)
	switch {
	case !ok:
		return ""
	case e.Baseline:
		return fmt.Sprintf("%s is slower on all ranks than in the baseline: %s a step instead of %s", upper(stageWord(f.Stage)),
			length(float64(e.Time)), length(float64(e.BaseTime)))
	}
	if f.Stage == "" {
		return fmt.Sprintf("All ranks are slower in several stages in %s: %s of every %s step", stepsWord(e.Steps[0], e.Steps[1]), length(float64(f.Excess)), length(float64(f.Step)))
	}
	return fmt.Sprintf("%s is slower on all ranks in %s: %s a step, where steps %d–%d take %s", upper(stageWord(f.Stage)),
		stepsWord(e.Steps[0], e.Steps[1]), length(float64(e.Time)), e.BaseSteps[0], e.BaseSteps[1], length(float64(e.BaseTime)))
}

// periodicWhat is what steps at equal distances take longer on all ranks.
func periodicWhat(f *diagnose.Finding) string {
	where := ""
	if f.Stage != "" {
		where = " in " + stageWord(f.Stage)
	}
	return fmt.Sprintf("Every %s step (%d, %d … %d) is %s longer%s on all ranks, perhaps by design", ordinal(f.Struck.Period), f.Struck.First,
		f.Struck.First+int64(f.Struck.Period), f.Struck.Last, length(float64(f.Excess)), where)
}

func slowStepsWhat(f *diagnose.Finding) string {
	if e, ok := evidence.Find[evidence.SlowSteps](f.Evidence); ok && f.Struck.Pattern == diagnose.PatternWindow {
		return fmt.Sprintf("%s are slow on all ranks alike: %s as long as the others, %s more each", upper(stepsWord(e.First, e.Last)), table.Times(e.Factor), length(float64(e.Excess)))
	} else if ok {
		return fmt.Sprintf("%d of %d steps %s slow on all ranks alike: %s as long as the others, %s more each", e.N, e.Of, isAre(e.N), table.Times(e.Factor), length(float64(e.Excess)))
	}
	return fmt.Sprintf("%s has slow steps on all ranks: %s", upper(stageWord(f.Stage)), howMuch(f))
}

// saves is what fixing what the answer names saves.
func saves(a *diagnose.Answer, minGain float64) string {
	s, it, below := a.Saving, "it", ""
	if s.All {
		it = "them"
	}
	if s.Below {
		below = fmt.Sprintf(", below the threshold of %s", percentOf(minGain))
	}
	run := about(s.Run)
	switch s.Kind {
	case diagnose.SavesNothing:
		return ""
	case diagnose.SavesUpTo:
		return fmt.Sprintf("Fixing it would cut step time by %s, and by up to %s if it is as slow where ranks synchronise%s.", run, about(s.UpTo), below)
	case diagnose.SavesByEvening:
		return fmt.Sprintf("Were the work even, step time would fall by %s%s.", run, below)
	case diagnose.SavesLittleAlone:
		return fmt.Sprintf("Others are late too: fixing it alone would cut step time by only %s.", run)
	case diagnose.SavesAtMost:
		return fmt.Sprintf("At the device's pace step time would fall by up to %s%s.", run, below)
	case diagnose.SavesSlowSteps:
		return fmt.Sprintf("At the length of the others the run would take %s less%s.", run, below)
	}
	if s.Kind == diagnose.SavesEveryStep || about(s.Steps) == run {
		return fmt.Sprintf("Fixing %s would cut step time by %s%s.", it, run, below)
	}
	return fmt.Sprintf("Fixing %s would cut those steps by %s, and the run by %s%s.", it, about(s.Steps), run, below)
}

// agreeing name recordings that find the same.
var agreeing = map[evidence.Source]string{evidence.FromOperators: "its operators agree", evidence.FromProfiler: "the profiler's traces agree"}

// why is the strongest evidence for a finding, and the certainty.
func why(f *diagnose.Finding, w *diagnose.Why) string {
	text := ""
	if e := w.Strongest; e != nil {
		text = shortEvidence(f, e)
	}
	for _, s := range w.Agree {
		text += "; " + agreeing[s]
	}
	if text != "" {
		text += ". "
	}
	text += fmt.Sprintf("Certainty: %s", w.Certainty)
	if l := w.Lack; l != nil {
		text += " (" + lackWords(*l) + ")"
	}
	return text + "."
}

// shortEvidence is the first line of evidence under a headline that names the
// suspect already.
func shortEvidence(f *diagnose.Finding, e evidence.Observation) string {
	if enter, ok := e.(evidence.LastToEnter); ok && enter.Source == evidence.FromNCCL {
		return fmt.Sprintf("%s if all %d ranks were alike; own delay %s in total, %s waited for others", pValue(enter.P), enter.Among,
			length(float64(enter.Own)), length(float64(enter.Waited)))
	}
	if link, ok := e.(evidence.SlowLink); ok && !link.Elsewhere {
		return linkWords(link) + "; measured from the last rank's start, so that no arrival skew is in it"
	}
	last, ok := e.(evidence.LastToArrive)
	if !ok {
		return evidenceWords(e)
	}
	text := fmt.Sprintf("last to arrive at %d of %d synchronisation points, %s", last.N, last.Of, pValue(last.P))
	if _, ok := evidence.Find[evidence.SyncPoint](f.Evidence); !ok {
		text = fmt.Sprintf("last in %d of %d steps, %s", last.N, last.Of, pValue(last.P))
	}
	if last.Stage == "" {
		text += ", most of it in " + stageWord(last.Mainly)
	}
	if p, ok := evidence.Find[evidence.LateTogether](f.Evidence); ok && p.Host+p.Group != "" {
		text += fmt.Sprintf("; all %d ranks there and no other", len(p.Ranks))
	} else if r, ok := evidence.Find[evidence.Replay](f.Evidence); ok && r.AsCharged() {
		text += "; replay without it agrees"
	}
	return text
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}
