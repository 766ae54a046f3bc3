package robust

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkMiddle is the middle of values that differ by noise, one set after the other: the
// same one again would have its branches foreseen.
func BenchmarkMiddle(b *testing.B) {
	const sets = 256
	for _, n := range []int{8, 31, 32, 120, 1024} {
		b.Run(fmt.Sprintf("values=%d", n), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 1))
			v, scratch := make([]int64, sets*n), make([]int64, n)
			for i := range v {
				v[i] = int64(1e6 * (50 + rng.NormFloat64()))
			}
			for b.Loop() {
				for at := 0; at < len(v); at += n {
					MiddleOf(v[at:at+n], scratch)
				}
			}
			b.ReportMetric(float64(sets*b.N)/b.Elapsed().Seconds()/1e6, "Mmiddles/s")
		})
	}
}
