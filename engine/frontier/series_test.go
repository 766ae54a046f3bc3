package frontier

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/trace"
)

// divided is a window as a recorder with shorter windows would have written it.
func divided(w *trace.Window, steps int) []*trace.Window {
	per, R := len(w.Schema.Stages)*len(w.Ranks), len(w.Ranks)
	var out []*trace.Window
	for from := 0; from < w.Steps(); from += steps {
		to := min(from+steps, w.Steps())
		part := *w
		part.Index, part.FirstStep = int64(len(out)), w.FirstStep+int64(from)
		part.Durations = w.Durations[from*per : to*per]
		if w.Wall != nil {
			part.Wall = w.Wall[from*R : to*R]
		}
		part.Side = nil
		out = append(out, &part)
	}
	return out
}

func seriesOf(t testing.TB, o Options, windows ...*trace.Window) (*Series, []*Analysis) {
	t.Helper()
	s := NewSeries(o)
	var out []*Analysis
	for _, w := range windows {
		a, err := s.Add(w)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, a)
	}
	return s, out
}

// TestSeriesIsOneWindow: the accounts of windows of any length add up to that
// of all steps in one window, to the nanosecond, under every cut.
func TestSeriesIsOneWindow(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 5))
		w := randomWindow(rng, 20+rng.IntN(60), 1+rng.IntN(6), 2+rng.IntN(7))
		if seed%3 == 0 {
			w.Wall = nil
		}
		if seed%5 == 0 {
			w.DataWait, w.Schema.Stages[0] = trace.DataWaitPreceding, "data.next_wait"
		}
		after := w.Schema.Stages[rng.IntN(len(w.Schema.Stages))]
		for _, c := range []struct {
			name string
			o    Options
		}{
			{"step", Options{Cut: CutStep, ModelFit: FitNone, SyncAfter: after}},
			{"sync", Options{Cut: CutSync, SyncAfter: after}},
			{"carried", Options{Cut: CutCarried, ModelFit: FitNone}},
		} {
			for _, n := range []int{1, 2, 7, 19} {
				if n == 1 && w.DataWait == trace.DataWaitPreceding {
					continue // the first window by itself cannot say which step its wait is of
				}
				t.Run(fmt.Sprintf("seed=%d/%s/%d", seed, c.name, n), func(t *testing.T) {
					whole := mustAnalyze(t, w, c.o).Main
					if whole.Cut.String() != c.name || c.name == "carried" && whole.SyncPoint.At >= 0 {
						t.Fatal("random times show a synchronisation point, or fall back to another cut")
					}
					_, parts := seriesOf(t, c.o, divided(w, n)...)
					var makespan, steps int64
					for _, p := range parts {
						if c.name == "carried" && p.Main.SyncPoint.At >= 0 {
							t.Skip("the first random times show a synchronisation point by chance")
						}
						if p.Main.Cut == whole.Cut {
							makespan += p.Main.Makespan
							steps += int64(p.Main.Steps)
						}
					}
					if makespan != whole.Makespan || steps != int64(whole.Steps) {
						t.Errorf("windows have %d ns in %d steps, all in one %d in %d", makespan, steps, whole.Makespan, whole.Steps)
					}
				})
			}
		}
	}
}

// TestShortWindowsShowTogether: windows of four steps show together where the
// ranks synchronise.
func TestShortWindowsShowTogether(t *testing.T) {
	w := simulated(t, func(s *simulate.Spec) {
		s.Faults = []simulate.Fault{{Family: simulate.Data, Delay: 40, Ranks: []int{5}}}
	})
	_, parts := seriesOf(t, Options{}, divided(w, 4)...)
	if m := parts[len(parts)-1].Main.SyncPoint; m.Evidence != points.Shown || m.Name != simulate.StageBackward {
		t.Errorf("synchronisation point %v %s", m.Evidence, m.Name)
	}
}

// TestSeriesEndsWhereStepsDo: steps that are missing, other ranks or another
// stage list begin a new series, whose first part has no step before.
func TestSeriesEndsWhereStepsDo(t *testing.T) {
	w := simulated(t, func(*simulate.Spec) {})
	parts := divided(w, 20)
	for name, change := range map[string]func(*trace.Window){
		"a step is missing": func(w *trace.Window) { w.FirstStep++ },
		"another rank":      func(w *trace.Window) { w.Ranks = slices.Clone(w.Ranks); w.Ranks[7].ID, w.WorldSize = 9, 10 },
		"another stage": func(w *trace.Window) {
			w.Schema.Stages = slices.Clone(w.Schema.Stages)
			w.Schema.Stages[0] = "data.other"
		},
		"no wall time": func(w *trace.Window) { w.Wall = nil },
	} {
		other := *parts[1]
		change(&other)
		_, got := seriesOf(t, Options{SyncAfter: simulate.StageBackward}, parts[0], &other)
		if r := got[1].Main; r.FirstStep != other.FirstStep || r.Steps != 19 {
			t.Errorf("%s: account of %d steps from %d on", name, r.Steps, r.FirstStep)
		}
	}
	_, got := seriesOf(t, Options{SyncAfter: simulate.StageBackward}, parts...)
	if r := got[1].Main; r.FirstStep != parts[1].FirstStep-1 || r.Steps != 20 {
		t.Errorf("contiguous: account of %d steps from %d on", r.Steps, r.FirstStep)
	}
}

