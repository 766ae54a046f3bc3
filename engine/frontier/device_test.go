package frontier

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sfstat/sfstat/trace"
)

// deviceSamples are those of 8 ranks in some steps, of 50 ms and 1 ms of noise;
// rank 3 takes longer by what longer says of a step.
func deviceSamples(seed uint64, steps int, longer func(step int) float64) []trace.Sample {
	rng := rand.New(rand.NewPCG(seed, 1))
	var out []trace.Sample
	for t := range steps {
		for r := range 8 {
			s := trace.Sample{Step: int64(4 * t), Rank: r, Value: 50 + rng.NormFloat64(), Ready: true}
			if r == 3 {
				s.Value += longer(t)
			}
			out = append(out, s)
		}
	}
	return out
}

func chanceIn(samples []trace.Sample, rank int) float64 {
	e := excessOf(samples, rank, 8)
	return e.chance(8)
}

// TestExcessOfAllSteps: a fault in every tenth step that every fourth step is sampled of
// strikes a fifth of the samples; what a device loses in a step that is no longer for it
// changes nothing.
func TestExcessOfAllSteps(t *testing.T) {
	const ranks, steps = 8, 120
	for name, c := range map[string]struct {
		lengthens bool
		want      float64
	}{"the step is longer by it": {true, -60e6}, "the step is not": {false, 0}} {
		t.Run(name, func(t *testing.T) {
			w := &trace.Window{Schema: trace.Schema{Stages: []string{"a", "b"}}, Ranks: make([]trace.Rank, ranks), FirstStep: 20, Durations: make([]int64, steps*2*ranks)}
			var samples []trace.Sample
			for step := range int64(steps) {
				for r := range ranks {
					x := 60.0
					w.Durations[int(step)*2*ranks+r] = 100e6 + step%7
					if step%10 == 0 {
						if r == 3 {
							x += 600
						}
						if c.lengthens {
							w.Durations[int(step)*2*ranks+ranks+r] = 600e6
						}
					}
					if step%4 == 0 {
						samples = append(samples, trace.Sample{Rank: r, Step: 20 + step, Value: x, Ready: true})
					}
				}
			}
			e := excessOf(samples, 3, ranks)
			if got := e.correction(w, 3); math.Abs(got-c.want) > 1e6 {
				t.Errorf("120 ms in a sampled step, 60 ms in all: corrected by %.1f ms, expected %.1f", got/1e6, c.want/1e6)
			}
		})
	}
}

// TestChanceOfExcess: a rank that is longer in every sample is so surely, one that
// was long once is not, and of ranks that are alike the longest passes the level as
// often as it says.
func TestChanceOfExcess(t *testing.T) {
	if p := chanceIn(deviceSamples(1, 5, func(int) float64 { return 20 }), 3); p > 0.001 {
		t.Errorf("20 ms in each of five samples: P = %v", p)
	}
	if p := chanceIn(deviceSamples(1, 5, func(step int) float64 {
		if step == 2 {
			return 2000
		}
		return 0
	}), 3); p < 0.05 {
		t.Errorf("2 s in one of five samples: P = %v", p)
	}
	if p := chanceIn(deviceSamples(1, 30, func(step int) float64 {
		if step%10 == 2 {
			return 600
		}
		return 0
	}), 3); p > 0.05 {
		t.Errorf("600 ms in each tenth of 30 samples: P = %v", p)
	}
	passed := 0
	const draws = 400
	for seed := range uint64(draws) {
		samples := deviceSamples(seed, 6, func(int) float64 { return 0 })
		sums := make([]float64, 8)
		longest := 0
		for _, s := range samples {
			sums[s.Rank] += s.Value
		}
		for r, sum := range sums {
			if sum > sums[longest] {
				longest = r
			}
		}
		if chanceIn(samples, longest) <= 0.05 {
			passed++
		}
	}
	if passed > draws*5/100+13 { // three standard deviations above the level
		t.Errorf("%d of %d jobs whose ranks are alike pass 0.05", passed, draws)
	}
}

// TestDeviceByHand: the rank with the longest stage, on device or host, beside the median of the other ranks that were sampled. Of five
// ranks the last has no sample that was ready, and one sample of the first is left out for the same reason.
func TestDeviceByHand(t *testing.T) {
	const ms = 1_000_000
	w := &trace.Window{Run: "hand", WorldSize: 5, FirstStep: 7, Schema: trace.Schema{Stages: []string{"a_cpu_wall", "b"}}}
	for r := range 5 {
		w.Ranks = append(w.Ranks, trace.Rank{ID: 10 + r})
	}
	c := trace.SideChannel{Name: "a_cuda_event_ms"}
	for step := range int64(4) {
		w.Durations = append(w.Durations, 20*ms, 22*ms, 24*ms, 26*ms, 90*ms, 80*ms, 78*ms, 76*ms, 74*ms, 10*ms)
		for r, x := range []float64{30, 60, 31, 35, 99} {
			c.Samples = append(c.Samples, trace.Sample{Step: 7 + step, Rank: r, Value: x, Ready: r < 4 && (r > 0 || step > 0)})
		}
	}
	w.Side = []trace.SideChannel{c}
	a, err := Analyze(w, Options{Cut: CutStep})
	if err != nil {
		t.Fatal(err)
	}
	d := a.Main.Device
	if d.Rank != 11 || d.Sampled != 20 || d.Ready != 15 || d.Time != 60*ms || d.Wall != 22*ms || d.Peers != 31*ms || d.PeerWall != 24*ms || d.Excess != 29*ms || d.PerStep != 29*ms {
		t.Errorf("%+v, want rank 11 with 60 ms, 22 on its host; of ranks 10, 12 and 13 the median is 31, on their hosts 24", d)
	}
	if want := 60. / 100; d.Share < want-1e-9 || d.Share > want+1e-9 || d.OverWall != 60./22 {
		t.Errorf("share %v, over wall %v; want 0.6 of steps of 100 ms, 60/22", d.Share, d.OverWall)
	}
}
