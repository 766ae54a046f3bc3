package bench

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sfstat/sfstat/archive"
	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/ingest/csv"
	"github.com/sfstat/sfstat/ingest/packet"
	"github.com/sfstat/sfstat/trace"
)

// window is 600 steps of 128 ranks with one slow rank.
func window(b *testing.B) *trace.Window {
	b.Helper()
	s := simulate.DefaultSpec()
	s.Ranks, s.Schedule.Steps, s.Seed = 128, 600, 1
	s.Faults = []simulate.Fault{{Family: simulate.CallbackHost, Delay: 120, Ranks: []int{77}}}
	g, err := simulate.New(s)
	if err != nil {
		b.Fatal(err)
	}
	w, err := g.Next()
	if err != nil {
		b.Fatal(err)
	}
	return w
}

// windowWriter is what the three formats' writers have in common.
type windowWriter interface {
	Write(*trace.Window) error
	Close() error
}

// unbuffered is a writer that has nothing to close.
type unbuffered struct{ *packet.Writer }

func (unbuffered) Close() error { return nil }

// BenchmarkDiagnose goes from a file to a verdict, and splits the time between
// reading and computing: read-ms and compute-ms are per verdict.
func BenchmarkDiagnose(b *testing.B) {
	w := window(b)
	formats := []struct {
		name string
		open func(io.Writer) (windowWriter, error)
	}{
		{"parquet", func(out io.Writer) (windowWriter, error) { return archive.NewWriter(out), nil }},
		{"jsonl", func(out io.Writer) (windowWriter, error) { return unbuffered{packet.NewWriter(out)}, nil }},
		{"csv", func(out io.Writer) (windowWriter, error) { return csv.NewWriter(out), nil }},
	}
	for _, f := range formats {
		b.Run("format="+f.name+"/ranks=128/steps=600", func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "window."+f.name)
			size := write(b, path, w, f.open)
			durations := float64(len(w.Durations) + len(w.Wall))
			var reading, computing time.Duration
			b.SetBytes(size)
			b.ReportAllocs()
			for b.Loop() {
				r, c := verdict(b, path)
				reading += r
				computing += c
			}
			n := float64(b.N)
			b.ReportMetric(reading.Seconds()*1e3/n, "read-ms")
			b.ReportMetric(computing.Seconds()*1e3/n, "compute-ms")
			b.ReportMetric(float64(size)/durations, "bytes/duration")
			b.ReportMetric(durations*n/reading.Seconds()/1e6, "Mdurations/s-read")
		})
	}
}

func write(b *testing.B, path string, w *trace.Window, open func(io.Writer) (windowWriter, error)) int64 {
	b.Helper()
	out, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	to, err := open(out)
	if err != nil {
		b.Fatal(err)
	}
	if err := errors.Join(to.Write(w), to.Close(), out.Close()); err != nil {
		b.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	return info.Size()
}

// verdict is what the diagnose command does with one file.
func verdict(b *testing.B, path string) (reading, computing time.Duration) {
	begin := time.Now()
	in, err := auto.Open([]string{path}, auto.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer in.Close()
	s := diagnose.New(diagnose.Options{})
	for {
		item, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			b.Fatal(err)
		}
		reading += time.Since(begin)
		begin = time.Now()
		if err := s.Add(item.Windows[0]); err != nil {
			b.Fatal(err)
		}
		computing += time.Since(begin)
		begin = time.Now()
	}
	reading += time.Since(begin)
	begin = time.Now()
	v := s.Verdict()
	computing += time.Since(begin)
	if len(v.Findings) == 0 || v.Findings[0].Rank == nil || *v.Findings[0].Rank != 77 {
		b.Fatalf("the verdict is %v", v.Status)
	}
	return reading, computing
}
