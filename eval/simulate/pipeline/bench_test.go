package pipeline

import (
	"fmt"
	"io"
	"testing"

	"github.com/sfstat/sfstat/ingest/optrace"
	"github.com/sfstat/sfstat/trace/operator"
)

func BenchmarkMake(b *testing.B) {
	for _, l := range []Layout{
		{DP: 4, PP: 4, TP: 4, Chunks: 1, Microbatches: 32, Buckets: 1},
		{DP: 64, PP: 8, TP: 8, Chunks: 1, Microbatches: 32, Buckets: 1},
		{DP: 64, PP: 8, TP: 8, Chunks: 2, Microbatches: 32, Buckets: 4, EarlyReduce: true},
		{DP: 512, PP: 8, TP: 8, Chunks: 1, Microbatches: 32, Buckets: 1},
	} {
		b.Run(fmt.Sprintf("workers=%d/vpp=%d", l.Workers(), l.Chunks), func(b *testing.B) {
			s := DefaultSpec()
			s.Layout = l
			s.Steps.Count = 4
			b.ReportAllocs()
			ops := 0
			for b.Loop() {
				t, _, err := Make(s)
				if err != nil {
					b.Fatal(err)
				}
				ops += t.Len()
			}
			b.ReportMetric(float64(ops)/b.Elapsed().Seconds(), "ops/sec")
		})
	}
}

func BenchmarkWrite(b *testing.B) {
	s := DefaultSpec()
	s.Steps.Count = 4
	s.Layout = Layout{DP: 64, PP: 8, TP: 8, Chunks: 1, Microbatches: 32, Buckets: 1}
	t, _, err := Make(s)
	if err != nil {
		b.Fatal(err)
	}
	for name, write := range map[string]func(io.Writer, *operator.Trace) error{"csv": optrace.WriteCSV, "parquet": optrace.WriteParquet} {
		b.Run("format="+name, func(b *testing.B) {
			b.ReportAllocs()
			var size counter
			for b.Loop() {
				size = 0
				if err := write(&size, t); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(t.Len()*b.N)/b.Elapsed().Seconds(), "ops/sec")
			b.ReportMetric(float64(size)/float64(t.Len()), "bytes/row")
		})
	}
}

// counter counts the bytes that are written to it.
type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
