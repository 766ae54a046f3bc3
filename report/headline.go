package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/diagnose/opnames"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/trace/stagename"
)

// firstScreen is the first screen of a run: what, what fixing it saves, what else there is, why
// and what to do next. Each but the first may be empty.
type firstScreen struct{ what, saves, also, why, next string }

// Headline is what delays a run, what fixing it saves and what else there is, in a sentence each.
func Headline(v *diagnose.RunVerdict) string {
	a := answerTo(v)
	text := a.what
	for _, more := range []string{a.saves, a.also} {
		if more != "" {
			text += " " + more
		}
	}
	return text
}

// answerTo words the verdict on a run.
func answerTo(v *diagnose.RunVerdict) firstScreen {
	var a firstScreen
	switch {
	case v.Operators != nil && (len(v.Windows) == 0 || leadsTraced(v)):
		a.what, a.why = operatorHeadline(v), operatorWhy(v)
	case v.Communications != nil && len(v.Findings) == 0:
		a.what = nothingHeard(v.Communications)
	case len(v.Findings) > 0 && v.Findings[0].Heard():
		a.what, a.why = communicationHeadline(v), why(&v.Findings[0])
	case v.Status == answer.NoStraggler:
		a.what, a.why = healthy(v)
	case v.Status == answer.TooLittleData:
		a.what, a.why = tooLittle(v)
	case v.Status == answer.UndecidedRun && !leadsSuspect(v):
		a.what, a.why = undecided(v)
	case len(v.Findings) == 0:
		a.what = upper(v.Status.String()) + "."
	default:
		f := &v.Findings[0]
		a.what, a.saves, a.also, a.why = suspectWhat(v, f), saves(f, v.MinGain), also(v), why(f)
	}
	a.next = nextWords(v.Next)
	return a
}

// leadsTraced reports whether what leads in a run of windows and operators is what
// the operators find.
func leadsTraced(v *diagnose.RunVerdict) bool {
	if len(v.Findings) == 0 {
		return false
	}
	_, ok := evidence.Find[evidence.StepReplay](v.Findings[0].Evidence)
	return ok
}

// leadsSuspect reports whether an undecided run has a suspect to speak of.
func leadsSuspect(v *diagnose.RunVerdict) bool {
	return len(v.Findings) > 0 && !v.Findings[0].BelowMinGain && v.Findings[0].Confidence >= evidence.Ambiguous
}

// healthy says that nothing was found, and how little would have been.
func healthy(v *diagnose.RunVerdict) (what, why string) {
	what = fmt.Sprintf("No straggler of %s or more", percentOf(v.MinGain))
	if e, ok := evidence.Find[evidence.NobodyLate](v.Observed); ok {
		why = searched(e)
		if small(v) == nil {
			why = nobodyLate(e)
		}
		if where, most := showing(v); most > 0 {
			what = fmt.Sprintf("No straggler in %s: %s of a %s step would have been reported", where, length(float64(most)), length(float64(e.Step)))
		} else if e.Step > 0 {
			what += fmt.Sprintf(" in steps of %s", length(float64(e.Step)))
		}
		what += mayHide(v, e.Step)
	}
	if e, ok := evidence.WitnessOf(v.Observed, evidence.FromNCCL); ok {
		why += ". " + upper(strings.TrimPrefix(evidenceWords(e), "calls and kernels of NCCL: "))
	}
	return what + ".", why + besidesHealthy(v)
}

// showing are the stages that can show a delay, and the smallest that would have been reported in any
// of them.
func showing(v *diagnose.RunVerdict) (where string, most int64) {
	var names []string
	for _, l := range v.Limits {
		if l.Reported == 0 || l.Stage == stagename.Residual {
			continue
		}
		most = max(most, l.Reported)
		if name := strings.TrimPrefix(stageWord(l.Stage), "the "); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) > mostStages {
		return fmt.Sprintf("%d stages", len(names)), most
	}
	return listed(names, "or"), most
}

// mostStages are named in a headline.
const mostStages = 5

