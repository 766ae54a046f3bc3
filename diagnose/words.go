package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/diagnose/opnames"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/trace"
)

// ms writes a length of time with three significant digits.
func ms(ns int64) string {
	v, unit := float64(ns), "ns"
	switch a := math.Abs(v); {
	case a >= 1e9:
		v, unit = v/1e9, "s"
	case a >= 1e6:
		v, unit = v/1e6, "ms"
	case a >= 1e3:
		v, unit = v/1e3, "µs"
	}
	digits := 2
	if v != 0 {
		digits = min(2, max(0, 2-int(math.Floor(math.Log10(math.Abs(v))))))
	}
	text := fmt.Sprintf("%.*f", digits, v)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text + " " + unit
}

func probability(p float64) string {
	switch {
	case p < 1e-6:
		return "below 1e-6"
	case p < 0.001:
		return fmt.Sprintf("%.0e", p)
	}
	return fmt.Sprintf("%.3f", p)
}

func percent(f float64) string {
	if f < 0.0995 {
		return fmt.Sprintf("%.1f %%", 100*f)
	}
	return fmt.Sprintf("%.0f %%", 100*f)
}

// headline is one sentence for someone tired.
func (j *judge) headline(suspects []Finding) string {
	if len(j.windows) == 0 {
		return "No windows: there is nothing to judge."
	}
	first := j.windows[0].Main
	if len(first.Ranks) == 1 && len(suspects) == 0 {
		return j.oneRank()
	}
	if len(suspects) == 0 {
		w := j.windows[0].Main
		return j.caveat() + fmt.Sprintf("The window is too short to say anything: %s of exposed time in all.", ms(w.Makespan))
	}
	return j.caveat() + j.sentence(j.found[0]) + j.when(j.found[0])
}

func (j *judge) sentence(f *finding) string {
	switch f.cause {
	case causeDevice:
		return fmt.Sprintf("Rank %d is slow on the device in %s: %s more a step than its peers, and every rank waits for it; mending it would save about %s.",
			*f.Rank, f.Stage, ms(f.perStep()), percent(f.Gain))
	case causeLeads:
		return fmt.Sprintf("Rank %d is the latest in %s, by %s of a %s step; the window does not show where the ranks meet, so what that costs is open.",
			*f.Rank, f.Stage, ms(f.perStep()), ms(f.step()))
	case causeLate:
		if f.Confidence == Insufficient {
			return j.smallSentence(f)
		}
		return j.lateSentence(f)
	case causeGroup:
		return f.groupSentence()
	case causeTurns:
		return fmt.Sprintf("Ranks hold each other up by turns in %s: %s of every %s step is lost to it, and no rank more to blame than the others.", f.Stage, ms(f.perStep()), ms(f.step()))
	case causeGrowth:
		return fmt.Sprintf("%s is slow on all ranks alike: %s of a %s step more than in another window; which rank causes it is not decidable from stage times.",
			f.Stage, ms(f.perStep()), ms(f.step()))
	}
	switch {
	case f.Confidence >= Supported:
		return fmt.Sprintf("%s has slow steps: at its median in all of them, %s of a %s step would go; no rank is late for it more than the others.",
			f.Stage, ms(f.perStep()), ms(f.step()))
	case f.someOnly():
		return fmt.Sprintf("No single rank stands out: %s takes %s of a %s step, and %s the latest in it.",
			f.Stage, percent(f.Score), ms(f.step()), ranksAre(f.latest()))
	}
	return fmt.Sprintf("No rank stands out: %s takes %s of a %s step on all ranks alike; whether one rank causes that is not decidable from stage times.",
		f.Stage, percent(f.Score), ms(f.step()))
}

