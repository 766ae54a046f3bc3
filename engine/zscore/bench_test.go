package zscore

import (
	"fmt"
	"runtime"
	"testing"
)

// BenchmarkAnalyze is the default over many operators, in values per second.
func BenchmarkAnalyze(b *testing.B) {
	for _, method := range []Method{Pooled, LeaveOneOut, Population} {
		for _, shape := range []struct{ peers, steps, series int }{{8, 100, 64}, {8, 200, 64}, {128, 100, 16}, {1024, 100, 2}} {
			for _, threads := range []int{1, runtime.GOMAXPROCS(0)} {
				var series []Series
				for op := range shape.series {
					s := healthy(source(uint64(op)), shape.peers, shape.steps)
					s.Op = op
					series = append(series, s)
				}
				o := Options{Method: method}
				before := runtime.GOMAXPROCS(threads)
				b.Run(fmt.Sprintf("method=%s/peers=%d/steps=%d/threads=%d", method, shape.peers, shape.steps, threads), func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						if _, err := Analyze(series, o); err != nil {
							b.Fatal(err)
						}
					}
					values := float64(shape.peers * shape.steps * shape.series)
					b.ReportMetric(values*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mvalues/s")
				})
				runtime.GOMAXPROCS(before)
			}
		}
	}
}
