package frontier

import (
	"math"
	"testing"

	"github.com/sfstat/sfstat/trace"
)

// TestCarriedByRanks: rank 2 of sixteen takes 60 ms longer for its forward pass in ten of 40 steps, and so many others do in one each. The
// stage induces the waits of all of them where rank 2 answers for half and more.
func TestCarriedByRanks(t *testing.T) {
	const ms, steps, ranks = int64(1e6), 40, 16
	for others, want := range map[int]FitReason{9: FitInduced, 11: FitByChance} { // 10 of 19 are 0.53, of 21 0.48
		w := &trace.Window{WorldSize: ranks, Schema: trace.Schema{Stages: []string{"model.fwd_loss_cpu_wall", "model.backward_cpu_wall"}}}
		for r := range ranks {
			w.Ranks = append(w.Ranks, trace.Rank{ID: r})
		}
		for step := range steps {
			late := -1
			if step%4 == 1 {
				late = 2
			} else if step%2 == 0 && step/2 < others {
				late = 3 + step/2
			}
			forward, backward := make([]int64, ranks), make([]int64, ranks)
			for r := range forward {
				forward[r], backward[r] = 50*ms, 40*ms
				if r == late {
					forward[r] += 60 * ms
				} else if late >= 0 {
					backward[r] += 60 * ms
				}
			}
			w.Durations = append(append(w.Durations, forward...), backward...)
		}
		got := mustAnalyze(t, w, Options{SyncAfter: "model.backward_cpu_wall"}).Main.ModelFit
		gain := float64(10+others) * 60 / float64(steps*90+(10+others)*60)
		if got.Why != want || got.Holds != (want == FitInduced) || math.Abs(got.Gain-gain) > 1e-9 {
			t.Errorf("%d others: %+v, want %v, a gain of %v", others, got, want, gain)
		}
	}
}

// TestLeastRegressed: eight samples and more show how the excess goes with the length of a step. Of twenty steps the first two, of 600 ms more, hold a
// device up by as much, which is a fourth of the first eight and a tenth of all.
func TestLeastRegressed(t *testing.T) {
	const ranks, steps = 4, 20
	for n, want := range map[int]float64{7: 0, 8: 600e6 * (2./20 - 2./8), 9: 600e6 * (2./20 - 2./9)} {
		w := &trace.Window{Schema: trace.Schema{Stages: []string{"a"}}, Ranks: make([]trace.Rank, ranks)}
		var samples []trace.Sample
		for step := range steps {
			for r := range ranks {
				length, x := int64(100e6), 60.0
				if step < 2 {
					length += 600e6
					if r == 3 {
						x += 600
					}
				}
				w.Durations = append(w.Durations, length)
				if step < n {
					samples = append(samples, trace.Sample{Rank: r, Step: int64(step), Value: x, Ready: true})
				}
			}
		}
		e := excessOf(samples, 3, ranks)
		if got := e.correction(w, 3); math.Abs(got-want) > 1 {
			t.Errorf("%d samples: corrected by %v, want %v", n, got, want)
		}
	}
}

// TestChanceOfFewSamples: 1, 2 and 3 have t = 2√3 with two degrees of freedom, P = ½ − t ÷ 2√(2 + t²); for four ranks and two tests eight times as
// much. Of two samples nothing is said.
func TestChanceOfFewSamples(t *testing.T) {
	x := 2 * math.Sqrt(3)
	want := 8 * (0.5 - x/2/math.Sqrt(2+x*x))
	if got := (&sampledExcess{over: []float64{1, 2, 3}}).chance(4); math.Abs(got-want) > 1e-9 {
		t.Errorf("P = %v, want %v", got, want)
	}
	if got := (&sampledExcess{over: []float64{2, 2}}).chance(4); got != 1 {
		t.Errorf("of two samples P = %v", got)
	}
}
