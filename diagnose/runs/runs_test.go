package runs

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/engine/compare"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/profile"
	"github.com/sfstat/sfstat/trace/stagename"
)

// window has two ranks and two stages; every step of rank 0 takes 10 + 30, of
// rank 1 20 + 20, with 5 of wall time besides.
func window(run string, first int64, steps int) *trace.Window {
	w := &trace.Window{Run: run, FirstStep: first, WorldSize: 2, Schema: trace.Schema{Stages: []string{"data", "backward"}},
		Ranks: []trace.Rank{{ID: 0}, {ID: 1}}, Epochs: []int64{2000 + first, 1000 + first}}
	for range steps {
		w.Durations = append(w.Durations, 10e6, 20e6, 30e6, 20e6)
		w.Wall = append(w.Wall, 45e6, 45e6)
	}
	return w
}

// Hand count: a step takes 45 ms; by the step cut 20 of it are exposed in data,
// where rank 1 takes 10 longer than the other, 20 in backward, 5 outside.
func TestMeasures(t *testing.T) {
	s := New(frontier.Options{Cut: frontier.CutStep})
	for i := range 3 {
		if err := s.Add(window("a", int64(10*i), 10)); err != nil {
			t.Fatal(err)
		}
	}
	device := &profile.DeviceTimes{Run: "a", Ranks: []profile.DeviceRank{{Steps: []profile.DeviceStep{{Categories: profile.Categories{ExposedComm: 4}}, {Categories: profile.Categories{ExposedComm: 8}}}}}}
	if err := s.Add(device); err != nil {
		t.Fatal(err)
	}
	list := s.Runs()
	if len(list) != 1 {
		t.Fatalf("%d runs", len(list))
	}
	r := list[0]
	want := map[Measure]float64{{Kind: StepTime}: 45e6, {StageTime, "data"}: 20e6, {StageTime, "backward"}: 20e6, {StageTime, stagename.Residual}: 5e6,
		{Kind: ExposedCommunication}: 6, {FoundDelay, "data"}: 10e6}
	got := map[Measure]float64{}
	for m, v := range r.Values {
		if m.Kind != SyncWait {
			got[m] = v
		}
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-9, 0)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if r.World != 2 || r.Windows != 3 || r.Steps != 30 || r.Begin != 1000 {
		t.Errorf("world %d, %d windows, %d steps, from %d", r.World, r.Windows, r.Steps, r.Begin)
	}
	for m, want := range want {
		if of := r.parts[m].Means(); m.Kind <= StageTime && (len(of) != 7 || math.Abs(of[3]-want) > 1e-3) {
			t.Errorf("%v: batches %v, want 7 of %v", m, of, want)
		}
	}
}

func TestWithoutWallTime(t *testing.T) {
	s, w := New(frontier.Options{Cut: frontier.CutStep}), window("a", 0, 10)
	w.Wall = nil
	if err := s.Add(w); err != nil {
		t.Fatal(err)
	}
	if got := s.Runs()[0].Values[Measure{Kind: StepTime}]; got != 40e6 {
		t.Errorf("a step takes %v, want the sum of its stages", got)
	}
}

// timed returns a job of four ranks and three stages without wall time, of which rank 2 takes so much longer in the first; the others wait for it in
// the last one unless that was not recorded. The first steps take the part more that is told.
func timed(name string, steps, startUp int, part, late float64, waits bool) *trace.Window {
	w := &trace.Window{Run: name, WorldSize: 4, Schema: trace.Schema{Stages: []string{"data", "forward", "backward"}}}
	for r := range 4 {
		w.Ranks = append(w.Ranks, trace.Rank{ID: r})
	}
	for t := range steps {
		factor := 1.0
		if t < startUp {
			factor = part
		}
		jitter := func(r int) float64 { return 1 + 0.002*float64((t*7+r*5)%11-5) }
		data, forward, last := make([]float64, 4), make([]float64, 4), 0.0
		for r := range 4 {
			data[r], forward[r] = 15*jitter(r), 60*jitter(r+1)*factor
			if r == 2 {
				data[r] += late
			}
			last = max(last, data[r]+forward[r])
		}
		for _, stage := range [][]float64{data, forward} {
			for _, ms := range stage {
				w.Durations = append(w.Durations, int64(ms*1e6))
			}
		}
		for r := range 4 {
			wait := 0.0
			if waits {
				wait = last - data[r] - forward[r]
			}
			w.Durations = append(w.Durations, int64((80+wait)*1e6))
		}
	}
	return w
}

func runOf(t *testing.T, w *trace.Window) []*Run {
	t.Helper()
	s := New(frontier.Options{})
	if err := s.Add(w); err != nil {
		t.Fatal(err)
	}
	return s.Runs()
}

