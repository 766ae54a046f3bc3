package simulate

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/stat"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// busy uses everything that draws a random number.
func busy(ranks int) Spec {
	s := DefaultSpec()
	s.Ranks, s.Accumulation, s.Seed = ranks, 2, 7
	s.Layout = []Axis{{"tp", 4}, {"dp", ranks / 4}}
	s.Schedule = Schedule{Windows: 2, Steps: 6, Warmup: 2, Gap: 1}
	s.Stages[0].Loader = &loaderSpec{Depth: 2, Load: Dist{40, 20, Exponential}}
	s.Stages[1].Device.SD, s.Stages[1].Device.Shape = 1, Gamma
	s.Stages[1].SyncPoints = []SyncPoint{{Across: []string{"tp"}, Transfer: Dist{1, 0.2, LogNormal}, Exit: Dist{0.3, 0.2, Gamma}, LastMicrostep: true}}
	s.Stages[2].SyncPoints[0].Overlap = 0.4
	s.Noise.Drift = drift{SD: 0.01, Steps: 20}
	s.Noise.Spikes.Probability = 0.3
	s.Side = side{Every: 2, Unready: 0.1}
	s.Work = []WorkFactor{{Where: map[string]int{"tp": 2}, Factor: 1.1}}
	s.Faults = []Fault{{Family: Backward, Delay: 30, When: When{Probability: 0.5}}, {Family: CallbackSync, Delay: 30, When: When{Every: 2}}}
	return s
}

// TestDeterminism: the same windows to the bit.
func TestDeterminism(t *testing.T) {
	want, truth := generate(t, busy(16))
	got, again := generate(t, busy(16))
	for i := range want {
		if !slices.Equal(want[i].Durations, got[i].Durations) || !slices.Equal(want[i].Wall, got[i].Wall) {
			t.Errorf("window %d differs", i)
		}
		if diff := cmp.Diff(want[i].Side, got[i].Side); diff != "" {
			t.Errorf("side channels of window %d:\n%s", i, diff)
		}
	}
	if diff := cmp.Diff(truth, again); diff != "" {
		t.Errorf("truth:\n%s", diff)
	}
}

func TestSeedsDiffer(t *testing.T) {
	s := DefaultSpec()
	a := one(t, s)
	s.Seed++
	b := one(t, s)
	same := 0
	for i := range a.Durations {
		if a.Durations[i] == b.Durations[i] {
			same++
		}
	}
	if same > len(a.Durations)/1000 {
		t.Errorf("%d of %d durations are the same under two seeds", same, len(a.Durations))
	}
}

// TestStreamsAreIndependent: draws of neighbouring ranks and steps must not
// resemble each other. Correlation of n pairs of independent values has
// deviation 1/√n.
func TestStreamsAreIndependent(t *testing.T) {
	s := DefaultSpec()
	s.Ranks, s.Schedule = 256, Schedule{Windows: 1, Steps: 200}
	s.Noise, s.Clock = noise{}, Clock{}
	w := one(t, s)
	var here, next, later, forward []float64
	for step := range w.Steps() - 1 {
		for r := range 255 {
			here = append(here, float64(at(w, step, StageData, r)))
			next = append(next, float64(at(w, step, StageData, r+1)))
			later = append(later, float64(at(w, step+1, StageData, r)))
			forward = append(forward, float64(at(w, step, StageForward, r)))
		}
	}
	limit := 5 / math.Sqrt(float64(len(here)))
	for name, other := range map[string][]float64{"next rank": next, "next step": later, "next stage": forward} {
		if c := stat.Correlation(here, other, nil); !(math.Abs(c) < limit) {
			t.Errorf("correlation with the %s is %.4f, want under %.4f", name, c, limit)
		}
	}
}