// smallSentence is the headline on a late rank that costs too little to be
// called, whether or not it is sure that it is late.
func (j *judge) smallSentence(f *finding) string {
	cost := fmt.Sprintf("%s of a %s step", ms(f.perStep()), ms(f.step()))
	if f.inside != nil && f.inside.varies(f.perStep()) {
		return fmt.Sprintf("No rank is slow throughout: the work of rank %d in %s varies, which costs %s (%s).", *f.Rank, f.where(), cost, percent(f.Score))
	}
	if f.surelyLate(j.gates) {
		return fmt.Sprintf("Rank %d is surely slower in %s, but it costs little: %s (%s; called from %.0f %%).",
			*f.Rank, f.where(), cost, percent(f.Score), 100*j.gates.StaticGain)
	}
	return fmt.Sprintf("No straggler that this window can call: the largest is rank %d in %s, %s (%s, the gate is %.0f %%).",
		*f.Rank, f.where(), cost, percent(f.Score), 100*j.gates.StaticGain)
}

// surelyLate reports whether the test of the best window leaves no doubt that
// the rank was late, and nothing is wrong with that window's data.
func (f *finding) surelyLate(g frontier.Gates) bool {
	return f.culprit != nil && f.culprit.P <= g.Meeting.Significance && !slices.Contains(f.best.Labels, frontier.TelemetryLimited)
}

// where is the stage of a suspect, for a sentence, with the operator that
// explains most of it.
func (f *finding) where() string {
	where := cmp.Or(f.Stage, "several stages")
	if f.inside == nil {
		return where
	}
	if d, ok := f.inside.chief(); ok {
		return where + fmt.Sprintf(" (%s)", opnames.Label(d.Name))
	}
	if f.inside.deviceWide() {
		return where + " (all operators alike)"
	}
	return where
}

// extent is the stage of a suspect, or that it is all of them.
func (f *finding) extent() string { return cmp.Or(f.Stage, "all its stages") }

// ranksAre is "rank 3 is" or "ranks 3-5 are".
func ranksAre(ranks []int) string {
	if len(ranks) == 1 {
		return fmt.Sprintf("rank %d is", ranks[0])
	}
	return fmt.Sprintf("ranks %s are", trace.RankList(ranks))
}

// latest are the ranks that are latest at the end of the suspect's stage.
func (f *finding) latest() []int {
	for _, s := range f.best.Stages {
		if s.Name == f.Stage {
			return s.Latest
		}
	}
	return nil
}

func (f *finding) someOnly() bool {
	n := len(f.latest())
	return n > 0 && n < len(f.best.Ranks)
}

func (f *finding) perStep() int64 { return f.Explained / int64(max(1, f.steps)) }
func (f *finding) step() int64    { return f.makespan / int64(max(1, f.steps)) }

// lateSentence is the headline on ranks that the group waits for.
func (j *judge) lateSentence(f *finding) string {
	saved, explained := f.Gain, f.Explained
	who, it := fmt.Sprintf("Rank %d", *cmp.Or(f.Rank, new(int))), "it"
	plural := len(f.together) > 1
	if plural {
		who, it = "Ranks "+listed(f.together), "them"
		saved, explained = f.mend, 0
		for _, o := range j.found {
			if o.key().cause == causeLate && o.Kind == f.Kind && o.Stage == f.Stage && slices.Equal(o.together, f.together) {
				explained += o.Explained
			}
		}
	}
	if f.Kind == KindGroup {
		who = fmt.Sprintf("All ranks of %s (%s)", f.Group, trace.RankList(f.together))
	}
	verb := map[Confidence]string{Strong: "hold", Supported: "probably hold", Ambiguous: "may hold"}[f.Confidence]
	if !plural && f.Confidence != Ambiguous {
		verb += "s"
	}
	where := "in " + f.where()
	if plural {
		where = "in " + cmp.Or(f.Stage, "several stages")
	}
	perStep := explained / int64(max(1, f.steps))
	how := fmt.Sprintf("%s of every %s step", ms(perStep), ms(f.step()))
	if c := f.culprit; c.Steps*2 < f.best.Steps {
		how = fmt.Sprintf("%s in %d of %d steps", ms(c.Excess), c.Steps, f.best.Steps)
	}
	if charged := float64(explained) / float64(max(1, f.makespan)); saved < charged/2 {
		return fmt.Sprintf("%s %s up the group %s: %s; others are late too, so mending %s alone would save only %s.", who, verb, where, how, it, percent(saved))
	}
	return fmt.Sprintf("%s %s up the group %s: %s; mending %s would save %s.", who, verb, where, how, it, percent(saved))
}

