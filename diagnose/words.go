package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

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
func (j *judge) headline(suspects []Suspect) string {
	if len(j.windows) == 0 {
		return "No windows: there is nothing to judge."
	}
	first := j.windows[0].Main
	if len(first.Ranks) == 1 && len(suspects) == 0 {
		return fmt.Sprintf("One rank only: a step takes %s; which rank holds up a group cannot be said.", ms(first.Makespan/int64(max(1, first.Steps))))
	}
	if len(suspects) == 0 {
		return j.quiet()
	}
	f := j.found[0]
	text := ""
	switch {
	case f.Kind == KindRank && f.Stage == "":
		text = fmt.Sprintf("Rank %d is slow in all its stages: %s of every %s step; mending it would save %s. Look at its host and device first.",
			*f.Rank, ms(f.perStep()), ms(f.step()), percent(max(f.Gain, f.Score)))
	case f.Kind == KindRank && f.Confidence == Insufficient:
		text = fmt.Sprintf("No straggler that this window can call: the largest is rank %d in %s, %s of a %s step (%s, the gate is %.0f %%).",
			*f.Rank, f.Stage, ms(f.perStep()), ms(f.step()), percent(f.Score), 100*j.gates.StaticGain)
	case f.Kind == KindRank && f.culprit == nil:
		text = fmt.Sprintf("Rank %d is slow on the device in %s: %s more a step than its peers, and every rank waits for it; mending it would save about %s.",
			*f.Rank, f.Stage, ms(f.perStep()), percent(f.Gain))
	case f.Kind == KindRank:
		text = j.rankHeadline(f)
	case f.Kind == KindGroup:
		text = fmt.Sprintf("Role group %s does %s more work a step than the others, who wait for it; no single rank stands out among its peers.", f.Group, ms(f.perStep()))
	case f.Kind == KindStage && f.Confidence >= Supported:
		text = fmt.Sprintf("%s is slow on all ranks alike: %s of a %s step too much in window %s; which rank causes it is not decidable from stage times.",
			f.Stage, ms(f.perStep()), ms(f.step()), windowList(f.Windows))
	default:
		text = fmt.Sprintf("No rank stands out: %s takes %s of a %s step on all ranks alike; whether one rank causes that is not decidable from stage times.",
			f.Stage, percent(f.Score), ms(f.step()))
	}
	return j.caveat() + text
}

func (f *finding) perStep() int64 { return f.Explained / int64(max(1, f.steps)) }
func (f *finding) step() int64    { return f.makespan / int64(max(1, f.steps)) }

func (j *judge) rankHeadline(f *finding) string {
	c := f.culprit
	sure := map[Confidence]string{Strong: "holds up", Supported: "probably holds up", Ambiguous: "may hold up"}[f.Confidence]
	how := fmt.Sprintf("%s of every %s step", ms(f.perStep()), ms(f.step()))
	if c.Steps*2 < f.best.Steps {
		how = fmt.Sprintf("%s in %d of %d steps", ms(c.Excess), c.Steps, f.best.Steps)
	}
	also := ""
	if n := j.together(f); n > 0 {
		also = fmt.Sprintf(" (with %d more rank%s in the same stage)", n, map[bool]string{true: "s"}[n > 1])
	}
	return fmt.Sprintf("Rank %d%s %s the group in %s: %s; mending it would save %s.", *f.Rank, also, sure, f.Stage, how, percent(max(f.Gain, f.Score)))
}

// together counts the other ranks that are called for the same stage.
func (j *judge) together(f *finding) int {
	n := 0
	for _, o := range j.found {
		if o != f && o.Kind == KindRank && o.Stage == f.Stage && o.Confidence >= Supported {
			n++
		}
	}
	return n
}

func (j *judge) quiet() string {
	w := j.windows[0].Main
	if w.Leader.Stage < 0 {
		return j.caveat() + fmt.Sprintf("The window is too short to say anything: %s of exposed time in all.", ms(w.Makespan))
	}
	s := w.Stages[w.Leader.Stage]
	return j.caveat() + fmt.Sprintf("No straggler: a step takes %s, %s of it in %s, and no rank is late.", ms(w.Makespan/int64(max(1, w.Steps))), percent(*s.Share), s.Name)
}

// caveat opens the headline when the data are not what they should be.
func (j *judge) caveat() string {
	missing, limited := 0, false
	for _, w := range j.windows {
		missing = max(missing, len(w.Main.Quality.Missing))
		limited = limited || slices.Contains(w.Main.Labels, frontier.TelemetryLimited)
	}
	switch {
	case missing > 0:
		return fmt.Sprintf("Incomplete data, %d of %d ranks missing: ", missing, j.windows[0].Main.WorldSize)
	case limited:
		return "Incomplete telemetry: "
	}
	return ""
}

func windowList(windows []int64) string {
	ids := make([]int, len(windows))
	for i, w := range windows {
		ids[i] = int(w)
	}
	return trace.RankList(ids)
}

// undecidable lists what the signal cannot tell, with what would.
func (j *judge) undecidable(suspects []Suspect) []string {
	var out []string
	say := func(text string) {
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	for _, s := range suspects {
		if s.Kind == KindStage {
			say(fmt.Sprintf("Rank: not decidable from stage times for %s, because ranks that wait for each other in a stage all look alike in it. A profiler on a few ranks shows who enters its collective last.", s.Stage))
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
		if m.Meeting.At < 0 && m.Steps > 0 {
			say("Where the ranks meet: the window does not show it. Record more steps (8 or more) with wall time, or name the stage with --meet-after.")
		}
		if !m.Quality.Wall {
			say("Time between stages and steps: no wall time was recorded. Record wall_ns.")
		}
	}
	return out
}

// plan says what a heavy profiler should record next.
func (j *judge) plan(suspects []Suspect) *CapturePlan {
	if len(suspects) == 0 || len(j.windows) == 0 {
		return nil
	}
	f := j.found[0]
	w := f.best
	if len(w.Ranks) < 2 {
		return nil
	}
	p := &CapturePlan{Window: w.Window, Steps: [2]int64{w.FirstStep, w.FirstStep + int64(w.Steps) - 1}, Tool: "torch.profiler or nsys, 3 to 5 steps like these"}
	if f.Stage != "" {
		p.Stages = []string{f.Stage}
	}
	switch f.Kind {
	case KindRank:
		p.Ranks = append([]int{*f.Rank}, sample(w.Ranks, 2, *f.Rank)...)
		p.Why = fmt.Sprintf("to see which operation makes rank %d late in %s, beside two ranks that are not", *f.Rank, cmp.Or(f.Stage, "all its stages"))
	case KindGroup:
		p.Ranks = sample(w.Ranks, 4, -1)
		p.Why = "to compare the work of the role groups, operation by operation"
	default:
		p.Ranks = sample(w.Ranks, 8, -1)
		p.Why = fmt.Sprintf("to see who enters the collective of %s last: ranks that wait alike look alike from outside", f.Stage)
	}
	return p
}

// sample picks up to n ranks spread evenly, leaving one out.
func sample(ranks []int, n, without int) []int {
	rest := slices.DeleteFunc(slices.Clone(ranks), func(r int) bool { return r == without })
	if len(rest) <= n {
		return rest
	}
	out := make([]int, 0, n)
	for k := range n {
		out = append(out, rest[k*len(rest)/n])
	}
	return out
}