// TestPairedNoise: a run and the same run with a fault share all their noise,
// so the seeded stage of the hidden rank differs by exactly the delay and
// nothing that is not a wait differs at all.
func TestPairedNoise(t *testing.T) {
	for _, ranks := range []int{2, 8, 64} {
		s := DefaultSpec()
		s.Ranks, s.Clock.DriftPPM = ranks, 0
		plain := one(t, s)
		s.Faults = []Fault{{Family: OptimizerHost, Ranks: []int{1}, Delay: 33}}
		w := one(t, s)
		for step := range w.Steps() {
			for _, name := range []string{StageData, StageForward, StageCallbacks, StageOptimizer} {
				for r := range ranks {
					var want int64
					if name == StageOptimizer && r == 1 {
						want = 33 * ms
					}
					if got := at(w, step, name, r) - at(plain, step, name, r); got != want {
						t.Fatalf("step %d, %s, rank %d differs by %d ns, want %d", step, name, r, got, want)
					}
				}
			}
		}
	}
}

// TestMoreRanks: the first 8 ranks of a job of 64 draw the same as a job of 8.
func TestMoreRanks(t *testing.T) {
	s := DefaultSpec()
	small := one(t, s)
	s.Ranks = 64
	large := one(t, s)
	for step := range small.Steps() {
		for _, name := range []string{StageData, StageForward, StageCallbacks, StageOptimizer} {
			for r := range 8 {
				// Clocks read to a nanosecond, from other absolute times.
				if d := at(small, step, name, r) - at(large, step, name, r); d < -1 || d > 1 {
					t.Fatalf("step %d, %s, rank %d differs by %d ns", step, name, r, d)
				}
			}
		}
	}
}

// TestInvariants holds for every program: windows are valid (no negative
// duration), stages do not sum past the wall time, steps and windows are
// numbered by the schedule, memory is the caller's.
func TestInvariants(t *testing.T) {
	specs := map[string]Spec{"default": DefaultSpec(), "busy": busy(64)}
	for _, ranks := range []int{1, 2, 4, 9, 100, 1024} {
		s := DefaultSpec()
		s.Ranks, s.Schedule.Steps = ranks, 20
		specs[fmt.Sprintf("ranks=%d", ranks)] = s
	}
	wild := DefaultSpec()
	for i := range wild.Stages {
		wild.Stages[i].Work = Dist{10, 30, Normal} // half of the draws are cut at 0
	}
	wild.Clock.DriftPPM = 1e5
	specs["wild"] = wild
	for name, s := range specs {
		t.Run(name, func(t *testing.T) {
			windows, _ := generate(t, s)
			for n, w := range windows {
				if want := s.Schedule.firstStep(n); w.FirstStep != want || w.Index != int64(n) || w.Steps() != s.Schedule.Steps {
					t.Errorf("window %d starts at step %d and has %d, want %d and %d", w.Index, w.FirstStep, w.Steps(), want, s.Schedule.Steps)
				}
				R := len(w.Ranks)
				for step := range w.Steps() {
					sum := make([]int64, R)
					for i, d := range w.Step(step) {
						sum[i%R] += d
					}
					for r, wall := range w.WallOf(step) {
						if other := wall - sum[r]; other < 0 || other > ms {
							t.Fatalf("step %d, rank %d: stages sum to %d ns of %d", step, r, sum[r], wall)
						}
					}
				}
			}
		})
	}
}

