package frontier

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// TestChanceIsNoSmallerThanItShouldBe charges ranks at random, with sizes over
// three orders of magnitude, and counts how often some rank looks guilty at 5 %.
func TestChanceIsNoSmallerThanItShouldBe(t *testing.T) {
	const trials, level = 600, 0.05
	for _, ranks := range []int{2, 8, 32} {
		for _, points := range []int{3, 10, 60} {
			t.Run(fmt.Sprintf("ranks=%d/points=%d", ranks, points), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(uint64(ranks), uint64(points)))
				alarms := 0
				for range trials {
					var s suspicion
					total, steps := make([]float64, ranks), make([]int, ranks)
					for range points {
						r, x := rng.IntN(ranks), math.Exp(7*rng.Float64())*1e5
						s.charge(x)
						s.count(1, ranks)
						total[r] += x
						steps[r]++
					}
					for r := range ranks {
						if float64(ranks)*s.chance(&Culprit{Steps: steps[r]}, total[r], ranks) <= level {
							alarms++
							break
						}
					}
				}
				// Three standard deviations above the level.
				if limit := level*trials + 3*math.Sqrt(level*(1-level)*trials); float64(alarms) > limit {
					t.Errorf("%d of %d trials give an alarm at %v, at most %.0f may", alarms, trials, level, limit)
				}
			})
		}
	}
}

// TestChanceOfOneRankHavingAll: n equal charges on one of R ranks have chance
// R^−n, and both bounds are exact there.
func TestChanceOfOneRankHavingAll(t *testing.T) {
	for _, ranks := range []int{2, 8, 100} {
		for n := 1; n <= 12; n++ {
			var s suspicion
			for range n {
				s.charge(5e6)
				s.count(1, ranks)
			}
			want := math.Pow(float64(ranks), -float64(n))
			for name, got := range map[string]float64{"by size": s.bySize(float64(n)*5e6, ranks), "by count": s.byCount(n)} {
				if math.Abs(math.Log(got/want)) > 1e-6 {
					t.Errorf("%d of %d on one of %d ranks, %s: %g, want %g", n, n, ranks, name, got, want)
				}
			}
		}
	}
}

// TestChanceSeesASecondAmongMilliseconds: five delays of a second on one rank
// among sixty of some milliseconds on all.
func TestChanceSeesASecondAmongMilliseconds(t *testing.T) {
	var s suspicion
	rng := rand.New(rand.NewPCG(3, 3))
	small := 0.0
	for i := range 60 {
		x := 3e6 + 2e6*rng.Float64()
		s.charge(x)
		s.count(1, 8)
		if i%8 == 0 {
			small += x
		}
	}
	for range 5 {
		s.charge(1e9)
		s.count(1, 8)
	}
	if p := 8 * s.chance(&Culprit{Steps: 13}, 5e9+small, 8); p > 1e-3 {
		t.Errorf("chance %g, the five alone have 8·8^−5 = 2.4e-4", p)
	}
}