// listed writes ranks as a person would say them: "1, 9 and 17".
func listed(ranks []int) string {
	if len(ranks) > 6 {
		if list := trace.RankList(ranks); len(list) <= 24 {
			return list
		}
		return fmt.Sprintf("%d, %d, %d and %d more", ranks[0], ranks[1], ranks[2], len(ranks)-3)
	}
	var b strings.Builder
	for i, r := range ranks {
		switch {
		case i == 0:
		case i == len(ranks)-1:
			b.WriteString(" and ")
		default:
			b.WriteString(", ")
		}
		fmt.Fprint(&b, r)
	}
	return b.String()
}

// caveat opens the headline when the data are not what they should be.
func (j *judge) caveat() string {
	least, most, limited := 0, 0, false // ranks that are missing
	for i, w := range j.windows {
		n := len(w.Main.Quality.Missing)
		if i == 0 {
			least = n
		}
		least, most = min(least, n), max(most, n)
		limited = limited || slices.Contains(w.Main.Labels, frontier.TelemetryLimited)
	}
	switch {
	case least < most:
		return fmt.Sprintf("Incomplete data, %d to %d of %d ranks missing in each of %d windows: ", least, most, j.windows[0].Main.WorldSize, len(j.windows))
	case most > 0:
		return fmt.Sprintf("Incomplete data, %d of %d ranks missing: ", most, j.windows[0].Main.WorldSize)
	case limited:
		return "Incomplete telemetry: "
	}
	return ""
}

// windowList is "window 3" or "windows 0-2, 5".
func windowList(windows []int64) string {
	ids := make([]int, len(windows))
	for i, w := range windows {
		ids[i] = int(w)
	}
	slices.Sort(ids)
	if ids = slices.Compact(ids); len(ids) == 1 {
		return fmt.Sprintf("window %d", ids[0])
	}
	return "windows " + strings.ReplaceAll(trace.RankList(ids), ",", ", ")
}

// stepRange is "220–418", the steps of a window's account.
func stepRange(w *frontier.Result) string {
	return fmt.Sprintf("%d–%d", w.FirstStep, w.FirstStep+int64(max(1, w.Steps))-1)
}

// when says in which of a run's windows a suspect was seen, if not in all: " It
// was seen in window 1 alone of 3 (steps 80–138)."
func (j *judge) when(f *finding) string {
	seen, n := f.Windows, len(j.windows)
	if f.Confidence < Supported || len(seen) >= n {
		return ""
	}
	if len(seen) == 1 {
		return fmt.Sprintf(" It was seen in %s alone of %d (steps %s).", windowList(seen), n, stepRange(f.best))
	}
	if list := windowList(seen); len(list) <= 40 {
		return fmt.Sprintf(" It was seen in %s of %d.", list, n)
	}
	return fmt.Sprintf(" It was seen in %d of %d windows, from window %d on.", len(seen), n, slices.Min(seen))
}

// undecidedRank begins what is said of a stage that is long on all ranks alike.
const undecidedRank = "Rank: not decidable from stage times "

