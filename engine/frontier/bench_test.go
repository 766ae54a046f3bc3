package frontier

import (
	"fmt"
	"testing"

	"github.com/sfstat/sfstat/eval/simulate"
)

// BenchmarkAnalyze is the whole account of a window: both cuts, synchronisation points,
// gains and blame.
func BenchmarkAnalyze(b *testing.B) {
	for _, ranks := range []int{8, 128, 1024, 4096} {
		steps := min(600, 600*1024/ranks)
		b.Run(fmt.Sprintf("ranks=%d/stages=5/steps=%d", ranks, steps), func(b *testing.B) {
			s := simulate.DefaultSpec()
			s.Ranks, s.Schedule.Steps, s.Seed = ranks, steps, 1
			s.Faults = []simulate.Fault{{Family: simulate.CallbackHost, Delay: 120, Ranks: []int{ranks / 2}}}
			g, err := simulate.New(s)
			if err != nil {
				b.Fatal(err)
			}
			w, err := g.Next()
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Analyze(w, Options{}); err != nil {
					b.Fatal(err)
				}
			}
			n := len(w.Durations) + len(w.Wall)
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mdurations/s")
		})
	}
}
