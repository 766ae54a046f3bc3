package frontier

import (
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/trace"
)

func simulated(t testing.TB, change func(*simulate.Spec)) *trace.Window {
	t.Helper()
	s := simulate.DefaultSpec()
	s.Schedule.Steps, s.Seed = 60, 11
	change(&s)
	g, err := simulate.New(s)
	if err != nil {
		t.Fatal(err)
	}
	w, err := g.Next()
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestSyncPointsAreFound: the stages in which the simulated program has a
// synchronisation point, and no others, whatever rank is slow.
func TestSyncPointsAreFound(t *testing.T) {
	barrier := simulate.SyncPoint{Transfer: simulate.Dist{Mean: 1}, Exit: simulate.Dist{Mean: 0.5, SD: 0.3, Shape: simulate.LogNormal}}
	cases := map[string]struct {
		change func(*simulate.Spec)
		want   []string
	}{
		"backward": {func(*simulate.Spec) {}, []string{simulate.StageBackward}},
		"slow after the synchronisation point": {func(s *simulate.Spec) {
			s.Faults = []simulate.Fault{{Family: simulate.CallbackHost, Delay: 120, Ranks: []int{2}}}
		}, []string{simulate.StageBackward}},
		"rare and long": {func(s *simulate.Spec) {
			s.Faults = []simulate.Fault{{Family: simulate.OptimizerHost, Delay: 900, Ranks: []int{3}, When: simulate.When{Every: 10}}}
		}, []string{simulate.StageBackward}},
		"barrier in callbacks": {func(s *simulate.Spec) {
			s.Stages[3].SyncPoints = []simulate.SyncPoint{barrier}
		}, []string{simulate.StageBackward, simulate.StageCallbacks}},
		"nowhere": {func(s *simulate.Spec) { s.Stages[2].SyncPoints = nil }, nil},
	}
	for name, c := range cases {
		m := mustAnalyze(t, simulated(t, c.change), Options{}).Main.SyncPoint
		var got []string
		for _, b := range m.Boundaries {
			if b.Syncs {
				got = append(got, b.Name)
			}
			if b.Syncs && (b.Slope < -1.5 || b.Slope > -0.7) {
				t.Errorf("%s: slope of %s is %v", name, b.Name, b.Slope)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: ranks synchronise in %v, want %v", name, got, c.want)
		}
		if want := map[bool]points.Evidence{true: points.Shown, false: points.None}[c.want != nil]; m.Evidence != want {
			t.Errorf("%s: evidence %v, want %v", name, m.Evidence, want)
		}
	}
}

// TestSkewAndDriftAreSeenAtTheSyncPoint: a rank that begins every step 120 ms
// late, and clocks that run apart.
func TestSkewAndDriftAreSeenAtTheSyncPoint(t *testing.T) {
	w := simulated(t, func(s *simulate.Spec) {
		s.Clock = simulate.Clock{DriftPPM: 5000}
		s.Faults = []simulate.Fault{{Family: simulate.CallbackHost, Delay: 120, Ranks: []int{2}}}
	})
	// The first steps are left out: in them the lateness came about.
	const skip = 5
	S, R := len(w.Schema.Stages), len(w.Ranks)
	w.Durations, w.Wall, w.Side = w.Durations[skip*S*R:], w.Wall[skip*R:], nil
	m := mustAnalyze(t, w, Options{}).Main.SyncPoint
	if m.Skew < 110e6 || m.Skew > 130e6 {
		t.Errorf("skew %d ns, want about 120 ms", m.Skew)
	}
	if m.Drift < 4000 || m.Drift > 40000 {
		t.Errorf("drift %v ppm for clocks that differ by 5000 in deviation", m.Drift)
	}
}

// TestSetsOfRanksAreFound: a synchronisation point across tp in forward is one of sets.
func TestSetsOfRanksAreFound(t *testing.T) {
	w := simulated(t, func(s *simulate.Spec) {
		s.Ranks, s.Schedule.Steps = 16, 120
		s.Layout = []simulate.Axis{{Name: "tp", Size: 4}, {Name: "dp", Size: 4}}
		tp := s.Stages[2].SyncPoints[0]
		tp.Across = []string{"tp"}
		s.Stages[1].SyncPoints = []simulate.SyncPoint{tp}
	})
	m := mustAnalyze(t, w, Options{}).Main.SyncPoint
	for _, b := range m.Boundaries {
		want := map[string]string{simulate.StageForward: "tp"}[b.Name]
		if b.Within != want {
			t.Errorf("%s: within %q, want %q", b.Name, b.Within, want)
		}
		if want != "" && (len(b.sets) != 4 || !slices.Equal(b.sets[0], []int{0, 1, 2, 3})) {
			t.Errorf("%s: sets %v", b.Name, b.sets)
		}
	}
	if m.Name != simulate.StageBackward || m.Evidence != points.Shown {
		t.Errorf("all synchronise in %q (%v)", m.Name, m.Evidence)
	}
}

// TestLeadsCollapseInFewSteps: four steps, in each of which another rank is late and the others wait for it, show no
// slope. Where the waits have a stage of their own the step is cut there, not where a name says that gradients are reduced.
func TestLeadsCollapseInFewSteps(t *testing.T) {
	const R, ms = 4, int64(1e6)
	for stage, want := range map[string]string{"wait.optim.step": "wait.optim.step", "optim.sync": "model.backward"} {
		w := &trace.Window{Run: "r", WorldSize: R, DataWait: trace.DataWaitConsuming,
			Schema: trace.Schema{Stages: []string{"model.fwd", "model.backward", "optim.step", stage}}}
		for r := range R {
			w.Ranks = append(w.Ranks, trace.Rank{ID: r})
		}
		for late := range R {
			step := slices.Concat(slices.Repeat([]int64{10 * ms}, R), slices.Repeat([]int64{20 * ms}, R), slices.Repeat([]int64{5 * ms}, R), slices.Repeat([]int64{31 * ms}, R))
			step[2*R+late], step[3*R+late] = 35*ms, ms
			w.Durations = append(w.Durations, step...)
		}
		if m := mustAnalyze(t, w, Options{}).Main.SyncPoint; m.Name != want || m.Evidence != points.Likely {
			t.Errorf("%s: ranks synchronise in %q (%v), want %q", stage, m.Name, m.Evidence, want)
		}
	}
}

// TestDataWaitGoesToTheConsumer: a wait recorded at the end of the step before
// is moved, with its wall time, and comes first.
func TestDataWaitGoesToTheConsumer(t *testing.T) {
	w := &trace.Window{Run: "r", WorldSize: 2, FirstStep: 7, DataWait: trace.DataWaitPreceding,
		Schema: trace.Schema{Stages: []string{"model.fwd", "data.next_wait"}},
		Ranks:  []trace.Rank{{ID: 0}, {ID: 1}},
		// [step][stage][rank]
		Durations: []int64{10, 11, 1, 2, 20, 21, 3, 4, 30, 31, 5, 6},
		Wall:      []int64{11, 13, 23, 25, 35, 37}}
	got, unsafe := chargeDataWait(w)
	if unsafe || got.FirstStep != 8 || !slices.Equal(got.Schema.Stages, []string{"data.next_wait", "model.fwd"}) {
		t.Fatalf("unsafe %v, first step %d, stages %v", unsafe, got.FirstStep, got.Schema.Stages)
	}
	if want := []int64{1, 2, 20, 21, 3, 4, 30, 31}; !slices.Equal(got.Durations, want) {
		t.Errorf("durations %v, want %v", got.Durations, want)
	}
	if want := []int64{21, 23, 33, 35}; !slices.Equal(got.Wall, want) {
		t.Errorf("wall %v, want %v", got.Wall, want)
	}
	for _, spoil := range []func(*trace.Window){
		func(w *trace.Window) { w.DataWait = trace.DataWaitUnknown },
		func(w *trace.Window) { w.Accumulation = 4 },
		func(w *trace.Window) { w.Schema = trace.Schema{Stages: []string{"data.a", "data.b"}} },
	} {
		bad := *w
		spoil(&bad)
		if got, unsafe := chargeDataWait(&bad); !unsafe || got != &bad {
			t.Errorf("data wait %v, accumulation %d, stages %v was moved", bad.DataWait, bad.Accumulation, bad.Schema.Stages)
		}
	}
}

// TestLeadsCollapse: of too few steps for slopes the ranks synchronise where a lead is gone, by half of it and more, at the end of a stage that is measured
// waiting, if one rank of three and more leads in two steps and in half of those that follow another.
func TestLeadsCollapse(t *testing.T) {
	for name, c := range map[string]struct {
		ranks int
		late  []bool // in each step
		waits int64  // ms of the 20 that it leads by
		at    int
	}{
		"always":             {3, []bool{true, true, true, true}, 20, 1},
		"four ranks":         {4, []bool{true, true, true, true}, 20, 1},
		"two ranks":          {2, []bool{true, true, true, true}, 20, -1},
		"three of six":       {3, []bool{false, true, false, true, false, true, false}, 20, 1},
		"two of five":        {3, []bool{false, true, false, false, true, false}, 20, -1},
		"once":               {3, []bool{false, true, false}, 20, -1},
		"twice":              {3, []bool{false, true, true}, 20, 1},
		"by 55 of a hundred": {3, []bool{true, true, true, true}, 11, 1},
		"by 45 of a hundred": {3, []bool{true, true, true, true}, 9, -1},
	} {
		w := &trace.Window{WorldSize: c.ranks, Schema: trace.Schema{Stages: []string{"model.fwd_loss_device", "wait.ranks", "optim.step_device"}}}
		for r := range c.ranks {
			w.Ranks = append(w.Ranks, trace.Rank{ID: r})
		}
		for _, late := range c.late {
			step := make([]int64, 3*c.ranks)
			for r := range c.ranks {
				step[r], step[c.ranks+r], step[2*c.ranks+r] = 30e6, 0, 5e6
				if late && r > 0 {
					step[r], step[c.ranks+r] = 10e6, c.waits*1e6
				}
			}
			w.Durations = append(w.Durations, step...)
		}
		if got := mustAnalyze(t, w, Options{}).Main.SyncPoint; got.At != c.at || c.at >= 0 && got.Evidence != points.Likely {
			t.Errorf("%s: stage %d, %v, want %d", name, got.At, got.Evidence, c.at)
		}
	}
}
