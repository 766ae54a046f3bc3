package pipeline

import (
	"fmt"
	"testing"
)

func BenchmarkNext(b *testing.B) {
	for _, l := range []Layout{
		{DP: 4, PP: 4, TP: 4, Chunks: 1, Microbatches: 32, Buckets: 1},
		{DP: 64, PP: 8, TP: 8, Chunks: 1, Microbatches: 32, Buckets: 1},
		{DP: 64, PP: 8, TP: 8, Chunks: 2, Microbatches: 32, Buckets: 4, EarlyReduce: true},
		{DP: 512, PP: 8, TP: 8, Chunks: 1, Microbatches: 32, Buckets: 1},
	} {
		b.Run(fmt.Sprintf("workers=%d/vpp=%d", l.Workers(), l.Chunks), func(b *testing.B) {
			s := DefaultSpec()
			s.Layout = l
			s.Steps.Count = 1 << 30
			g, err := New(s)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			ops := 0
			for b.Loop() {
				t, err := g.Next(4)
				if err != nil {
					b.Fatal(err)
				}
				ops += t.Len()
			}
			b.ReportMetric(float64(ops)/b.Elapsed().Seconds(), "ops/sec")
		})
	}
}