// TestLastArrival: without wall time a step of the group ends with its last rank, whether or not the stage was recorded in which the
// others wait for it; one run on each side exceeds a gate, by its steps.
func TestLastArrival(t *testing.T) {
	gate := 0.02
	for _, waits := range []bool{true, false} {
		base, now := runOf(t, timed("a", 60, 0, 1, 0, waits)), runOf(t, timed("b", 60, 0, 1, 40, waits))
		c, err := Compare(base, now, Options{Gate: &gate})
		if err != nil {
			t.Fatal(err)
		}
		if step := c.Step(); math.Abs(step.Change-40e6) > 1e6 || step.Verdict != compare.Regression || c.Standing != Exceeded {
			t.Errorf("waits %v: %+v, %v, expected 40 ms more", waits, *step, c.Standing)
		}
		if c, err = Compare(base, base, Options{Gate: &gate}); err != nil || c.Standing != NotShown {
			t.Errorf("waits %v: a run and itself: %v, %v", waits, c.Standing, err)
		}
	}
}

// TestStartUpIsSetApart: first steps that take a multiple, as diagnose finds them, are in no measure of either side.
func TestStartUpIsSetApart(t *testing.T) {
	base, now := runOf(t, timed("a", 60, 3, 20, 0, true)), runOf(t, timed("b", 60, 3, 12, 4, true))
	c, err := Compare(base, now, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if step := c.Step(); c.StartUps() != [2]int{3, 3} || math.Abs(step.Base-155e6) > 2e6 || math.Abs(step.Change-4e6) > 1e6 || step.Verdict != compare.Regression || !slices.Contains(c.Doubts, StartUp) {
		t.Errorf("%v steps apart, %+v, doubts %v", c.StartUps(), *step, c.Doubts)
	}
	for _, r := range c.Rows {
		if r.Kind == StageTime && r.Stage == "forward" && math.Abs(r.Base-60e6) > 2e6 {
			t.Errorf("forward takes %v", r.Base)
		}
	}
	if c, err = Compare(runOf(t, timed("a", 60, 0, 1, 0, true)), now, Options{}); err != nil || c.StartUps() != [2]int{0, 3} {
		t.Errorf("%v %v", c.StartUps(), err)
	}
}

// run has a step time, ms.
func run(name string, ms float64) *Run {
	return &Run{Name: name, World: 8, Windows: 1, Values: map[Measure]float64{{Kind: StepTime}: ms * 1e6}}
}

func TestPairing(t *testing.T) {
	for _, c := range []struct {
		name      string
		base, now []string
		unpaired  bool
		unit      Unit
		left      []string
	}{
		{"same names", []string{"a", "b", "c"}, []string{"c", "a", "b"}, false, Pairs, nil},
		{"asked not to", []string{"a", "b"}, []string{"a", "b"}, true, Whole, nil},
		{"one more in new", []string{"a", "b"}, []string{"a", "b", "c"}, false, Pairs, []string{"c"}},
		{"one more in base", []string{"a", "b", "c"}, []string{"a", "c"}, false, Pairs, []string{"b"}},
		{"each has its own", []string{"a", "b", "c"}, []string{"a", "b", "d"}, false, Whole, nil},
		{"one pair of several", []string{"a"}, []string{"a", "b"}, false, Whole, nil},
		{"one each", []string{"a"}, []string{"b"}, false, Batches, nil},
	} {
		var base, now []*Run
		for i, n := range c.base {
			base = append(base, run(n, 100+float64(i)))
		}
		for i, n := range c.now {
			now = append(now, run(n, 100+float64(i)))
		}
		got, err := Compare(base, now, Options{Unpaired: c.unpaired})
		if err != nil {
			t.Fatal(err)
		}
		if got.Unit != c.unit || !slices.Equal(got.Left, c.left) || slices.Contains(got.Doubts, LeftOver) != (c.left != nil) {
			t.Errorf("%s: %v, left %v, doubts %v; want %v, %v", c.name, got.Unit, got.Left, got.Doubts, c.unit, c.left)
		}
		for i := range got.Base {
			if c.unit == Pairs && got.Base[i].Name != got.New[i].Name {
				t.Errorf("%s: %s is paired with %s", c.name, got.Base[i].Name, got.New[i].Name)
			}
		}
	}
	if _, err := Compare(nil, []*Run{run("a", 1)}, Options{}); err == nil {
		t.Error("nothing is compared with a run")
	}
}

func TestStanding(t *testing.T) {
	base := []*Run{run("a", 100), run("b", 101), run("c", 99), run("d", 100)}
	for _, c := range []struct {
		gate float64
		now  []float64
		want Standing
	}{
		{0.05, []float64{100, 101, 99, 100.5}, Within},
		{0.001, []float64{100, 101, 99, 100.5}, NotShown},
		{0.10, []float64{104, 105, 103, 104.5}, Within},
		{0.045, []float64{104, 105, 103, 104.5}, BelowGate},
		{0.035, []float64{104, 105, 103, 104.5}, Exceeded},
		{0.01, []float64{104, 105, 103, 104.5}, SurelyBeyond},
		{0, []float64{96, 95, 97, 96}, Within},
	} {
		var now []*Run
		for i, ms := range c.now {
			now = append(now, run(fmt.Sprint("n", i), ms))
		}
		got, err := Compare(base, now, Options{Gate: &c.gate})
		if err != nil {
			t.Fatal(err)
		}
		if got.Standing != c.want {
			t.Errorf("gate %v, %v: %v, want %v (%+v)", c.gate, c.now, got.Standing, c.want, got.Rows[0])
		}
	}
}

// Findings of one kind and stage are one, whatever their rank; where a run has
// none its delay is 0.
func TestFound(t *testing.T) {
	find := func(r *Run, rank int, gain float64) *Run {
		r.Found = []diagnose.Finding{{Place: diagnose.Place{Rank: &rank, Stage: "data"}, Cost: diagnose.Cost{RunGain: gain}}}
		r.Values[Measure{FoundDelay, "data"}] = gain * 1e8
		return r
	}
	base := []*Run{run("a", 100), run("b", 101), find(run("c", 110), 1, 0.1)}
	now := []*Run{find(run("d", 120), 2, 0.2), find(run("e", 121), 3, 0.21), find(run("f", 119), 2, 0.19)}
	got, err := Compare(base, now, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Found) != 1 || got.Found[0].Runs != [2]int{1, 3} || got.Found[0].Most != [2]float64{0.1, 0.21} || *got.Found[0].Rank != 3 {
		t.Errorf("found %+v", got.Found)
	}
	last := got.Rows[len(got.Rows)-1]
	if last.Kind != FoundDelay || last.Units != [2]int{3, 3} || math.Abs(last.Change-(0.2-0.1/3)*1e8) > 1 {
		t.Errorf("delay %+v", last)
	}
}

func TestDoubts(t *testing.T) {
	with := func(r *Run, world int, cut frontier.Cut, stages ...string) *Run {
		r.World, r.Cut = world, cut
		for _, s := range stages {
			r.Values[Measure{StageTime, s}] = 1e6
		}
		return r
	}
	for _, c := range []struct {
		name      string
		base, now []*Run
		want      []Doubt
		rows      int
	}{
		{"none but few", []*Run{run("a", 1), run("b", 2)}, []*Run{run("c", 1), run("d", 2)}, []Doubt{FewRuns}, 1},
		{"worlds", []*Run{run("a", 1)}, []*Run{with(run("b", 1), 16, 0)}, []Doubt{OneRunEach, OtherWorld}, 1},
		{"stages", []*Run{with(run("a", 1), 8, 0, "x", "y")}, []*Run{with(run("b", 1), 8, 0, "x", "z")}, []Doubt{OneRunEach, OtherStages}, 4},
		{"cuts", []*Run{with(run("a", 1), 8, frontier.CutSync, "x")}, []*Run{with(run("b", 1), 8, frontier.CutStep, "x")}, []Doubt{OneRunEach, OtherCut}, 1},
		{"mixed", []*Run{with(run("a", 1), 8, 0, "x"), run("b", 1)}, []*Run{with(run("c", 1), 8, 0, "x"), with(run("d", 1), 8, 0, "x")}, []Doubt{FewRuns, MixedSchemas}, 2},
	} {
		got, err := Compare(c.base, c.now, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Doubts, c.want) || len(got.Rows) != c.rows {
			t.Errorf("%s: %v, %d rows; want %v, %d", c.name, got.Doubts, len(got.Rows), c.want, c.rows)
		}
	}
}

// RunsFor is four times as many runs for half the difference.
func TestRunsFor(t *testing.T) {
	c := &Comparison{Base: make([]*Run, 6), New: make([]*Run, 6), Unit: Pairs,
		Rows: []Row{{Difference: compare.Difference{Base: 100, Shows: 4}}}}
	for part, want := range map[float64]int{0.05: 0, 0.04: 0, 0.02: 24, 0.01: 96, 0.001: 0} {
		if got := c.RunsFor(part); got != want {
			t.Errorf("%v: %d runs, want %d", part, got, want)
		}
	}
}

// Stages that changed as step time did explain it, if they are a part of it.
func TestLargest(t *testing.T) {
	row := func(kind Kind, stage string, change float64, v compare.Verdict) Row {
		return Row{Measure{kind, stage}, compare.Difference{Base: 100, Change: change, Verdict: v}}
	}
	c := &Comparison{Rows: []Row{row(StepTime, "", 10, compare.Regression), row(StageTime, "a", 2, compare.Regression), row(StageTime, "b", 9, compare.Regression),
		row(StageTime, "c", 3, compare.NoneShown), row(StageTime, "d", -4, compare.Improvement), row(StageTime, "e", 0.5, compare.Regression), row(SyncWait, "", 50, compare.Regression)}}
	var got []string
	for _, r := range c.Largest() {
		got = append(got, r.Stage)
	}
	if !slices.Equal(got, []string{"b", "a"}) {
		t.Errorf("%v", got)
	}
}
