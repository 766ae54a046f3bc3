package simulate

import (
	"errors"
	"io"
	"testing"

	"github.com/sfstat/sfstat/trace"
)

const ms = int64(1e6)

// quiet is a job without any noise, in which every duration can be worked out
// by hand: data 16, forward 60 (device 60), backward 98 + all-reduce 14,
// callbacks 6, optimizer 14 ms; a healthy step takes 208 ms on every rank.
func quiet(ranks int) Spec {
	return Spec{
		Ranks: ranks, RanksPerHost: 8, Schedule: Schedule{Windows: 1, Steps: 12, Warmup: 2},
		Stages: []Stage{
			{Name: StageData, Work: Dist{Mean: 16}, PerMicrostep: true},
			{Name: StageForward, Work: Dist{Mean: 60}, Device: Dist{Mean: 60}, PerMicrostep: true},
			{Name: StageBackward, Work: Dist{Mean: 98}, AwaitDevice: true, PerMicrostep: true,
				SyncPoints: []SyncPoint{{Transfer: Dist{Mean: 14}}}},
			{Name: StageCallbacks, Work: Dist{Mean: 6}},
			{Name: StageOptimizer, Work: Dist{Mean: 14}},
		},
		Side: side{Every: 4},
	}
}

// withBarrier gives the callbacks of a quiet job a barrier of 2 ms.
func withBarrier(s Spec) Spec {
	s.Stages[3].SyncPoints = []SyncPoint{{Transfer: Dist{Mean: 2}}}
	return s
}

// generate runs a spec to its end and validates every window.
func generate(t testing.TB, s Spec) ([]*trace.Window, Truth) {
	t.Helper()
	g, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	var windows []*trace.Window
	for {
		w, err := g.Next()
		if errors.Is(err, io.EOF) {
			return windows, g.Truth()
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Validate(); err != nil {
			t.Fatal(err)
		}
		windows = append(windows, w)
	}
}

// one runs a spec of one window.
func one(t testing.TB, s Spec) *trace.Window {
	t.Helper()
	windows, _ := generate(t, s)
	if len(windows) != 1 {
		t.Fatalf("%d windows, want 1", len(windows))
	}
	return windows[0]
}

// at is the duration of a named stage.
func at(w *trace.Window, step int, stage string, rank int) int64 {
	return w.Step(step)[w.Schema.Index(stage)*len(w.Ranks)+rank]
}

// ends are the absolute times at which ranks end each stage of each step,
// [step][stage][rank], for a run whose ranks all start at 0 with true clocks
// and no warm-up.
func ends(w *trace.Window) [][][]int64 {
	R := len(w.Ranks)
	start := make([]int64, R)
	out := make([][][]int64, w.Steps())
	for step := range out {
		for s := range w.Schema.Stages {
			row := make([]int64, R)
			for r := range R {
				for before := 0; before <= s; before++ {
					row[r] += w.Step(step)[before*R+r]
				}
				row[r] += start[r]
			}
			out[step] = append(out[step], row)
		}
		for r := range R {
			start[r] += w.WallOf(step)[r]
		}
	}
	return out
}
