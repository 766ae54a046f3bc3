package whatif_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/sfstat/sfstat/engine/whatif"
	"github.com/sfstat/sfstat/fixtures/optrace/pipesim"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/optrace"
	"github.com/sfstat/sfstat/internal/largedata"
)

func rate(b *testing.B, ops int) {
	b.ReportMetric(float64(ops)*float64(b.N)/b.Elapsed().Seconds(), "ops/s")
	b.ReportAllocs()
}

// BenchmarkFile goes from a file to every figure, and shows its parts.
func BenchmarkFile(b *testing.B) {
	dir := largedata.Need(b, "data/optrace")
	for _, name := range []string{"AR", "SE"} {
		path := filepath.Join(dir, "trace-"+name+".parquet")
		if _, err := os.Stat(path); err != nil {
			b.Skip(err)
		}
		t := open(b, path)
		m, err := whatif.New(t, whatif.Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.Run("trace="+name+"/part=all", func(b *testing.B) {
			for b.Loop() {
				t, err := optrace.Open(path, ingest.Limits{})
				if err != nil {
					b.Fatal(err)
				}
				m, err := whatif.New(t, whatif.Options{})
				if err != nil {
					b.Fatal(err)
				}
				m.Analyze()
			}
			rate(b, t.Len())
		})
		b.Run("trace="+name+"/part=read", func(b *testing.B) {
			for b.Loop() {
				if _, err := optrace.Open(path, ingest.Limits{}); err != nil {
					b.Fatal(err)
				}
			}
			rate(b, t.Len())
		})
		b.Run("trace="+name+"/part=model", func(b *testing.B) {
			for b.Loop() {
				if _, err := whatif.New(t, whatif.Options{}); err != nil {
					b.Fatal(err)
				}
			}
			rate(b, t.Len())
		})
		b.Run("trace="+name+"/part=analyze", func(b *testing.B) {
			for b.Loop() {
				m.Analyze()
			}
			rate(b, t.Len())
		})
		b.Run("trace="+name+"/part=suspects", func(b *testing.B) {
			r := m.Analyze()
			for b.Loop() {
				m.Suspects(r, 8)
			}
			rate(b, t.Len())
		})
	}
}

// BenchmarkSlope shows how the model and all figures grow with the operators.
func BenchmarkSlope(b *testing.B) {
	for _, s := range []pipesim.Spec{
		{DP: 4, PP: 4, Microbatches: 8, Steps: 12},
		{DP: 4, PP: 4, Microbatches: 8, Steps: 96},
		{DP: 32, PP: 4, Microbatches: 8, Steps: 12},
		{DP: 4, PP: 4, Microbatches: 64, Steps: 12},
		{DP: 4, PP: 16, Microbatches: 16, Steps: 12},
		{DP: 64, PP: 8, Microbatches: 16, Steps: 12},
	} {
		s.Noise = 0.05
		t := pipesim.Make(s)
		b.Run(fmt.Sprintf("dp=%d/pp=%d/microbatches=%d/steps=%d/ops=%d", s.DP, s.PP, s.Microbatches, s.Steps, t.Len()), func(b *testing.B) {
			for b.Loop() {
				m, err := whatif.New(t, whatif.Options{})
				if err != nil {
					b.Fatal(err)
				}
				m.Analyze()
			}
			rate(b, t.Len())
		})
	}
}
