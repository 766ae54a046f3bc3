package simulated

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sfstat/sfstat/internal/draws"
)

// drawn is a standard normal number of a rank and a step.
func drawn(seed uint64, rank, step int) float64 {
	return rand.New(rand.NewPCG(seed, uint64(1000*rank+step))).NormFloat64()
}

// TestHealthy: of jobs in which nobody is slow nobody is called: with noise that
// differs between ranks, clocks that are apart, a first step that is slow on
// one rank, and work of varying size on one rank or on all.
func TestHealthy(t *testing.T) {
	seeds := draws.Of(t, 2, 8)
	for name, change := range map[string]func(j *Job){
		"plain":        func(*Job) {},
		"microsteps":   func(j *Job) { j.Microsteps = 3 },
		"tensors":      func(j *Job) { j.TP, j.DP = 2, 4 },
		"pipeline":     func(j *Job) { j.PP, j.DP, j.Microsteps = 2, 4, 4 },
		"clocks apart": func(j *Job) { j.Clock = func(rank int) int64 { return int64(2e7 * drawn(j.Seed, rank, 0)) } },
		"uneven noise": func(j *Job) {
			j.Factor = func(at Place) float64 {
				return math.Exp(0.02 * float64(at.Rank%4) * drawn(j.Seed, at.Rank, 4*at.Step+int(at.Part)))
			}
		},
		"slow first step": func(j *Job) {
			j.Factor = func(at Place) float64 {
				if at.Rank == 3 && at.Step == 0 {
					return 4
				}
				return 1
			}
		},
		"work of varying size on one rank": func(j *Job) {
			j.Factor = func(at Place) float64 {
				if at.Rank == 3 {
					return math.Exp(0.1 * drawn(j.Seed, at.Rank, at.Step))
				}
				return 1
			}
		},
		"work of varying size": func(j *Job) {
			j.Factor = func(at Place) float64 { return math.Exp(0.1 * drawn(j.Seed, at.Rank, at.Step)) }
		},
	} {
		for seed := range uint64(seeds) {
			j := &Job{DP: 8, Steps: 10, Noise: 0.03, Seed: seed + 1}
			change(j)
			v := verdict(t, j)
			for _, s := range v.Findings {
				if s.IsFlagged() {
					t.Errorf("%s, seed %d: %s", name, j.Seed, v.Status)
					break
				}
			}
		}
	}
}

// TestSmall: a rank whose forward pass takes 1.2 times as long, half a
// millisecond of a step of ten, is certain, since it arrives last at every
// synchronisation point; and it is small.
func TestSmall(t *testing.T) {
	for seed := range uint64(5) {
		j := &Job{DP: 8, Steps: 10, Noise: 0.02, Layers: 8, Seed: seed + 1, Kernel: func(at Place, layer int) string {
			return [2]string{"gemm", "norm"}[layer%2] + [4]string{"", "_forward", "_backward"}[at.Part]
		}}
		j.Factor = func(at Place) float64 {
			if at.Rank == 5 && at.Part == Forward && at.Step >= 3 {
				return 0.4 * 1.2
			}
			return 0.4
		}
		v := verdict(t, j)
		wantSuspect(t, v, 5, "model.fwd_loss")
		if s := v.Findings[0]; !s.BelowMinGain || s.Gain > 0.1 {
			t.Errorf("seed %d: %v, gain %.3f: %s", j.Seed, s.Confidence, s.Gain, v.Status)
		}
	}
}
