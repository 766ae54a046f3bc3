package frontier

import (
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

// TestChanceOfExcess: a rank that is longer in every sample is so surely, one that
// was long once is not, and of ranks that are alike the longest passes the level as
// often as it says.
func TestChanceOfExcess(t *testing.T) {
	if p := chanceOfExcess(deviceSamples(1, 5, func(int) float64 { return 20 }), 3, 8); p > 0.001 {
		t.Errorf("20 ms in each of five samples: P = %v", p)
	}
	if p := chanceOfExcess(deviceSamples(1, 5, func(step int) float64 {
		if step == 2 {
			return 2000
		}
		return 0
	}), 3, 8); p < 0.05 {
		t.Errorf("2 s in one of five samples: P = %v", p)
	}
	if p := chanceOfExcess(deviceSamples(1, 30, func(step int) float64 {
		if step%10 == 2 {
			return 600
		}
		return 0
	}), 3, 8); p > 0.05 {
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
		if chanceOfExcess(samples, longest, 8) <= 0.05 {
			passed++
		}
	}
	if passed > draws*5/100+13 { // three standard deviations above the level
		t.Errorf("%d of %d jobs whose ranks are alike pass 0.05", passed, draws)
	}
}
