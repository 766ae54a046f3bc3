package align

import (
	"fmt"
	"testing"
)

// BenchmarkWithoutClocks is one rank without stamps and launches that lost a fifth of its kernels: pairs/s with names
// alone and with times.
func BenchmarkWithoutClocks(b *testing.B) {
	for _, use := range []Use{NoChances, NamesAlone, NamesAndTimes} {
		for _, n := range []int{300, 1200, 6000} {
			b.Run(fmt.Sprintf("use=%d/n=%d", use, n), func(b *testing.B) {
				s := simulateLong(1, n, 0, 0.2)
				o := Options{Clockless: true, Chances: use}
				for b.Loop() {
					m, err := Calls(s.Process, o)
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
}
