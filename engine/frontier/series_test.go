package frontier

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/frontier/cut"
	"github.com/sfstat/sfstat/engine/frontier/fit"
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
			{"step", Options{Cut: cut.Step, ModelFit: fit.None, SyncAfter: after}},
			{"sync", Options{Cut: cut.Sync, SyncAfter: after}},
			{"carried", Options{Cut: cut.Carried, ModelFit: fit.None}},
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
					s, parts := seriesOf(t, c.o, divided(w, n)...)
					var makespan, steps int64
					for _, p := range parts {
						if p.Main.Cut == whole.Cut {
							makespan += p.Main.Makespan
							steps += int64(p.Main.Steps)
						}
					}
					if makespan != whole.Makespan || steps != int64(whole.Steps) {
						t.Errorf("windows have %d ns in %d steps, all in one %d in %d", makespan, steps, whole.Makespan, whole.Steps)
					}
					sum := s.Results()[len(s.Results())-1]
					if sum.Makespan != whole.Makespan || sum.FirstStep != whole.FirstStep || !slices.Equal(sum.LeftOut, whole.LeftOut) {
						t.Errorf("sum of %d ns from step %d without %v, want %d from %d without %v", sum.Makespan, sum.FirstStep, sum.LeftOut, whole.Makespan, whole.FirstStep, whole.LeftOut)
					}
					for i := range whole.Stages {
						a, b := sum.Stages[i], whole.Stages[i]
						if a.Advance != b.Advance || a.Lag != b.Lag || a.Gap != b.Gap {
							t.Errorf("stage %s: %d %d %d, want %d %d %d", a.Name, a.Advance, a.Lag, a.Gap, b.Advance, b.Lag, b.Gap)
						}
					}
				})
			}
		}
	}
}

// TestStallAtTheBorder: a stall in the first, middle or last step of every
// window is charged to its rank and stage under every cut, however the steps
// are divided into windows.
func TestStallAtTheBorder(t *testing.T) {
	const steps = 20
	for family, stage := range map[simulate.Family]string{simulate.Data: simulate.StageData, simulate.CallbackHost: simulate.StageCallbacks, simulate.OptimizerHost: simulate.StageOptimizer} {
		for _, offset := range []int{0, 9, 19} {
			for _, by := range everyCut {
				t.Run(fmt.Sprintf("%v/%d/%v", family, offset, by), func(t *testing.T) {
					w := simulated(t, func(s *simulate.Spec) {
						s.Schedule.Steps = 12 * steps
						s.Faults = []simulate.Fault{{Family: family, Delay: 2000, Ranks: []int{2}, Every: steps}}
					})
					first := slices.IndexFunc(divided(w, 1), func(w *trace.Window) bool { return slices.Max(w.Durations) > 1e9 })
					from := (first - offset + steps) % steps
					S, R := len(w.Schema.Stages), len(w.Ranks)
					w.Durations, w.Wall, w.FirstStep = w.Durations[from*S*R:], w.Wall[from*R:], w.FirstStep+int64(from)
					s, parts := seriesOf(t, Options{Cut: by}, divided(w, steps)...)
					struck, listed := 0, 0
					for _, one := range divided(w, 1) {
						if one.Durations[slices.Index(w.Schema.Stages, stage)*R+2] > 1e9 {
							struck++
						}
					}
					for _, p := range parts {
						for _, e := range p.Main.Excess {
							for _, over := range e.Over {
								if e.Rank == 2 && p.Main.Stages[e.Stage].Name == stage && over > 1e9 {
									listed++
								}
							}
						}
					}
					if listed != struck {
						t.Errorf("%d of %d struck steps are listed", listed, struck)
					}
					sum := s.Results()[0]
					if len(sum.Culprits) == 0 {
						t.Fatal("nobody is late")
					}
					c := sum.Culprits[0]
					if c.Rank != 2 || sum.Stages[c.Stage].Name != stage || c.P > 1e-6 || c.Excess < 1900e6 || c.Steps < 10 || c.Steps > 13 {
						t.Errorf("%+v in %s", c, sum.Stages[c.Stage].Name)
					}
				})
			}
		}
	}
}

// TestShortWindowsShowTogether: windows of four steps show together where the
// ranks synchronise, and how sure it is that one is late.
func TestShortWindowsShowTogether(t *testing.T) {
	w := simulated(t, func(s *simulate.Spec) {
		s.Faults = []simulate.Fault{{Family: simulate.Data, Delay: 40, Ranks: []int{5}}}
	})
	s, parts := seriesOf(t, Options{}, divided(w, 4)...)
	if m := parts[len(parts)-1].Main.SyncPoint; m.Evidence != SyncShown || m.Name != simulate.StageBackward {
		t.Errorf("synchronisation point %v %s", m.Evidence, m.Name)
	}
	last := s.Results()[len(s.Results())-1]
	if c := last.Culprits[0]; c.Rank != 5 || c.P > 1e-9 || last.SyncPoint.Evidence != SyncShown {
		t.Errorf("%+v, synchronisation point %v", c, last.SyncPoint.Evidence)
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

// TestTurn: the stretches of a series add up to it, to the nanosecond, and Results are
// those of the last two.
func TestTurn(t *testing.T) {
	parts := divided(randomWindow(rand.New(rand.NewPCG(4, 5)), 60, 5, 6), 10)
	o := Options{Cut: cut.Step, ModelFit: fit.None}
	whole, accounts := seriesOf(t, o, parts...)
	s := NewSeries(o)
	var dropped []*Series
	for i, w := range parts {
		if _, err := s.Add(w); err != nil {
			t.Fatal(err)
		}
		if i == 1 || i == 3 {
			dropped = append(dropped, s.Turn())
		}
	}
	if first, last := dropped[0].Results(), dropped[1].Results()[0]; len(first) != 0 || last.Windows != 2 || last.Makespan != accounts[0].Main.Makespan+accounts[1].Main.Makespan {
		t.Errorf("dropped %d results, then %d windows of %d ns", len(first), last.Windows, last.Makespan)
	}
	for range 2 { // which changes nothing
		kept, gone, all := s.Results()[0], dropped[1].Results()[0], whole.Results()[0]
		if kept.Windows != 4 || kept.Steps+gone.Steps != all.Steps || kept.Makespan+gone.Makespan != all.Makespan {
			t.Errorf("kept %d windows, %d steps, %d ns beside %d steps, %d ns, want %d and %d in all", kept.Windows, kept.Steps, kept.Makespan, gone.Steps, gone.Makespan, all.Steps, all.Makespan)
		}
	}
}
