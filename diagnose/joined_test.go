package diagnose

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/comms"
)

// inShort returns a verdict in lines: its status, what it finds, what stays open, what was lost and what to do next.
func inShort(v *RunVerdict) (lines []string) {
	lines = append(lines, v.Status.String()+", "+answerInShort(v))
	for i := range v.Findings {
		lines = append(lines, findingInShort(&v.Findings[i]))
	}
	for _, u := range v.Undecided {
		line := "open: " + string(u.Question)
		if u.Stage != "" {
			line += " in " + u.Stage
		}
		if u.Hides > 0 {
			line += fmt.Sprintf(", hides %d of %d ms", u.Hides/1e6, u.Step/1e6)
		}
		if u.Unlikely {
			line += ", unlikely"
		}
		lines = append(lines, line)
	}
	for _, l := range v.Limits {
		if l.MayHide > 0 {
			lines = append(lines, fmt.Sprintf("hides: %d ms in %s", l.MayHide/1e6, l.Stage))
		}
	}
	for _, e := range v.Observed {
		switch e := e.(type) {
		case evidence.OneRank:
			lines = append(lines, fmt.Sprintf("known: %s takes %d of %d ms", e.Stage, e.Time/1e6, e.Step/1e6))
		case evidence.NobodyLate:
			lines = append(lines, fmt.Sprintf("known: nobody of %d late in %d steps of %d ms", e.Ranks, e.Steps, e.Step/1e6))
		case evidence.Witness:
			lines = append(lines, fmt.Sprintf("known: %s finds nobody", e.Source))
		case evidence.LaunchedOperators:
			lines = append(lines, fmt.Sprintf("known: %d of %d operators longer on rank %d in %s", e.N, e.Of, *e.Rank, e.Stage))
		}
	}
	for _, p := range v.Problems {
		if p.Problem != answer.StepsDropped {
			lines = append(lines, strings.TrimRight(fmt.Sprintf("lost: %s %s", p.Problem, p.Ranks), " "))
		}
	}
	for _, a := range v.Next {
		line := fmt.Sprintf("next: %s", a.Action)
		if a.With != "" {
			line += " " + string(a.With)
		}
		if len(a.Ranks) > 0 {
			line += " of " + trace.RankList(a.Ranks)
		}
		if len(a.Stages) > 0 {
			line += " in " + strings.Join(a.Stages, ", ")
		}
		lines = append(lines, line)
	}
	return lines
}

// answerInShort returns what an answer to a run rests on, and who and what it names.
func answerInShort(v *RunVerdict) string {
	a := v.Answer()
	line := "on " + string(a.Basis)
	named := func(what string, there bool) {
		if there {
			line += ", " + what
		}
	}
	if h := a.Healthy; h != nil {
		line += fmt.Sprintf(": of %d stages, from %d ms on", len(h.Stages), h.Least/1e6)
		named("searched", h.Searched != nil)
		named("small", h.Small != nil)
		named("once", h.Once != nil)
		named("periodic", h.Periodic != nil)
		named("start", h.StartUp != nil)
		named("perhaps inside", h.Inside != nil)
		named("perhaps a transfer", h.Transfer != nil)
		for _, l := range h.Blind {
			if float64(l.Hides) < v.MinGain*float64(h.Step) {
				continue
			}
			line += " and in " + l.Stage
		}
	}
	if s := a.Shortage; s.Of != "" {
		line += fmt.Sprintf(": %s, %d ranks, %d steps, %d of %d missing", s.Of, s.Ranks, s.Steps, s.Missing, s.All)
		named(s.Says, s.Says != "")
	}
	if a.Open.Question != "" {
		line += ": " + string(a.Open.Question)
		named("behind "+a.Open.Stage, a.Behind != nil)
	}
	if a.First != nil {
		line += fmt.Sprintf(": %s, saves %s", cmp.Or(string(a.Who.Kind), "all"), cmp.Or(string(a.Saving.Kind), "nothing"))
		named("before it", a.Where.Before)
		named("on the device", a.Where.OnDevice)
		named("at "+a.Where.Op, a.Where.Op != "")
		named("only "+a.Certainty.String(), a.Certainty < evidence.Strong)
	}
	for _, f := range a.Also {
		line += " and " + f.Kind.String()
	}
	if a.Late > 0 {
		line += fmt.Sprintf(", %d together %.0f %%", a.Late, 100*a.Together)
	}
	if a.Why.Strongest != nil {
		line += fmt.Sprintf("; by %T", a.Why.Strongest)
	}
	if l := a.Why.Lack; l != nil {
		line += ", not " + string(l.Reason)
	}
	for _, s := range a.Why.Agree {
		line += " and " + string(s)
	}
	return line
}