// undecidable lists what the signal cannot tell, with what would.
func (j *judge) undecidable(suspects []Finding) []string {
	var out []string
	say := func(text string) {
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	for _, s := range suspects {
		if s.Kind == KindStage {
			how := "A profiler on a few ranks shows who enters its collective last."
			if len(j.launched) > 0 {
				how = "sfstat zscore compares its operators, rank by rank."
			}
			say(fmt.Sprintf(undecidedRank+"for %s, because ranks that wait for each other in a stage all look alike in it. %s", s.Stage, how))
		}
	}
	for _, w := range j.windows {
		m := w.Main
		for _, l := range m.Labels {
			switch l {
			case frontier.RoleAwareNeeded:
				say("One frontier over all ranks: roles do different work. Read the role groups; record roles for every rank.")
			case frontier.GradientAccumulationAmbiguous:
				say("Order of microsteps: they are summed in the stages. Record stages with their accumulation index (stage@0, stage@1, …).")
			case frontier.ForwardEventScopeLimited:
				say("Device or host in the forward: too few device events were ready. Sample more steps, and read events later.")
			}
		}
		if len(m.Ranks) < 2 {
			say("Anything across ranks: one rank reported. Record all ranks of the group.")
			continue
		}
		if !m.Meeting.Evidence.Sure() && !m.Meeting.WithinPeers && m.Steps > 0 {
			say("Where the ranks meet: the window does not show it for sure. Record more steps (8 or more; with two ranks, hundreds), or name the stage with --meet-after.")
		}
		if !m.Quality.Wall {
			say("Time between stages and steps: no wall time was recorded. Record wall_ns.")
		}
	}
	return out
}

// plan says what a heavy profiler should record next.
func (j *judge) plan(suspects []Finding) *CapturePlan {
	if len(suspects) == 0 || len(j.windows) == 0 {
		return nil
	}
	f := j.found[0]
	w := f.best
	if len(w.Ranks) < 2 || f.recorded() || f.Kind == KindStage && len(j.launched) > 0 {
		return nil
	}
	p := &CapturePlan{Window: w.Window, Steps: [2]int64{w.FirstStep, w.FirstStep + int64(w.Steps) - 1}, Tool: "torch.profiler or nsys, 3 to 5 steps like these"}
	if f.Stage != "" {
		p.Stages = []string{f.Stage}
	}
	switch f.Kind {
	case KindRank:
		p.Ranks = append([]int{*f.Rank}, sample(w.Ranks, 2, append(f.together, *f.Rank))...)
		p.Why = fmt.Sprintf("to see which operation makes rank %d late in %s, beside two ranks that are not", *f.Rank, f.extent())
		if f.inside != nil {
			p.Tool = "torch.profiler with with_stack=True, or py-spy, on the host"
			p.Why = fmt.Sprintf("to see what rank %d does in %s: its operators take no longer than its peers'", *f.Rank, f.extent())
		}
	case KindWorkload:
		p.Ranks = sample(w.Ranks, 4, nil)
		p.Why = fmt.Sprintf("to see what differs between the steps in which different ranks are late in %s", f.Stage)
	case KindGroup:
		p.Ranks = sample(w.Ranks, 4, nil)
		if len(f.together) > 0 {
			p.Ranks = append(sample(f.together, 2, nil), sample(w.Ranks, 2, f.together)...)
		}
		p.Why = "to compare the work of the role groups, operation by operation"
	default:
		p.Ranks = sample(w.Ranks, 8, nil)
		p.Why = fmt.Sprintf("to see who enters the collective of %s last: ranks that wait alike look alike from outside", f.Stage)
	}
	return p
}

// recorded reports whether the operators of the suspect are in the recording,
// and say why it is late: there is no need to record them.
func (f *finding) recorded() bool {
	in := f.inside
	return in != nil && len(in.all) > 0 && (len(in.sure) > 0 || !in.all[0].Tested)
}

// sample picks up to n ranks spread evenly, leaving some out.
func sample(ranks []int, n int, without []int) []int {
	rest := slices.DeleteFunc(slices.Clone(ranks), func(r int) bool { return slices.Contains(without, r) })
	if len(rest) <= n {
		return rest
	}
	out := make([]int, 0, n)
	for k := range n {
		out = append(out, rest[k*len(rest)/n])
	}
	return out
}