// mayHide says in which stages a delay may hide that is worth acting on, the largest first.
func mayHide(v *diagnose.RunVerdict, step int64) string {
	list := slices.DeleteFunc(slices.Clone(v.Limits), func(l answer.Limit) bool { return step == 0 || float64(l.MayHide) < v.MinGain*float64(step) })
	if len(list) == 0 {
		return ""
	}
	slices.SortStableFunc(list, func(a, b answer.Limit) int { return cmp.Compare(b.MayHide, a.MayHide) })
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
func also(v *diagnose.RunVerdict) string {
	first := &v.Findings[0]
	var names []string
	late := 1
	for i := range v.Findings[1:] {
		f := &v.Findings[i+1]
		if !f.Flagged() || f.Cause == diagnose.CauseOperator || f.Rank != nil && slices.Contains(first.Ranks, *f.Rank) {
			continue
		}
		switch name, _ := who(f); {
		case f.Cause == diagnose.CauseLate && name != "":
			names = append(names, fmt.Sprintf("%s in %s", name, stageWord(f.Stage)))
			late++
		case f.Cause == diagnose.CauseMissing && name != "":
			names = append(names, fmt.Sprintf("%s, which never entered %s of %s", name, f.Op, groupWord(f.Group)))
		case f.Kind == diagnose.KindStage:
			names = append(names, fmt.Sprintf("%s on all ranks, %s", strings.TrimPrefix(stageWord(f.Stage), "the "), about(f.RunGain)))
		}
	}
	if len(names) == 0 {
		return ""
	}
	text := "Also: " + strings.Join(names[:min(len(names), mostNamed)], "; ")
	if more := len(names) - mostNamed; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	if v.Together > 0 && late > 1 && first.Cause == diagnose.CauseLate {
		both := "all of them"
		if late == 2 {
			both = "both"
		}
		text += fmt.Sprintf("; fixing %s: %s", both, about(v.Together))
	}
	return text + "."
}

// mostNamed of the findings beside the first are named on the first screen.
const mostNamed = 3

// besidesHealthy is what is known of a run without a straggler beside that.
func besidesHealthy(v *diagnose.RunVerdict) (why string) {
	if f := small(v); f != nil {
		name, _ := who(f)
		why += fmt.Sprintf("; below the threshold: %s in %s, %s, %s", name, stageWord(f.Stage), howMuch(f), about(savesOfRun(f)))
	}
	if k := slices.IndexFunc(v.Findings, onceOnly); k >= 0 {
		f := &v.Findings[k]
		name, _ := who(f)
		if name == "" {
			name = "all ranks"
		}
		why += fmt.Sprintf("; once: %s in %s, %s, %s of the run", name, stageWord(f.Stage), howMuch(f), about(f.RunGain))
	}
	if e, ok := evidence.Find[evidence.InputBound](v.Observed); ok {
		why += "; " + evidenceWords(e)
	}
	if k := slices.IndexFunc(v.Findings, func(f diagnose.Finding) bool { return f.Cause == diagnose.CausePeriodic && !f.Flagged() }); k >= 0 {
		why += fmt.Sprintf("; e%s: %s of the run", periodicWhat(&v.Findings[k])[1:], about(v.Findings[k].RunGain))
	}
	if k := slices.IndexFunc(v.Findings, func(f diagnose.Finding) bool { return f.Cause == diagnose.CauseStartUp }); k >= 0 {
		why += "; t" + startUpWhat(&v.Findings[k])[1:]
	}
	if k := slices.IndexFunc(v.Undecided, func(u answer.Undecided) bool { return u.HidesRank() && u.Unlikely }); k >= 0 {
		why += fmt.Sprintf("; a rank may be late inside %s, which only arrivals would show", stageWord(v.Undecided[k].Stage))
	}
	if u, ok := v.Hidden(); ok && u.Question == answer.TransferHidden {
		why += fmt.Sprintf("; up to %s of a step may be a slow transfer in %s, which only a comparison with a healthy run could show", length(float64(u.Hides)), stageWord(u.Stage))
	}
	return why
}

// onceOnly reports whether a finding is an event: what happened in a step or a few, however large.
func onceOnly(f diagnose.Finding) bool {
	return f.Confidence == evidence.Ambiguous && f.Struck.Pattern == diagnose.PatternIntermittent && (f.Cause == diagnose.CauseLate || f.Cause == diagnose.CauseSlowSteps)
}

// small is the certain delay, of ranks that others wait for, that a run without a
// straggler has below its threshold; nil without one.
func small(v *diagnose.RunVerdict) *diagnose.Finding {
	if len(v.Findings) == 0 {
		return nil
	}
	f := &v.Findings[0]
	if name, _ := who(f); name == "" || f.Cause == diagnose.CauseStartUp || f.Confidence < evidence.Supported {
		return nil
	}
	return f
}

// tooLittle says what there is too little of.
func tooLittle(v *diagnose.RunVerdict) (what, why string) {
	ranks, steps, time := 0, 0, int64(0)
	missing, of := 0, 0
	for _, w := range v.Windows {
		if n := len(w.Main.Quality.Missing); w.Incomplete() && n > missing {
			missing, of = n, w.Main.WorldSize
		}
		ranks = max(ranks, len(w.Main.Ranks))
		steps += w.Main.Steps
		time += w.Main.Makespan
	}
	switch {
	case len(v.Windows) == 0:
		return "Too little data: there are no steps to judge.", ""
	case ranks == 1:
		what = "Too little data: one rank reported, so nobody can be compared"
		if e, ok := evidence.Find[evidence.DeviceShares](v.Observed); ok {
			what += "; " + deviceShares(e)
		}
		return what + ".", fmt.Sprintf("one rank, %s of %s each", counted(steps, "step"), length(float64(time)/float64(max(1, steps))))
	case len(v.Windows) > 0 && lost(v, answer.StagesDiffer) != "":
		return "Too little data: " + lost(v, answer.StagesDiffer) + ".", "ranks are compared stage by stage"
	case lost(v, answer.StageContains) != "":
		return "Too little data: " + lost(v, answer.StageContains) + ".", "time in both counts twice"
	case missing > 0:
		return fmt.Sprintf("Too little data: %d of %d ranks did not report.", missing, of), "the others may wait for a rank that is not recorded"
	case slices.ContainsFunc(v.Windows, func(w diagnose.Window) bool { return w.Incomplete() }):
		return "Too little data: what was recorded is incomplete, or its stages do not add up.", "nothing certain can be said about such steps"
	case belowFloor(v.Windows[0].Main):
		what = fmt.Sprintf("Too little data: all steps together take %s.", length(float64(time)))
		return what, "times are read as nanoseconds; if they were recorded in µs or ms, convert them"
	}
	return fmt.Sprintf("Too little data: %s of %s.", counted(steps, "step"), counted(ranks, "rank")), "so few steps cannot rule out chance"
}

// lost is what a reader says of a problem of that kind, "" where there is none.
func lost(v *diagnose.RunVerdict, kind answer.ProblemKind) string {
	for _, p := range v.Problems {
		if p.Problem == kind {
			return p.Text
		}
	}
	return ""
}

func deviceShares(e evidence.DeviceShares) string {
	s := fmt.Sprintf("its device idles %s of the time and computes %s", about(e.Idle), about(e.Compute))
	if e.Exposed >= 0.01 {
		s += fmt.Sprintf("; communication that nothing covers takes %s", about(e.Exposed))
	}
	return s
}

// undecided says where a delay may hide.
func undecided(v *diagnose.RunVerdict) (what, why string) {
	u, ok := v.Hidden()
	if k := slices.IndexFunc(v.Undecided, func(u answer.Undecided) bool { return u.Question == answer.RanksNotRecorded && u.Hides > 0 }); k >= 0 {
		return fmt.Sprintf("Undecided: no recorded rank arrives late, but %s without a record may.", oneOf(v.Undecided[k].N)),
			"all others would wait for it alike"
	}
	if k := slices.IndexFunc(v.Undecided, func(u answer.Undecided) bool { return u.Question == answer.ClockOrDelay && u.Hides > 0 }); !ok && k >= 0 {
		u := v.Undecided[k]
		why = "a delay in every step looks like the offset of a clock, and it is not known which ranks share one"
		clocks := "their clocks are"
		switch len(u.Ranks) {
		case 0:
			return fmt.Sprintf("Undecided: up to %s of every %s step may be one rank's delay, or its clock.", length(float64(u.Hides)), length(float64(u.Step))), why
		case 1:
			clocks = "its clock is"
		}
		return fmt.Sprintf("Undecided: %s may delay everyone by up to %s of every %s step, or %s off.",
			ranksWord(u.Ranks), length(float64(u.Hides)), length(float64(u.Step)), clocks), why
	}
	if slices.ContainsFunc(v.Undecided, func(u answer.Undecided) bool { return u.Question == answer.RolesMixed && u.Hides > 0 }) {
		return "Undecided: ranks send to each other and meet in no collective, so none of them can be compared with another.",
			"each has layers of its own, so that work between a receive and the next send may be long by design"
	}
	if !ok && slices.ContainsFunc(v.Undecided, func(u answer.Undecided) bool { return u.Question == answer.MessagesNotRecorded && u.Hides > 0 }) {
		return "Undecided: ranks wait for each other in sends and receives that are not recorded.", behindMessages(v)
	}
	if !ok {
		return "Undecided: where the ranks synchronise is not shown, so who waits for whom cannot be told.",
			"no stage's times show that ranks wait for each other in it"
	}
	if u.Question == answer.TransferHidden {
		return fmt.Sprintf("Undecided: no rank is late, but up to %s of every %s step may be a slow transfer in %s.", length(float64(u.Hides)), length(float64(u.Step)), stageWord(u.Stage)),
			"it follows the last entry of a collective, and takes all ranks the same time"
	}
	may := fmt.Sprintf("up to %s of it may be one rank's delay", length(float64(u.Hides)))
	if u.Hides >= u.Time {
		may = "any of it may be one rank's delay"
	}
	return fmt.Sprintf("Undecided: all ranks spend %s of every %s step in %s alike, and %s.", length(float64(u.Time)), length(float64(u.Step)), stageWord(u.Stage), may),
		"they synchronise inside it, so stage times cannot show who is late"
}

// behindMessages says why a rank is not named, and which one stage times show.
func behindMessages(v *diagnose.RunVerdict) string {
	if len(v.Findings) == 0 || v.Findings[0].Rank == nil || v.Findings[0].Stage == "" {
		return "who arrives late at a collective may have waited for another in them"
	}
	f := &v.Findings[0]
	return fmt.Sprintf("in every %s step %s takes %s longer in %s than its peers, but may wait for another there", length(float64(f.Step)), placeWord(f.Place), length(float64(f.Excess)), stageWord(f.Stage))
}

// who is the subject of the headline, and whether it is several.
func who(f *diagnose.Finding) (name string, several bool) {
	switch {
	case f.Kind == diagnose.KindHost && len(f.Ranks) > 0:
		if _, moves := evidence.Find[evidence.RankToRank](f.Evidence); moves {
			return fmt.Sprintf("host %s (%s)", f.Host, ranksWord(f.Ranks)), false
		}
		return fmt.Sprintf("all ranks of %s (%s)", f.Host, ranksWord(f.Ranks)), true
	case f.Kind == diagnose.KindHost:
		return "host " + f.Host, false
	case f.Cause == diagnose.CauseMoreWork && len(f.Ranks) == 1:
		return fmt.Sprintf("rank %d, the only one of role group %s,", f.Ranks[0], f.Group), false
	case f.Cause == diagnose.CauseMoreWork:
		return "role group " + f.Group, false
	case f.Kind == diagnose.KindGroup && len(f.Ranks) > 0 && isTogether(f):
		return ranksWord(f.Ranks), true
	case f.Kind == diagnose.KindGroup && len(f.Ranks) > 0:
		return fmt.Sprintf("all ranks of %s (%s)", f.Group, ranksWord(f.Ranks)), true
	case f.Rank != nil && len(f.Ranks) > 1:
		return ranksWord(f.Ranks), true
	case f.Rank != nil:
		return placeWord(f.Place), false
	}
	return "", false
}

// isTogether reports whether ranks are late together for a reason that is one of
// theirs.
func isTogether(f *diagnose.Finding) bool {
	_, ok := evidence.Find[evidence.LateBehindMessages](f.Evidence)
	return ok
}

// suspectWhat is who delays whom by how much.
func suspectWhat(v *diagnose.RunVerdict, f *diagnose.Finding) string {
	text := ""
	switch f.Cause {
	case diagnose.CauseLate, diagnose.CauseDevice:
		text = lateWhat(f, operatorBehind(v, f))
	case diagnose.CauseMissing:
		text = missingWhat(f)
	case diagnose.CauseDesync:
		text = desyncWhat(f)
	case diagnose.CauseMoreWork:
		name, _ := who(f)
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
func lateWhat(f *diagnose.Finding, op string) string {
	name, several := who(f)
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
	where := "in " + stageWord(f.Stage)
	if _, stages := evidence.Find[evidence.LastToArrive](f.Evidence); f.Stage == "" && !stages {
		switch {
		case f.Source != nil:
			where = "before " + sourceWord(f.Source)
		case f.Op != "":
			where = "before " + bareOp(f.Op)
		}
	}
	if f.Cause == diagnose.CauseDevice {
		where = "on the device in " + stageWord(f.Stage)
	}
	return fmt.Sprintf("%s %s everyone %s%s: %s", upper(name), verb, where, op, howMuch(f))
}

// operatorBehind is the line or the operator that explains most of a finding, in
// brackets.
func operatorBehind(v *diagnose.RunVerdict, f *diagnose.Finding) string {
	if e, ok := evidence.Find[evidence.SpentIn](f.Evidence); ok {
		return fmt.Sprintf(" (%s)", lineWord(&e.Source))
	}
	for i := range v.Findings {
		if o := &v.Findings[i]; o.Cause == diagnose.CauseOperator && o.Rank != nil && f.Rank != nil && *o.Rank == *f.Rank && o.Stage == f.Stage {
			return fmt.Sprintf(" (%s)", opnames.Label(o.Op))
		}
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

// savesOfRun is the part of the run that fixing a finding, and all that are late
// together with it, saves.
func savesOfRun(f *diagnose.Finding) float64 {
	if e, ok := evidence.Find[evidence.LateTogether](f.Evidence); ok {
		return e.RunGain
	}
	return f.RunGain
}

// saves is what fixing a finding saves.
func saves(f *diagnose.Finding, minGain float64) string {
	gain, it := f.Gain, "it"
	if e, ok := evidence.Find[evidence.LateTogether](f.Evidence); ok {
		gain, it = e.Gain, "them"
	}
	run := savesOfRun(f)
	below := ""
	if f.BelowMinGain {
		below = fmt.Sprintf(", below the threshold of %s", percentOf(minGain))
	}
	switch {
	case gain == 0 && run == 0:
		return ""
	case f.Cause == diagnose.CauseLate && it == "it" && f.Stage == "" && f.RunAtMost >= run+0.02:
		return fmt.Sprintf("Fixing it would cut step time by %s, and by up to %s if it is as slow where ranks synchronise%s.", about(run), about(f.RunAtMost), below)
	case f.Cause == diagnose.CauseMoreWork || f.Cause == diagnose.CauseTurns:
		return fmt.Sprintf("Were the work even, step time would fall by %s%s.", about(run), below)
	case f.Kind == diagnose.KindRank && it == "it" && gain < float64(f.Excess)/float64(max(1, f.Step))/2:
		return fmt.Sprintf("Others are late too: fixing it alone would cut step time by only %s.", about(run))
	case f.Cause == diagnose.CauseHost:
		return fmt.Sprintf("At the device's pace step time would fall by up to %s%s.", about(run), below)
	case f.Cause == diagnose.CauseSlowSteps && f.Stage == "":
		return fmt.Sprintf("At the length of the others the run would take %s less%s.", about(run), below)
	case f.Struck.Pattern == diagnose.PatternConstant || about(gain) == about(run):
		return fmt.Sprintf("Fixing %s would cut step time by %s%s.", it, about(run), below)
	}
	return fmt.Sprintf("Fixing %s would cut those steps by %s, and the run by %s%s.", it, about(gain), about(run), below)
}

// why is the strongest evidence and the certainty.
func why(f *diagnose.Finding) string {
	text := ""
	for _, e := range f.Evidence {
		if _, lack := e.(evidence.Lack); !lack {
			text = shortEvidence(f, e)
			break
		}
	}
	if w, ok := evidence.WitnessOf(f.Evidence, evidence.FromOperators); ok && w.Agrees {
		text += "; its operators agree"
	}
	if w, ok := evidence.WitnessOf(f.Evidence, evidence.FromProfiler); ok && w.Agrees {
		text += "; the profiler's traces agree"
	}
	if text != "" {
		text += ". "
	}
	text += fmt.Sprintf("Certainty: %s", f.Confidence)
	if l, ok := limit(f); ok {
		text += " (" + lackWords(l) + ")"
	}
	return text + "."
}

// limit is the reason that keeps the certainty where it is.
func limit(f *diagnose.Finding) (evidence.Lack, bool) {
	for _, e := range f.Evidence {
		if l, ok := e.(evidence.Lack); ok && l.AtMost == f.Confidence {
			return l, true
		}
	}
	return evidence.Lack{}, false
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
	} else if r, ok := evidence.Find[evidence.Replay](f.Evidence); ok && agrees(r) {
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
