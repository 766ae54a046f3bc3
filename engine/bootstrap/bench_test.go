package bootstrap

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
)

// BenchmarkAnalyze is one statistic, or all three, with their intervals. The
// NumPy forms are in bench/reference/bootstrap_numpy.py.
func BenchmarkAnalyze(b *testing.B) {
	for _, c := range []struct {
		name       string
		statistics []Statistic
	}{{"total", []Statistic{Total}}, {"mean", []Statistic{Mean}}, {"median", []Statistic{Median}}, {"all", nil}} {
		for _, pairs := range []int{10, 100, 1000} {
			for _, threads := range []int{1, 2} {
				b.Run(fmt.Sprintf("of=%s/pairs=%d/replicates=10000/threads=%d", c.name, pairs, threads), func(b *testing.B) {
					sample := drawPairs(rand.New(rand.NewPCG(1, 2)), pairs, normal, 0.002)
					o := Options{Statistics: c.statistics}
					defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(threads))
					for b.Loop() {
						if _, err := Analyze(sample, o); err != nil {
							b.Fatal(err)
						}
					}
					draws := float64(pairs) * float64(o.Replicates) * float64(b.N)
					b.ReportMetric(draws/b.Elapsed().Seconds()/1e6, "Mdraws/s")
				})
			}
		}
	}
}
