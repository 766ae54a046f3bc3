package diagnose

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/internal/bug"
	"github.com/sfstat/sfstat/trace"
)

// broken is a window that no reader lets through, of which the engines index what is not there.
func broken(t *testing.T, ranks int) *trace.Window {
	w := *windows(t, spec(ranks, 100, 1))[0]
	w.Run, w.Durations = "broken", w.Durations[:len(w.Durations)/2]
	return &w
}

// TestEnginePanics: a run on which an engine panics, in a goroutine too, is left out with an error
// that names it. The others are judged as without it.
func TestEnginePanics(t *testing.T) {
	good := windows(t, spec(8, 100, 2, simulate.Fault{Family: simulate.Data, Delay: 80, Ranks: []int{3}}))
	for name, ranks := range map[string]int{"here": 8, "in a goroutine": 600} {
		t.Run(name, func(t *testing.T) {
			want, s := verdictOn(t, good...), New(Options{})
			for _, w := range []*trace.Window{broken(t, ranks), good[0], broken(t, ranks)} {
				if err := s.Add(w); err != nil {
					t.Fatal(err)
				}
			}
			v, failed := s.Judge()
			if len(v.Runs) != 1 || !cmp.Equal(show(v.Findings[0]), show(want.Findings[0])) {
				t.Errorf("%d runs, expected the verdict on the good one", len(v.Runs))
			}
			if len(failed) != 1 || !strings.HasPrefix(failed[0].Error(), "run broken: this is a bug in sfstat") || !strings.Contains(string(failed[0].Stack), "engine/frontier") {
				t.Errorf("failed: %v, expected run broken once, with a stack in engine/frontier", failed)
			}
			if err := bug.Guard("", func() { s.Verdict() }); err != error(failed[0]) {
				t.Errorf("Verdict panics with %v, expected what failed", err)
			}
		})
	}
}

// TestJudgingPanics: likewise of what is judged at the end.
func TestJudgingPanics(t *testing.T) {
	s := New(Options{})
	for _, run := range []string{"a", "b", "c"} {
		w := *windows(t, spec(8, 100, 2))[0]
		w.Run = run
		if err := s.Add(&w); err != nil {
			t.Fatal(err)
		}
	}
	s.runs[1].held[0].w = nil
	for range 2 {
		v, failed := s.Judge()
		if len(v.Runs) != 2 || v.Runs[0].Run != "a" || v.Runs[1].Run != "c" || len(failed) != 1 || failed[0].Where != "run b" {
			t.Errorf("%d runs, failed %v: expected a and c, and b failed", len(v.Runs), failed)
		}
	}
}
