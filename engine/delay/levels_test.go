package delay_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/delay"
	"github.com/sfstat/sfstat/internal/draws"
)

// TestLevelsOfAll: what all ranks take longer from a step on, and from another one still longer, or until another, is found with
// what it saves in most jobs, and nothing in jobs without it. SFSTAT_CALIBRATE=1 makes 60 of a kind.
func TestLevelsOfAll(t *testing.T) {
	n := draws.Of(t, 8, 60)
	for name, level := range map[string]func(step int) float64{
		"nothing":             func(int) float64 { return 0 },
		"a step up":           func(step int) float64 { return math.Floor(float64(step) / 100) },
		"two steps up":        func(step int) float64 { return math.Floor(float64(step+10)/70) / 2 },
		"two up and down":     func(step int) float64 { return []float64{0, 0.5, 1, 0}[step/50] },
		"up and down, and up": func(step int) float64 { return []float64{0, 1, 0, 1}[step/50] },
	} {
		right := 0
		for i := range n {
			g := rand.New(rand.NewPCG(5, uint64(i)))
			j := job{seed: g.Uint64(), ranks: pick(g, 2, 4, 8, 16), steps: 200, noise: pick(g, 0.005, 0.02, 0.05), ar: pick(g, 0, 0, 0.8)}
			size := usualStep * (0.25 + 0.25*g.Float64())
			var all []int
			for r := range j.ranks {
				all = append(all, r)
			}
			_, clean := j.play()
			run, whole := j.play(fault{ranks: all, stage: 1, size: func(step int) float64 { return size * level(step) }})
			saves := 0.0
			for _, c := range analyzed(run, delay.Options{}).Claims {
				if c.Kind == claim.Everyone && c.Certainty >= claim.Supported && c.Cause != claim.StartUp {
					saves += c.Saves.Alone
				}
			}
			if math.Abs(saves-(1-clean/whole)) < 0.04 {
				right++
			} else {
				t.Logf("%s, job %d of %d ranks: saves %.3f, found %.3f", name, i, j.ranks, 1-clean/whole, saves)
			}
		}
		least := 0.88
		if name == "up and down, and up" { // one of its cuts shifts the level by a third
			least = 0.7
		}
		if float64(right) < least*float64(n) || name == "nothing" && right < n {
			t.Errorf("%s: right in %d of %d jobs", name, right, n)
		}
	}
}
