package align

import (
	"fmt"
	"testing"
)

// BenchmarkWithoutClocks is one rank without stamps and launches that lost a fifth of its kernels: pairs/s.
func BenchmarkWithoutClocks(b *testing.B) {
	for _, n := range []int{300, 1200, 6000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			s := simulateLong(1, n, 0, 0.2)
			for b.Loop() {
				m, err := Calls(s.Process, Options{Clockless: true})
				if err != nil {
					b.Fatal(err)
				}
				f, _, _ := s.f1(m)
				b.ReportMetric(f, "F1")
			}
			b.ReportMetric(float64(len(s.truth))*float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
		})
	}
}
