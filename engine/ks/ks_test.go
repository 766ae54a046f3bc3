package ks

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"testing"
)

// job is a synchronous job: in every step each worker runs ops operators one
// after the other, 1 ms each with a standard deviation of 10 %, and all wait for
// the last before the next step. slow is what the times of worker 0 are
// multiplied with.
type job struct {
	workers, steps, ops int
	slow                float64
}

func (j job) run(rng *rand.Rand) []Worker {
	out := make([]Worker, j.workers)
	start := int64(1 << 50)
	for range j.steps {
		end := start
		for w := range out {
			now := float64(start)
			step := Step{Start: start}
			for range j.ops {
				d := max(0, 1e6*(1+0.1*rng.NormFloat64()))
				if w == 0 && j.slow != 0 {
					d *= j.slow
				}
				now += d
				step.Done = append(step.Done, int64(now))
			}
			end = max(end, int64(now))
			out[w].Steps = append(out[w].Steps, step)
		}
		start = end
	}
	return out
}

func source(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 99)) }

func analyze(t testing.TB, workers []Worker, o Options) *Result {
	t.Helper()
	r, err := Analyze(workers, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// ragged draws workers with unlike numbers of completions, ties, empty steps
// and workers without any.
func ragged(rng *rand.Rand, n int) []Worker {
	out := make([]Worker, n)
	for w := range out {
		out[w].Peers = rng.IntN(3)
		for range rng.IntN(5) {
			step := Step{Start: rng.Int64N(100) - 50}
			for range rng.IntN(12) {
				step.Done = append(step.Done, step.Start+rng.Int64N(60))
			}
			out[w].Steps = append(out[w].Steps, step)
		}
	}
	return out
}

func scoresOnly() Options {
	return Options{Window: 1, Against: Everyone, Matrix: true, Replicates: NoTest}
}

// bruteD is D by its definition: both F after every window.
func bruteD(a, b []int64) float64 {
	best := 0.0
	for _, t := range slices.Concat(a, b) {
		upTo := func(x []int64) (n int) {
			for _, v := range x {
				if v <= t {
					n++
				}
			}
			return n
		}
		best = max(best, math.Abs(float64(upTo(a)*len(b)-upTo(b)*len(a))/float64(len(a)*len(b))))
	}
	return best
}

func folded(w Worker, window int64) []int64 {
	var out []int64
	for _, s := range w.Steps {
		for _, d := range s.Done {
			out = append(out, (d-s.Start)/window)
		}
	}
	return out
}

func TestDistancesByDefinition(t *testing.T) {
	for seed := range uint64(40) {
		rng := source(seed)
		workers := ragged(rng, 2+rng.IntN(24))
		o := scoresOnly()
		o.Window = 1 + rng.Int64N(9)
		r := analyze(t, workers, o)
		for a := range workers {
			sum, peers := 0.0, 0
			for b := range workers {
				x, y := folded(workers[a], o.Window), folded(workers[b], o.Window)
				got, want := r.Matrix[a*len(workers)+b], -1.0
				if len(x) > 0 && len(y) > 0 {
					want = bruteD(x, y)
					if a != b {
						sum += want
						peers++
					}
				}
				if got != want {
					t.Fatalf("seed %d: D(%d,%d) = %v, want %v", seed, a, b, got, want)
				}
			}
			if got := r.Scores[a]; got.Peers != peers {
				t.Fatalf("seed %d: worker %d: %d peers, want %d", seed, a, got.Peers, peers)
			} else if peers > 0 && math.Abs(got.Mean-sum/float64(peers)) > 1e-12 {
				t.Fatalf("seed %d: S_%d = %v, want %v", seed, a, got.Mean, sum/float64(peers))
			}
		}
	}
}

func TestRaise4(t *testing.T) {
	rng := source(5)
	for range 200 {
		n := lanes * (1 + rng.IntN(30))
		stride := n + lanes*rng.IntN(4)
		a, b := make([]int32, 4*stride), make([]int32, n)
		for i := range a {
			a[i] = rng.Int32()
		}
		for i := range b {
			b[i] = rng.Int32()
		}
		got := []int32{0, 7, rng.Int32(), 1}
		want := slices.Clone(got)
		raise4(got, a, stride, b)
		for i := range want {
			want[i] = max(want[i], int32(widestOf(a[i*stride:][:len(b)], b, 1, 1)))
		}
		if !slices.Equal(got, want) {
			t.Fatalf("n %d, stride %d: %v, want %v", n, stride, got, want)
		}
	}
}

func TestWindowsNeverRaiseD(t *testing.T) {
	for seed := range uint64(20) {
		rng := source(seed)
		workers := job{workers: 5, steps: 3, ops: 20, slow: 1.2}.run(rng)
		raw := analyze(t, workers, scoresOnly())
		for _, window := range []int64{2, 1000, 500_000, 3_000_000, 1 << 60} {
			o := scoresOnly()
			o.Window = window
			r := analyze(t, workers, o)
			for i, d := range r.Matrix {
				if d > raw.Matrix[i] || d < 0 || d > 1 {
					t.Fatalf("w = %d: D_w = %v, D = %v", window, d, raw.Matrix[i])
				}
			}
		}
		for a := range workers {
			for b := range a {
				want := bruteD(folded(workers[a], 1), folded(workers[b], 1))
				if raw.Matrix[a*len(workers)+b] != want {
					t.Fatalf("at 1 ns D_w = %v, D = %v", raw.Matrix[a*len(workers)+b], want)
				}
			}
		}
	}
}

func TestInvariances(t *testing.T) {
	for seed := range uint64(30) {
		rng := source(seed)
		workers := ragged(rng, 3+rng.IntN(12))
		n := len(workers)
		r := analyze(t, workers, scoresOnly())
		for a := range n {
			for b := range n {
				if r.Matrix[a*n+b] != r.Matrix[b*n+a] {
					t.Fatal("D is not symmetric")
				}
			}
		}
		// Another origin of time, and all times and the window three times as long.
		moved := make([]Worker, n)
		for w := range workers {
			moved[w].Peers = workers[w].Peers
			shift := rng.Int64N(1 << 40)
			for _, s := range workers[w].Steps {
				step := Step{Start: 3*s.Start + shift}
				for _, d := range s.Done {
					step.Done = append(step.Done, 3*d+shift)
				}
				moved[w].Steps = append(moved[w].Steps, step)
			}
		}
		o := scoresOnly()
		o.Window = 3
		if got := analyze(t, moved, o); !reflect.DeepEqual(got.Matrix, r.Matrix) {
			t.Fatal("D changes with the origin and unit of time")
		}
		// Workers in another order.
		order := rng.Perm(n)
		shuffled := make([]Worker, n)
		for to, from := range order {
			shuffled[to] = workers[from]
		}
		got := analyze(t, shuffled, scoresOnly())
		for to, from := range order {
			a, b := got.Scores[to], r.Scores[from]
			a.Worker = b.Worker
			if !reflect.DeepEqual(a, b) {
				t.Fatalf("worker %d: %+v, in another order %+v", from, b, a)
			}
		}
	}
}

func TestThreadsDoNotMatter(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	workers := job{workers: 21, steps: 12, ops: 15, slow: 1.05}.run(source(3))
	for i := range 6 {
		workers[i].Peers = 1
	}
	for _, window := range []int64{0, 1, 100_000} {
		o := Options{Window: window, Matrix: true}
		runtime.GOMAXPROCS(1)
		one := analyze(t, workers, o)
		for _, threads := range []int{2, 5, 64} {
			runtime.GOMAXPROCS(threads)
			if got := analyze(t, workers, o); !reflect.DeepEqual(got, one) {
				t.Fatalf("%d threads give another result than one", threads)
			}
		}
	}
}

func TestUndecided(t *testing.T) {
	job := job{workers: 4, steps: 10, ops: 5}
	two := job
	two.workers = 2
	one := job
	one.workers = 1
	short := job
	short.steps = 3
	idle := job.run(source(1))
	idle[2].Steps = nil
	wall := Options{Clock: Wall}
	untested := Options{Replicates: NoTest}
	for _, c := range []struct {
		name    string
		workers []Worker
		o       Options
		worker  int
		want    Doubt
		scored  bool
	}{
		{"two workers", two.run(source(1)), Options{}, 0, TwoWorkers, true},
		{"one worker", one.run(source(1)), Options{}, 0, NoPeer, false},
		{"few steps", short.run(source(1)), Options{}, 1, FewSteps, true},
		{"idle worker", idle, Options{}, 2, NoOperators, false},
		{"peer of an idle worker", idle, Options{}, 1, NoDoubt, true},
		{"running clock", job.run(source(1)), wall, 1, RunningClock, true},
		{"no test asked for", job.run(source(1)), untested, 1, NotTested, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := analyze(t, c.workers, c.o).Scores[c.worker]
			if s.Undecided != c.want || (s.Peers > 0) != c.scored || (s.Test != nil) != (c.want == NoDoubt) {
				t.Errorf("undecided %q, scored %v, tested %v", s.Undecided, s.Peers > 0, s.Test != nil)
			}
		})
	}
	if r := analyze(t, nil, Options{}); len(r.Scores) != 0 || len(r.Ranking) != 0 {
		t.Errorf("of nothing came %+v", r)
	}
}

func TestRefusals(t *testing.T) {
	early := []Worker{{Steps: []Step{{Start: 10, Done: []int64{12, 9}}}}}
	if _, err := Analyze(early, Options{Window: 1}); !errors.Is(err, errBefore) {
		t.Errorf("a completion before its step: %v", err)
	}
	far := []Worker{{Steps: []Step{{Start: math.MinInt64, Done: []int64{math.MaxInt64}}}}}
	if _, err := Analyze(far, Options{Window: 1}); !errors.Is(err, errBefore) {
		t.Errorf("a time that does not fit 63 bits: %v", err)
	}
	back := []Worker{{Steps: []Step{{Start: math.MaxInt64, Done: []int64{math.MinInt64}}}}}
	if _, err := Analyze(back, Options{Window: 1}); !errors.Is(err, errBefore) {
		t.Errorf("a completion 2⁶⁴−1 before its step: %v", err)
	}
	wide := []Worker{{Steps: []Step{{Start: -1 << 62, Done: []int64{1<<62 - 1}}}}, {Steps: []Step{{Done: []int64{5}}}}}
	if r := analyze(t, wide, Options{Window: 1}); r.Scores[0].Mean != 1 {
		t.Errorf("times 2⁶³−1 apart: %+v", r.Scores)
	}
	for _, o := range []Options{{Window: -1}, {Discovery: math.NaN()}, {Discovery: 1}, {Clock: 7}, {Against: 7}} {
		if _, err := Analyze(nil, o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}

// TestLater: by hand, with means 10, 20 and 60, and with a fourth of 20.
func TestLater(t *testing.T) {
	at := func(done ...int64) Worker { return Worker{Steps: []Step{{Done: done}}} }
	for _, c := range []struct {
		workers []Worker
		want    []int64
	}{
		{[]Worker{at(5, 15), at(20), at(60)}, []int64{-30, -15, 45}},
		{[]Worker{at(10), at(20), at(60), at(0, 40)}, []int64{-10, 0, 40, 0}},
	} {
		var got []int64
		for _, s := range analyze(t, c.workers, Options{Window: 1, Replicates: NoTest}).Scores {
			got = append(got, s.Later)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("later by %v, want %v", got, c.want)
		}
	}
}

// TestSmallestP: a worker far off is above all that permutations draw, and P is
// its own place among them.
func TestSmallestP(t *testing.T) {
	r := analyze(t, job{workers: 5, steps: 12, ops: 20, slow: 1.5}.run(source(6)), Options{})
	if got := r.Scores[0].Test; got.P != 1/float64(got.Draws) {
		t.Errorf("P = %v of %d draws", got.P, got.Draws)
	}
}

func TestLaterHasTheSignOfTheDelay(t *testing.T) {
	for _, slow := range []float64{0.8, 1.2} {
		r := analyze(t, job{workers: 6, steps: 10, ops: 10, slow: slow}.run(source(4)), Options{})
		// Ten operators of 1 ms complete 5.5 ms after the start in the mean.
		if got, want := float64(r.Scores[0].Later), (slow-1)*5.5e6; math.Abs(got-want) > 0.3e6 {
			t.Errorf("slow %v: later by %v ns, want about %v", slow, got, want)
		}
	}
}

func FuzzAnalyze(f *testing.F) {
	f.Add(uint64(1), 4, int64(3))
	f.Add(uint64(9), 33, int64(1))
	f.Add(uint64(2), 0, int64(0))
	f.Add(uint64(82), 45, int64(1))
	f.Fuzz(func(t *testing.T, seed uint64, n int, window int64) {
		if n < 0 || n > 64 {
			return // more than one input should cost
		}
		workers := ragged(source(seed), n)
		o := Options{Window: window, Replicates: 50}
		r, err := Analyze(workers, o)
		if err != nil {
			return
		}
		for _, s := range r.Scores {
			if !(s.Mean >= 0 && s.Mean <= 1+1e-12) {
				t.Fatalf("S = %v", s.Mean)
			}
			if s.Test != nil && !(s.Test.P > 0 && s.Test.P <= s.Test.Q && s.Test.Q <= 1) {
				t.Fatalf("%+v", *s.Test)
			}
		}
	})
}
