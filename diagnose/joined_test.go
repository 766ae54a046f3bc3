package diagnose

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/comms"
)

// inShort returns a verdict in lines: its status, what it finds, what stays open, what was lost and what to do next.
func inShort(v *RunVerdict) (lines []string) {
	lines = append(lines, v.Status.String())
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
			lines = append(lines, strings.TrimRight(fmt.Sprintf("lost: %s %s", p.Problem, trace.RankList(p.Ranks)), " "))
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

func findingInShort(f *Finding) string {
	line := fmt.Sprintf("%s, %s:", f.Kind, f.Cause)
	if f.Rank != nil {
		line += fmt.Sprintf(" rank %d", *f.Rank)
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
	if diff := cmp.Diff(strings.Split(strings.TrimSpace(want), "\n"), inShort(v)); diff != "" {
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

// healthy is a baseline of so many steps.
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