// TestHistoryBeginsWithRolesAndStages: where ranks synchronise is not said by steps of other roles, nor of stages in
// another order.
func TestHistoryBeginsWithRolesAndStages(t *testing.T) {
	parts := divided(simulated(t, func(s *simulate.Spec) {
		s.Ranks, s.Schedule.Steps = 16, 120
		s.Layout = []simulate.Axis{{Name: "tp", Size: 4}, {Name: "dp", Size: 4}}
		tp := s.Stages[2].SyncPoints[0]
		tp.Across = []string{"tp"}
		s.Stages[1].SyncPoints = []simulate.SyncPoint{tp}
	}), 60)
	within := func(a *Analysis) string { return a.Main.SyncPoint.Boundaries[1].Within }
	roles := map[string]func(trace.Role) trace.Role{
		"tp": func(r trace.Role) trace.Role { return r },
		"":   func(trace.Role) trace.Role { return nil },
		"ep": func(r trace.Role) trace.Role {
			role, err := trace.NewRole(trace.Coord{Axis: r[0].Axis, Index: r[0].Index}, trace.Coord{Axis: "ep", Index: r[1].Index})
			if err != nil {
				t.Fatal(err)
			}
			return role
		},
	}
	for want, of := range roles {
		other := *parts[1]
		other.Ranks = slices.Clone(other.Ranks)
		for i, rank := range other.Ranks {
			other.Ranks[i].Role = of(rank.Role)
		}
		if _, got := seriesOf(t, Options{}, parts[0], &other); within(got[0]) != "tp" || within(got[1]) != want {
			t.Errorf("within %q, then %q, want %q", within(got[0]), within(got[1]), want)
		}
	}

	parts = nil
	for range 2 {
		parts = append(parts, &trace.Window{Run: "r", WorldSize: 3, FirstStep: int64(len(parts)), DataWait: trace.DataWaitPreceding,
			Schema: trace.Schema{Stages: []string{"model.fwd", "model.backward", "optim.step", "data.next_wait"}},
			Ranks:  []trace.Rank{{ID: 0}, {ID: 1}, {ID: 2}}, Durations: []int64{10, 10, 10, 20, 20, 20, 3, 3, 3, 1, 1, 1}})
	}
	if _, got := seriesOf(t, Options{}, parts...); got[1].Main.SyncPoint.Name != "model.backward" {
		t.Errorf("steps that are a window each synchronise in %q", got[1].Main.SyncPoint.Name)
	}
}

// TestKnow: a series that was told where the ranks synchronise says that of each window like the one it was told of, and finds out itself of others.
func TestKnow(t *testing.T) {
	w := simulated(t, func(*simulate.Spec) {})
	told := points.Found{Points: []points.Point{{Stage: 1, Evidence: points.Shown, Slope: -1, Low: -1.1, High: -0.9}}}
	for k := range w.Schema.Stages {
		told.Slopes = append(told.Slopes, points.Point{Stage: k, Slope: float64(-k), Low: -9, High: 9})
	}
	s := NewSeries(Options{})
	s.Know(w, told)
	for range 2 {
		a, err := s.Add(w)
		if err != nil {
			t.Fatal(err)
		}
		if at := a.Main.SyncPoint; at.At != 1 || at.Evidence != points.Shown || at.Boundaries[0].Point != told.Slopes[0] {
			t.Errorf("cut at %+v, told %+v", at, told)
		}
	}
	other := *w
	other.Schema.Stages = slices.Clone(w.Schema.Stages)
	other.Schema.Stages[0] = "other"
	a, err := s.Add(&other)
	if err != nil {
		t.Fatal(err)
	}
	if want := mustAnalyze(t, &other, Options{}).Main.SyncPoint; a.Main.SyncPoint.At != want.At || a.Main.SyncPoint.Boundaries[0].Point == told.Slopes[0] {
		t.Errorf("other stages are cut at %+v, want %+v", a.Main.SyncPoint, want)
	}
}
