package delay_test

import (
	"math/rand/v2"
	"testing"

	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/delay"
	"github.com/sfstat/sfstat/internal/draws"
)

// TestLimitUnderLoad: the limits grow with the noise that is there. On hosts that other work loads a delay as large as the limit that the healthy job
// states is found in nine of ten jobs, and one of 1.3 times as much in 95 of 100. SFSTAT_CALIBRATE=1 takes 300 jobs of each noise.
func TestLimitUnderLoad(t *testing.T) {
	for _, n := range []null{
		{name: "normal, 30 %", work: autoregressive(0, 0, 0.3)},
		{name: "AR 0.9, 20 %", work: autoregressive(0.9, 0.2, 0.02)},
		{name: "lognormal data, σ 0.7, AR 0.9", work: loading(0.9, 0.7, 0.02)},
		{name: "t with 3, 10 %", work: independent(func(rng *rand.Rand) float64 { return 0.1 * student(rng) })},
		{name: "spikes in 20 % of stages", work: independent(spikes(0.2))},
		{name: "bursts of 8 steps", work: bursts},
	} {
		tried, of := 0, draws.Of(t, 16, 300)
		found := map[float64]int{}
		for i := range of {
			g := rand.New(rand.NewPCG(19, uint64(i)))
			j := job{seed: g.Uint64(), ranks: pick(g, 2, 4, 8), steps: pick(g, 40, 60, 100), work: n.work}
			run, _ := j.play()
			limit := analyzed(run, delay.Options{}).Limits[pick(g, 0, 1, 3)]
			rank := g.IntN(j.ranks)
			if limit.Reported == 0 {
				continue
			}
			tried++
			for _, x := range []float64{1, 1.3} {
				run, _ := j.play(fault{ranks: []int{rank}, stage: limit.Stage, ms: x * float64(limit.Reported) / 1e6})
				for _, c := range analyzed(run, delay.Options{}).Claims {
					if c.Cause == claim.Late && c.Certainty >= claim.Supported && c.Rank() == rank {
						found[x]++
						break
					}
				}
			}
		}
		t.Logf("%s: at 1 × the limit %d, at 1.3 × %d of %d jobs found; %d state none", n.name, found[1], found[1.3], tried, of-tried)
		if 100*found[1] < 90*tried-100 || 100*found[1.3] < 95*tried-100 || 10*(of-tried) > of+20 {
			t.Errorf("%s: at 1 × the limit %d, at 1.3 × %d of %d jobs found; %d state none", n.name, found[1], found[1.3], tried, of-tried)
		}
	}
}
