package frontier

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/engine/frontier/labels"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/trace"
)

// TestBrief: the brief account of a window is what the whole account says of the same, wherever the ranks
// synchronise, with and without wall time, of windows that follow one another and of one alone.
func TestBrief(t *testing.T) {
	for _, c := range []struct {
		name  string
		alter func(*trace.Window)
	}{
		{"as recorded", func(*trace.Window) {}},
		{"without wall time", func(w *trace.Window) { w.Wall = nil }},
		{"stages that exceed the wall time", func(w *trace.Window) {
			for i := range w.Wall {
				w.Wall[i] = w.Wall[i] * 9 / 10
			}
		}},
		{"steps that do not follow", func(w *trace.Window) { w.FirstStep, w.Side = w.FirstStep+7*w.Index, nil }},
	} {
		s := simulate.DefaultSpec()
		s.Ranks, s.Schedule.Windows, s.Schedule.Steps = 6, 3, 40
		s.Faults = []simulate.Fault{{Family: simulate.ForwardHost, Delay: 60, Ranks: []int{2}}}
		for at := range 4 { // the stage in which the ranks are said to synchronise
			g, err := simulate.New(s)
			if err != nil {
				t.Fatal(err)
			}
			var series *Series
			var before *Border
			for {
				w, err := g.Next()
				if err != nil {
					break
				}
				c.alter(w)
				if series == nil {
					series = NewSeries(Options{Cut: CutSync, SyncAfter: w.Schema.Stages[at]})
				}
				want, err := series.Add(w)
				if err != nil {
					t.Fatal(err)
				}
				got := Brief(w, before, want.Main.SyncPoint, Options{})
				before = BorderOf(w)
				same(t, c.name, got.Main, want.Main)
			}
			if before == nil {
				t.Fatal("no window")
			}
		}
	}
}

func same(t *testing.T, name string, got, want *Result) {
	t.Helper()
	if got.FirstStep != want.FirstStep || got.Steps != want.Steps || got.Makespan != want.Makespan {
		t.Errorf("%s: %d steps from %d on, makespan %d; want %d, %d, %d", name, got.Steps, got.FirstStep, got.Makespan, want.Steps, want.FirstStep, want.Makespan)
	}
	if !reflect.DeepEqual(got.Quality, want.Quality) {
		t.Errorf("%s: quality %+v, want %+v", name, got.Quality, want.Quality)
	}
	for i, s := range got.Stages {
		if w := want.Stages[i]; s.Name != w.Name || s.Advance != w.Advance {
			t.Errorf("%s: stage %+v, want %+v", name, s, w)
		}
	}
}

// TestBriefOptions: what is left of an account for findings is what the whole account says.
func TestBriefOptions(t *testing.T) {
	eachRandomWindow(t, func(t *testing.T, _ *rand.Rand, w *trace.Window) {
		for _, by := range everyCut {
			whole, brief := mustAnalyze(t, w, Options{Cut: by}).Main, mustAnalyze(t, w, Options{Cut: by, Brief: true}).Main
			if diff := cmp.Diff(kept(whole), kept(brief)); diff != "" {
				t.Errorf("cut %s: %s", by, diff)
			}
			reference := slices.Repeat([]int64{1 << 40}, stagesOf(w)) // clipped to which no stage gains
			for _, o := range []Options{{Cut: by, Brief: true}, {Cut: by, Brief: true, Baseline: Reference, Reference: reference}} {
				brief := mustAnalyze(t, w, o).Main
				if slices.Contains(brief.Reasons, labels.LowGainNoModelFit) || slices.Contains(brief.Reasons, labels.NoBaseline) || brief.Strong() || slices.Contains(brief.Labels, labels.CoCritical) || brief.CoCritical != nil {
					t.Errorf("cut %s: a brief account says what rests on gains: %+v", by, brief.Decision)
				}
			}
		}
	})
}

// stagesOf counts the stages of a window, with what none covers.
func stagesOf(w *trace.Window) int {
	if w.Wall != nil {
		return len(w.Schema.Stages) + 1
	}
	return len(w.Schema.Stages)
}

// kept is what both have of an account.
func kept(r *Result) map[string]any {
	stages := make([]Stage, len(r.Stages))
	for i, s := range r.Stages {
		stages[i] = Stage{Name: s.Name, Advance: s.Advance, Share: s.Share, Syncs: s.Syncs, Wait: s.Wait}
	}
	return map[string]any{"stages": stages, "makespan": r.Makespan, "work": r.Work, "lead": r.Leader.Stage,
		"routing": r.Routing, "slack": r.Slack(0), "at": r.SyncPoint.At, "cut": r.Cut}
}
