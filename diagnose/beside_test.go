package diagnose

import (
	"reflect"
	"slices"
	"testing"

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
	if n := len(alone.runs[0].steps.series[0].looked); n < 3 || len(want.Findings) == 0 {
		t.Fatalf("%d stretches, %d findings: nothing is judged side by side", n, len(want.Findings))
	}
	for _, threads := range []int{1, 2, 64} {
		back := 0
		s := New(Options{Brief: true, Beside: NewBeside(threads, func(w *trace.Window) {
			for i := range w.Durations {
				w.Durations[i] = -1
			}
			back++
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
			if !same || a.SyncPoint.Name != b.SyncPoint.Name {
				t.Errorf("on %d threads, window %d: %+v\nalone %+v", threads, i, a, b)
			}
		}
		got.Windows, got.Undecided, got.Limits = nil, nil, nil
		alone := want
		if alone.Windows, alone.Undecided, alone.Limits = nil, nil, nil; !reflect.DeepEqual(got, alone) {
			t.Errorf("on %d threads %+v\nalone %+v", threads, got, alone)
		}
		if back != len(all) {
			t.Errorf("%d of %d windows were given back", back, len(all))
		}
	}
}
