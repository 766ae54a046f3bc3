package diagnose

import (
	"reflect"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/trace"
)

// TestBeside: stretches that are judged side by side have the findings of those that are judged one at a
// time, their windows the same accounts as far as these go, and nothing is read of a window that was given
// back.
func TestBeside(t *testing.T) {
	s := spec(64, 512, 1, simulate.Fault{Family: simulate.Data, Delay: 120, Ranks: []int{2}})
	s.Schedule.Windows = 24
	all := windows(t, s)
	alone := New(Options{Brief: true})
	for _, w := range all {
		if err := alone.Add(w); err != nil {
			t.Fatal(err)
		}
	}
	want := alone.Verdict().Runs[0]
	if len(want.Problems) == 0 {
		t.Error("no step is left out at the end of the last window: nothing shows how long windows were")
	}
	if n := len(alone.runs[0].steps.series[0].looked); n < 3 || len(want.Findings) == 0 {
		t.Fatalf("%d stretches, %d findings: nothing is judged side by side", n, len(want.Findings))
	}
	for _, threads := range []int{1, 2, 64} {
		var back atomic.Int32
		s := New(Options{Brief: true, Beside: NewBeside(threads, func(w *trace.Window) {
			for i := range w.Durations {
				w.Durations[i] = -1
			}
			w.Durations, w.Wall = nil, nil // as ingest.Release has it
			back.Add(1)
		})})
		for i := range all {
			w := *all[i]
			w.Durations = append([]int64{}, w.Durations...)
			if err := s.Add(&w); err != nil {
				t.Fatal(err)
			}
		}
		got := s.Verdict().Runs[0]
		for i := range want.Windows {
			a, b := got.Windows[i].Main, want.Windows[i].Main
			same := a.FirstStep == b.FirstStep && a.Steps == b.Steps && a.Cut == b.Cut && a.CutReason == b.CutReason && a.Makespan == b.Makespan && reflect.DeepEqual(a.Quality, b.Quality) &&
				slices.EqualFunc(a.Stages, b.Stages, func(a, b frontier.Stage) bool {
					return a.Name == b.Name && a.Advance == b.Advance && *a.Share == *b.Share && a.Syncs == b.Syncs
				})
			if !same || a.SyncPoint.Name != b.SyncPoint.Name || !slices.Equal(got.Windows[i].Stages, want.Windows[i].Stages) {
				t.Errorf("on %d threads, window %d: %+v\nalone %+v", threads, i, a, b)
			}
		}
		if !anyReported(got.Limits) || !anyReported(want.Limits) {
			t.Errorf("on %d threads limits %+v, alone %+v: a delay can be shown in a stage", threads, got.Limits, want.Limits)
		}
		got.Windows, got.Undecided, got.Limits, got.Coverage, got.Latent = nil, nil, nil, nil, nil
		alone := want
		alone.Findings = slices.Clone(want.Findings)
		for i := range alone.Findings { // rows have no evidence
			isDistribution := func(e evidence.Observation) bool { _, is := e.(evidence.Distribution); return is }
			alone.Findings[i].Evidence = slices.DeleteFunc(slices.Clone(alone.Findings[i].Evidence), isDistribution)
		}
		if alone.Windows, alone.Undecided, alone.Limits, alone.Coverage, alone.Latent = nil, nil, nil, nil, nil; !reflect.DeepEqual(got, alone) {
			t.Errorf("on %d threads %+v\nalone %+v", threads, got, alone)
		}
		if n := int(back.Load()); n != len(all) {
			t.Errorf("%d of %d windows were given back", n, len(all))
		}
	}
}

func anyReported(limits []answer.Limit) bool {
	return slices.ContainsFunc(limits, func(l answer.Limit) bool { return l.Reported > 0 })
}

// TestBesideAfterPanic: a run that panics leaves room for those behind it.
func TestBesideAfterPanic(t *testing.T) {
	beside := NewBeside(1, func(*trace.Window) {})
	for range 3 {
		s := New(Options{Brief: true, Beside: beside})
		if err := s.Add(broken(t, 8)); err != nil {
			t.Fatal(err)
		}
		if _, failed := s.Judge(); len(failed) != 1 {
			t.Fatalf("failed: %v, expected a panic of what looks at its steps", failed)
		}
	}
}

// TestBesideEntered: calls divide the steps of runs that are judged side by side as those of one that is judged alone.
func TestBesideEntered(t *testing.T) {
	all := windows(t, entering(40, fault(simulate.Backward, 80, 3)))
	one := verdictOn(t, all...).Runs[0]
	s := New(Options{Brief: true, Beside: NewBeside(1, func(*trace.Window) {})})
	for _, w := range all {
		if err := s.Add(w); err != nil {
			t.Fatal(err)
		}
	}
	got := s.Verdict().Runs[0]
	if len(got.Findings) == 0 || len(got.Findings) != len(one.Findings) {
		t.Fatalf("%d findings, alone %d", len(got.Findings), len(one.Findings))
	}
	a, b := got.Findings[0], one.Findings[0]
	if *a.Rank != 3 || a.Stage != simulate.StageBackward || a.Excess != b.Excess || a.RunGain != b.RunGain || a.source != b.source {
		t.Errorf("rank %d in %s, %d ns, %v; alone %d ns, %v", *a.Rank, a.Stage, a.Excess, a.RunGain, b.Excess, b.RunGain)
	}
	if len(got.Windows) != 1 || got.Windows[0].Main.SyncPoint.Name != simulate.StageBackward {
		t.Errorf("account %+v", got.Windows)
	}
}
