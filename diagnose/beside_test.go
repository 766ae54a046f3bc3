package diagnose

import (
	"reflect"
	"testing"

	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/trace"
)

// TestBeside: windows and stretches that are judged side by side have the verdict of those that are
// judged one at a time, and nothing is read of a window that was given back.
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
	want := alone.Verdict()
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
		if got := s.Verdict(); !reflect.DeepEqual(got.Runs, want.Runs) {
			t.Errorf("on %d threads %+v\nalone %+v", threads, got.Findings, want.Findings)
		}
		if back != len(all) {
			t.Errorf("%d of %d windows were given back", back, len(all))
		}
	}
}