func TestRanksAreDescribed(t *testing.T) {
	s := quiet(16)
	s.Layout = []Axis{{"tp", 2}, {"dp", 4}, {"pp", 2}}
	w := one(t, s)
	got := w.Ranks[13]
	want := trace.Rank{ID: 13, Host: "node1", LocalRank: 5, Role: trace.Role{{Axis: "dp", Index: 2}, {Axis: "pp", Index: 1}, {Axis: "tp", Index: 1}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rank 13 (-want +got):\n%s", diff)
	}
}

// TestDriftIsSlow: the drift of a host has the deviation and the correlation
// over steps that the spec asks for, and all its ranks share it.
func TestDriftIsSlow(t *testing.T) {
	s := quiet(64)
	s.Schedule = Schedule{Windows: 1, Steps: 3000}
	s.Noise.Drift = drift{SD: 0.05, Steps: 10, PerHost: true}
	w := one(t, s)
	var now, next []float64
	var square float64
	for step := range w.Steps() - 1 {
		for host := range 8 {
			x := float64(at(w, step, StageForward, host*8))/float64(60*ms) - 1
			if y := at(w, step, StageForward, host*8+7); y != at(w, step, StageForward, host*8) {
				t.Fatalf("step %d: ranks of host %d drift apart", step, host)
			}
			now, next = append(now, x), append(next, float64(at(w, step+1, StageForward, host*8)))
			square += x * x
		}
	}
	// 24,000 values with a correlation length of 10 steps: about 1,200
	// independent ones, so the deviation is known to 2 %, ρ to 0.003.
	if sd := math.Sqrt(square / float64(len(now))); math.Abs(sd/0.05-1) > 0.1 {
		t.Errorf("deviation of the drift is %.4f, want 0.05", sd)
	}
	if ρ := stat.Correlation(now, next, nil); math.Abs(ρ-math.Exp(-0.1)) > 0.015 {
		t.Errorf("correlation over one step is %.4f, want %.4f", ρ, math.Exp(-0.1))
	}
}

// TestSpikes: a spike strikes one stage of about Share of the ranks of one
// host, with an exponential length.
func TestSpikes(t *testing.T) {
	s := quiet(16)
	s.Schedule = Schedule{Windows: 1, Steps: 4000}
	s.Stages[2].SyncPoints = nil // nobody waits, so only spikes differ from quiet
	s.Noise.Spikes = spikes{Probability: 0.1, Mean: 5, Share: 0.5}
	w := one(t, s)
	base := []int64{16 * ms, 60 * ms, 98 * ms, 6 * ms, 14 * ms}
	hosts, ranks, total := 0, 0, int64(0)
	for step := range w.Steps() {
		for host := range 2 {
			stages := 0
			for stage := range base {
				hit := 0
				for r := host * 8; r < host*8+8; r++ {
					if extra := w.Step(step)[stage*16+r] - base[stage]; extra > 0 {
						hit++
						total += extra
					}
				}
				if ranks += hit; hit > 0 {
					stages++
				}
			}
			if stages > 1 {
				t.Fatalf("step %d: %d stages of host %d are struck", step, stages, host)
			}
			hosts += stages
		}
	}
	// 800 strikes expected (deviation 27), 4 ranks each, 5 ms each (deviation of the mean 0.18).
	if hosts < 660 || hosts > 940 {
		t.Errorf("%d strikes, expected about 800", hosts)
	}
	if per := float64(ranks) / float64(hosts); per < 3.7 || per > 4.3 {
		t.Errorf("%.2f ranks per strike, expected about 4", per)
	}
	if mean := float64(total) / float64(ranks) / float64(ms); mean < 4 || mean > 6 {
		t.Errorf("spikes are %.2f ms long, expected about 5", mean)
	}
}

func TestEnd(t *testing.T) {
	g, err := New(quiet(2))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Next(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if w, err := g.Next(); w != nil || !errors.Is(err, io.EOF) {
			t.Errorf("after the last window: %v, %v, want io.EOF", w, err)
		}
	}
}

// TestAbsurdlyLong: a window whose rank time would not fit is refused, not
// wrapped around.
func TestAbsurdlyLong(t *testing.T) {
	s := quiet(1000)
	s.Schedule.Steps = 400
	s.Stages[1].Work.Mean = MaxMillis
	g, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Next(); !errors.Is(err, input.ErrOverflow) {
		t.Errorf("error is %v, want an overflow", err)
	}
}

func BenchmarkNext(b *testing.B) {
	for _, ranks := range []int{8, 128, 2048, 16384} {
		b.Run(fmt.Sprintf("ranks=%d/steps=120", ranks), func(b *testing.B) {
			s := DefaultSpec()
			s.Ranks, s.Schedule.Warmup, s.Schedule.Windows = ranks, 0, 1<<20
			g, err := New(s)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			durations := 0
			for b.Loop() {
				w, err := g.Next()
				if err != nil {
					b.Fatal(err)
				}
				durations += len(w.Durations)
			}
			b.ReportMetric(float64(durations)/b.Elapsed().Seconds(), "durations/sec")
		})
	}
}
