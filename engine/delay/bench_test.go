package delay_test

import (
	"fmt"
	"testing"

	"github.com/sfstat/sfstat/engine/delay"
	"github.com/sfstat/sfstat/engine/points"
)

func BenchmarkAnalyze(b *testing.B) {
	for _, j := range []job{{seed: 1, ranks: 8, steps: 100, noise: 0.02}, {seed: 1, ranks: 32, steps: 120, noise: 0.02}, {seed: 1, ranks: 512, steps: 1000, noise: 0.02}, {seed: 1, ranks: 32, steps: 13_000, noise: 0.02}} {
		for name, faults := range map[string][]fault{"healthy": nil, "late": {{ranks: []int{1}, stage: 1, ms: 50}}} {
			run, _ := j.play(faults...)
			b.Run(fmt.Sprintf("ranks=%d/steps=%d/%s", j.ranks, j.steps, name), func(b *testing.B) {
				b.ReportAllocs()
				o := delay.Options{}
				if j.steps > 10_000 {
					o.Limits = delay.NoLimits
				}
				for b.Loop() {
					delay.LookAt(points.Divide(&run.Steps, points.Gates{}), run, o)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(run.Durations)), "ns/duration")
			})
		}
	}
}
