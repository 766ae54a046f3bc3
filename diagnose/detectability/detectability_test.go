package detectability

import (
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// recorded is the first window of a simulated job.
func recorded(t *testing.T, change func(*simulate.Spec)) *trace.Window {
	t.Helper()
	s := simulate.DefaultSpec()
	if change != nil {
		change(&s)
	}
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

func jobOf(t *testing.T, windows ...*trace.Window) *job {
	t.Helper()
	j, err := newJob(windows, frontier.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// inOrder draws all rounds as they were recorded.
func inOrder(j *job, rank int) draw {
	d := draw{rank: rank}
	for k := range j.rounds() {
		d.rounds = append(d.rounds, k)
	}
	return d
}

// TestIdentity: without a delay, and in their order, the rounds give back what
// was recorded, to the nanosecond; with microsteps, without wall time, with a
// synchronisation point in the last stage, and with waits for data charged to the step before.
func TestIdentity(t *testing.T) {
	for name, w := range map[string]*trace.Window{
		"plain":      recorded(t, nil),
		"microsteps": recorded(t, func(s *simulate.Spec) { s.Accumulation = 3; s.Stages[2].SyncPoints[0].LastMicrostep = true }),
		"drift":      recorded(t, func(s *simulate.Spec) { s.Clock.DriftPPM = 500; s.Clock.SkewSD = 300 }),
		"preceding":  recorded(t, func(s *simulate.Spec) { s.DataWait = "preceding" }),
		"last": recorded(t, func(s *simulate.Spec) {
			s.Stages = s.Stages[:3]
			s.Other = simulate.Dist{}
		}),
		"no wall": func() *trace.Window { w := recorded(t, nil); w.Wall = nil; return w }(),
	} {
		j := jobOf(t, w)
		got := j.window(inOrder(j, 0), 0, 0)
		if err := got.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		n := got.Steps()
		per := len(w.Durations) / w.Steps()
		if n != w.Steps()-2 || !slices.Equal(got.Durations, w.Durations[per:(n+1)*per]) {
			t.Errorf("%s: %d steps, and other durations than the recording's", name, n)
		}
		if R := len(w.Ranks); w.Wall != nil && !slices.Equal(got.Wall, w.Wall[R:(n+1)*R]) {
			t.Errorf("%s: other wall times than the recording's", name)
		}
	}
}

// byHand is two ranks that take the same time, and synchronise in backward.
func byHand() *trace.Window {
	const ms = 1_000_000
	w := &trace.Window{Run: "hand", WorldSize: 2, Ranks: []trace.Rank{{ID: 0}, {ID: 1}}, Accumulation: 1,
		Schema: trace.Schema{Stages: []string{"data", "model.backward", "optim"}}}
	for range 30 {
		w.Durations = append(w.Durations, 10*ms, 10*ms, 50*ms, 50*ms, 5*ms, 5*ms)
		w.Wall = append(w.Wall, 65*ms, 65*ms)
	}
	return w
}

// TestDelayByHand: before the synchronisation point, the other rank waits in it; after it, in
// the next step's; inside it, both stay.
func TestDelayByHand(t *testing.T) {
	const ms = 1_000_000
	j, err := newJob([]*trace.Window{byHand()}, frontier.Options{SyncAfter: "model.backward"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		stage int
		want  []int64 // ms, [stage][rank] of a step
	}{
		{0, []int64{10, 30, 70, 50, 5, 5}},
		{1, []int64{10, 10, 70, 70, 5, 5}},
		{2, []int64{10, 10, 70, 50, 5, 25}},
	} {
		w := j.window(inOrder(j, 1), c.stage, 20*ms)
		for i, want := range c.want {
			if got := w.Step(3)[i]; got != want*ms {
				t.Errorf("delay in %s: %v ns, expected %v ms", j.stages[c.stage], w.Step(3), c.want)
				break
			}
		}
		for r, wall := range w.WallOf(3) {
			if wall != 85*ms {
				t.Errorf("delay in %s: rank %d takes %d ns, expected 85 ms", j.stages[c.stage], r, wall)
			}
		}
	}
}

// TestLikeTheGenerator sets the thresholds beside package simulate, which knows
// nothing of this one: with 15 % less than a threshold its true runs are not
// answered, with 15 % more they are.
func TestLikeTheGenerator(t *testing.T) {
	o := DefaultOptions()
	o.Replicates = 12
	a, err := Examine([]*trace.Window{recorded(t, func(s *simulate.Spec) { s.Seed = 77 })}, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range []simulate.Family{simulate.Data, simulate.ForwardHost, simulate.CallbackHost, simulate.OptimizerHost} {
		stage := map[simulate.Family]int{simulate.Data: 0, simulate.ForwardHost: 1, simulate.CallbackHost: 3, simulate.OptimizerHost: 4}[family]
		for _, answer := range []Answer{Called, RoutedFirst} {
			threshold := a.Windows[0].Stages[stage].Thresholds[answer]
			if threshold.State != Found {
				t.Errorf("%v: %v is %v", family, answer, threshold.State)
				continue
			}
			for factor, want := range map[float64]bool{0.85: false, 1.15: true} {
				right := 0
				for seed := range uint64(4) {
					fault := simulate.Fault{Family: family, Delay: simulate.Millis(factor * float64(threshold.Delay) / 1e6), Ranks: []int{int(seed)}}
					w := recorded(t, func(s *simulate.Spec) { s.Seed, s.Faults = seed, []simulate.Fault{fault} })
					r := replyTo(t, w, int(seed))
					if r.right(answer, a.Windows[0].Stages[stage].Name) {
						right++
					}
				}
				if want != (right >= 3) || !want && right > 1 {
					t.Errorf("%v, %.2f of the delay %.1f ms that is %v: %d of 4 true runs are", family, factor, float64(threshold.Delay)/1e6, answer, right)
				}
			}
		}
	}
}

// replyTo asks about a window that was not made here.
func replyTo(t *testing.T, w *trace.Window, rank int) reply {
	t.Helper()
	j := jobOf(t, w)
	s := &search{job: j}
	r, err := s.read(w, rank)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestStepTime: a delayed step is as long as the generator's, within what the
// package says of its model.
func TestStepTime(t *testing.T) {
	for _, ms := range []simulate.Millis{0, 20, 60, 200} {
		fault := simulate.Fault{Family: simulate.Data, Delay: ms, Ranks: []int{2}}
		truth := recorded(t, func(s *simulate.Spec) { s.Seed, s.Faults = 9, []simulate.Fault{fault} })
		j := jobOf(t, recorded(t, func(s *simulate.Spec) { s.Seed = 9 }))
		made := j.window(inOrder(j, 2), 0, int64(ms*1e6))
		want, got := makespan(t, truth), makespan(t, made)
		if off := got/want - 1; math.Abs(off) > 0.03 {
			t.Errorf("%v ms: a step of %.2f ms, the generator's has %.2f (%.1f %% off)", ms, got/1e6, want/1e6, 100*off)
		} else {
			t.Logf("%v ms: %.2f %% off", ms, 100*off)
		}
	}
}

func makespan(t *testing.T, w *trace.Window) float64 {
	t.Helper()
	a, err := frontier.Analyze(w, frontier.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return float64(a.Main.Makespan) / float64(a.Main.Steps)
}

// TestThreads: the number of threads changes nothing, another seed does.
func TestThreads(t *testing.T) {
	w := recorded(t, func(s *simulate.Spec) { s.Schedule.Steps = 40 })
	o := DefaultOptions()
	o.Replicates, o.Steps, o.Asked = 8, []int{20, 30}, 30e6
	examine := func(threads int) *Account {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(threads))
		a, err := Examine([]*trace.Window{w}, o)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	one := examine(1)
	if diff := cmp.Diff(one, examine(5)); diff != "" {
		t.Errorf("another account with more threads:\n%s", diff)
	}
	if len(one.Windows) != 2 || one.Windows[1].Steps != 30 || one.Windows[0].Stages[0].Asked.Delay != 30e6 {
		t.Errorf("%+v", one)
	}
	for _, s := range one.Windows[0].Stages {
		if s.Syncs != (s.Name == simulate.StageBackward) || s.AfterSync != (s.Name == simulate.StageCallbacks || s.Name == simulate.StageOptimizer) {
			t.Errorf("%+v: syncs, after", s)
		}
		if s.Syncs && (s.Thresholds[Called].State != Beyond || s.Thresholds[RoutedFirst].State != Already) {
			t.Errorf("%s is called at %v, first at %v; its ranks synchronise there and it leads", s.Name, s.Thresholds[Called], s.Thresholds[RoutedFirst])
		}
	}
	o.Seed = 2
	if a := examine(2); cmp.Equal(a.Windows, one.Windows) {
		t.Error("the seed changes nothing")
	}
}

// TestBlocks: rounds that were recorded together stay together, and the circle
// closes.
func TestBlocks(t *testing.T) {
	j := jobOf(t, recorded(t, func(s *simulate.Spec) { s.Schedule.Steps = 31 }))
	seen := map[int]bool{}
	for n := range 40 {
		d := j.draw(5, n, 50, 10)
		if len(d.rounds) != 51 {
			t.Fatalf("%d rounds, expected 51", len(d.rounds))
		}
		for k, round := range d.rounds {
			seen[round] = true
			if k%10 > 0 && round != (d.rounds[k-1]+1)%30 {
				t.Fatalf("%v is not in blocks of 10", d.rounds)
			}
		}
	}
	if len(seen) != 30 {
		t.Errorf("%d of 30 rounds are ever drawn", len(seen))
	}
}

func TestFaultInRecording(t *testing.T) {
	w := recorded(t, func(s *simulate.Spec) { s.Faults = []simulate.Fault{{Family: simulate.Data, Delay: 90}} })
	o := DefaultOptions()
	o.Replicates = 1
	a, err := Examine([]*trace.Window{w}, o)
	if err != nil || a.Suspect == nil || a.Suspect.Findings[0].Stage != "data.next_wait" {
		t.Errorf("suspect %v, %v, expected the fault", a.Suspect, err)
	}
}

// TestHugeTimes: durations near what a window may hold are refused or answered,
// and nothing overflows.
func TestHugeTimes(t *testing.T) {
	for _, factor := range []int64{1, 1e4, 1e8} {
		w := byHand()
		for i := range w.Durations {
			w.Durations[i] *= factor
		}
		for i := range w.Wall {
			w.Wall[i] *= factor
		}
		o := DefaultOptions()
		o.Replicates, o.Steps, o.Frontier.SyncAfter = 2, []int{40, 1000}, "model.backward"
		if err := w.Validate(); err != nil {
			t.Fatal(err)
		}
		_, err := Examine([]*trace.Window{w}, o)
		if refused := errors.Is(err, input.ErrOverflow); refused != (factor == 1e8) || err != nil && !refused {
			t.Errorf("times %d: %v", factor, err)
		}
	}
}

func TestRefusals(t *testing.T) {
	w := recorded(t, nil)
	one := w.Select([]int{0})
	short := recorded(t, func(s *simulate.Spec) { s.Schedule.Steps = 12 })
	wide := recorded(t, func(s *simulate.Spec) { s.Ranks = 16 })
	for _, c := range []struct {
		windows []*trace.Window
		change  func(*Options)
		want    string
	}{
		{nil, nil, "no window"},
		{[]*trace.Window{one}, nil, "one rank is recorded"},
		{[]*trace.Window{short}, nil, "11 whole steps are recorded, expected at least 20"},
		{[]*trace.Window{w, wide}, nil, "of another job"},
		{[]*trace.Window{w.Select([]int{0, 1}), w.Select([]int{0, 2})}, nil, "of another job"},
		{[]*trace.Window{w}, func(o *Options) { o.Power = 1 }, "a power of 1"},
		{[]*trace.Window{w}, func(o *Options) { o.Replicates = 0 }, "0 replicates"},
		{[]*trace.Window{w}, func(o *Options) { o.Steps = []int{1} }, "a window of 1 steps"},
		{[]*trace.Window{w}, func(o *Options) { o.Most = math.NaN() }, "largest delay of NaN"},
		{[]*trace.Window{w}, func(o *Options) { o.Block = -1 }, "block -1"},
		{[]*trace.Window{w}, func(o *Options) { o.Frontier.SyncAfter = "x" }, `no stage is called "x"`},
	} {
		o := DefaultOptions()
		if c.change != nil {
			c.change(&o)
		}
		if _, err := Examine(c.windows, o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, expected %q", err, c.want)
		}
	}
	if _, err := Examine([]*trace.Window{one}, DefaultOptions()); !errors.Is(err, input.ErrMissing) {
		t.Errorf("%v is no ErrMissing", err)
	}
}
