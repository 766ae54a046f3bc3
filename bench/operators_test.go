package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/eval/simulate/pipeline"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/optrace"
	"github.com/sfstat/sfstat/internal/largedata"
)

// BenchmarkOperators goes from an operator trace in a Parquet file to a
// verdict, for jobs of growing size and steps, and for the public traces where
// they are at hand: read-ms and compute-ms are per verdict, ns/operator is of
// the whole.
func BenchmarkOperators(b *testing.B) {
	for _, size := range []struct{ dp, pp, steps int }{{4, 4, 10}, {4, 4, 40}, {4, 4, 160}, {16, 8, 10}, {64, 8, 10}, {256, 8, 10}} {
		b.Run(fmt.Sprintf("workers=%d/steps=%d", size.dp*size.pp, size.steps), func(b *testing.B) {
			s := pipeline.DefaultSpec()
			s.Layout.DP, s.Layout.PP, s.Layout.Microbatches, s.Steps.Count = size.dp, size.pp, 16, size.steps
			dp, pp := 1, 1
			s.Faults = []pipeline.Fault{{Kind: pipeline.SlowWorker, Where: pipeline.Where{DP: &dp, PP: &pp}, Size: pipeline.Size{Factor: 1.5}}}
			o, _, err := pipeline.Make(s)
			if err != nil {
				b.Fatal(err)
			}
			path := filepath.Join(b.TempDir(), "trace.parquet")
			f, err := os.Create(path)
			if err != nil {
				b.Fatal(err)
			}
			if err := optrace.WriteParquet(f, o); err != nil {
				b.Fatal(err)
			}
			if err := f.Close(); err != nil {
				b.Fatal(err)
			}
			operatorVerdicts(b, path)
		})
	}
	for _, name := range []string{"AR", "SE"} {
		path := largedata.Path(b, filepath.Join("data", "optrace", "trace-"+name+".parquet"))
		if _, err := os.Stat(path); err != nil {
			b.Logf("SKIPPED: no public trace %s, set SFSTAT_SHARED", name)
			continue
		}
		b.Run("public="+name, func(b *testing.B) { operatorVerdicts(b, path) })
	}
}

func operatorVerdicts(b *testing.B, path string) {
	var reading, computing time.Duration
	operators := 0
	b.ReportAllocs()
	for b.Loop() {
		start := time.Now()
		o, err := optrace.Open(path, ingest.Limits{})
		if err != nil {
			b.Fatal(err)
		}
		reading += time.Since(start)
		operators = o.Len()
		start = time.Now()
		s := diagnose.New(diagnose.Options{})
		if err := s.Add(o); err != nil {
			b.Fatal(err)
		}
		if v := s.Verdict(); len(v.Runs) == 0 {
			b.Fatal("no verdict")
		}
		computing += time.Since(start)
	}
	n := float64(b.N)
	b.ReportMetric(reading.Seconds()*1e3/n, "read-ms")
	b.ReportMetric(computing.Seconds()*1e3/n, "compute-ms")
	b.ReportMetric(float64((reading+computing).Nanoseconds())/n/float64(operators), "ns/operator")
}