func findingInShort(f *Finding) string {
	line := fmt.Sprintf("%s, %s:", f.Kind, f.Cause)
	if f.Rank != nil {
		line += fmt.Sprintf(" rank %d", *f.Rank)
	}
	if f.StandsFor != nil {
		line += " for " + trace.RankList(f.StandsFor)
	}
	if f.Host != "" {
		line += " on " + f.Host
	}
	if len(f.Ranks) > 0 {
		line += " with " + trace.RankList(f.Ranks)
	}
	if f.Stage != "" {
		line += " in " + f.Stage
	}
	if f.Op != "" {
		line += " at " + f.Op
	}
	if f.Group != "" {
		line += " of " + f.Group
	}
	if f.Source != nil {
		line += fmt.Sprintf(" from %s:%d", path.Base(f.Source.File), f.Source.Line)
	}
	line += fmt.Sprintf(", %s", f.Confidence)
	if f.BelowMinGain {
		line += ", small"
	}
	line += fmt.Sprintf(", %d ms, %.0f %%", f.Excess/1e6, 100*f.RunGain)
	if p := f.Struck.Pattern; p != PatternConstant && p != PatternUnknown {
		line += fmt.Sprintf(", %s, %d of %d steps", p, f.Struck.Count, f.Struck.Of)
	}
	for _, e := range f.Evidence {
		switch e := e.(type) {
		case evidence.Witness:
			line += fmt.Sprintf("; %s agrees %v, raises %v", e.Source, e.Agrees, e.Raised)
		case evidence.LaunchedOperators:
			line += fmt.Sprintf("; %d of %d operators longer", e.N, e.Of)
		case evidence.SpentIn:
			line += fmt.Sprintf("; %d instead of %d ms at %s:%d", e.Own/1e6, e.Peers/1e6, e.Source.File, e.Source.Line)
		case evidence.Lack:
			line += fmt.Sprintf("; %s", e.Reason)
			if e.Rank != nil {
				line += fmt.Sprintf(" %d", *e.Rank)
			}
		}
	}
	return line
}

// judged returns the verdict on the recordings of one run.
func judged(t *testing.T, o Options, all ...trace.Recording) *RunVerdict {
	t.Helper()
	s := New(o)
	for _, r := range all {
		if err := s.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	v := s.Verdict()
	if len(v.Runs) != 1 {
		t.Fatalf("%d runs, want one", len(v.Runs))
	}
	return &v.Runs[0]
}

// says fails where a verdict in short is another.
func says(t *testing.T, v *RunVerdict, want string) {
	t.Helper()
	if diff := gocmp.Diff(strings.Split(strings.TrimSpace(want), "\n"), inShort(v)); diff != "" {
		t.Error(diff)
	}
}

// entering returns a simulated job of eight ranks whose windows say when ranks enter their collectives.
func entering(steps int, faults ...simulate.Fault) simulate.Spec {
	s := spec(8, steps, 1, faults...)
	s.Arrivals = true
	return s
}

// fault delays some ranks in each step.
func fault(of simulate.Family, delay simulate.Millis, ranks ...int) simulate.Fault {
	return simulate.Fault{Family: of, Delay: delay, Ranks: ranks}
}

// unrecorded removes the entries of some ranks.
func unrecorded(ranks ...int) func(w *trace.Window) {
	return func(w *trace.Window) {
		w.Arrivals = slices.DeleteFunc(w.Arrivals, func(c *comms.Record) bool { return slices.Contains(ranks, c.Processes[0].Rank) })
	}
}

// changed returns the windows of a simulated job, after changes.
func changed(t *testing.T, s simulate.Spec, changes ...func(w *trace.Window)) (out []trace.Recording) {
	t.Helper()
	for _, w := range windows(t, s) {
		for _, change := range changes {
			change(w)
		}
		out = append(out, w)
	}
	return out
}

// healthy returns a baseline of so many steps.
func healthy(t *testing.T, steps int) *frontier.Sample {
	t.Helper()
	var sample frontier.Sample
	for _, w := range windows(t, spec(8, steps, 9)) {
		if err := sample.Add(w, []string{simulate.StageBackward}); err != nil {
			t.Fatal(err)
		}
	}
	return &sample
}
