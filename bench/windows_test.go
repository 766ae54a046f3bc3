package bench

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/sfstat/sfstat/archive"
	"github.com/sfstat/sfstat/batch"
	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/internal/flatrow"
	"github.com/sfstat/sfstat/trace"
)

// fleet is runs of ten windows of 32 ranks and 120 steps each, half of them with a
// slow rank.
func fleet(b *testing.B, runs int) [][]*trace.Window {
	b.Helper()
	faults := []simulate.Fault{{}, {Family: simulate.CallbackHost, Delay: 30, Ranks: []int{5}}, {}, {Family: simulate.Data, Delay: 60, Ranks: []int{17}}}
	out := make([][]*trace.Window, runs)
	for i := range out {
		s := simulate.DefaultSpec()
		s.Run, s.Ranks, s.Schedule.Windows, s.Seed = fmt.Sprintf("job-%d", i), 32, 10, uint64(i)
		if f := faults[i%len(faults)]; f.Delay > 0 {
			s.Faults = []simulate.Fault{f}
		}
		g, err := simulate.New(s)
		if err != nil {
			b.Fatal(err)
		}
		for {
			w, err := g.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				b.Fatal(err)
			}
			out[i] = append(out[i], w)
		}
	}
	return out
}

// BenchmarkWindows is how many windows of an archive are summed, read, or judged a
// second. What summing takes is the yardstick for the rest: a query over the same
// durations needs no less.
func BenchmarkWindows(b *testing.B) {
	runs := fleet(b, 8)
	n := 0
	for _, run := range runs {
		n += len(run)
	}
	rate := func(b *testing.B) { b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "windows/s") }
	b.Run("what=sum", func(b *testing.B) {
		total := int64(0)
		for b.Loop() {
			for _, run := range runs {
				for _, w := range run {
					for _, d := range w.Durations {
						total += d
					}
				}
			}
		}
		rate(b)
	})
	b.Run("what=read", func(b *testing.B) {
		file := archived(b, runs)
		b.SetBytes(int64(len(file)))
		for b.Loop() {
			readAll(b, file)
		}
		rate(b)
	})
	for _, e := range []struct {
		name    string
		options diagnose.Options
	}{{"whole", diagnose.Options{}}, {"brief", diagnose.Options{Brief: true, Alone: true}}} {
		b.Run("what=judge/account="+e.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for _, run := range runs {
					judge(b, e.options, run)
				}
			}
			rate(b)
		})
	}
}

// BenchmarkBatch is how many windows a second go from files to findings.
func BenchmarkBatch(b *testing.B) {
	dir, n := b.TempDir(), 0
	for i, run := range fleet(b, 8) {
		n += len(run)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("run-%d.parquet", i)), archived(b, [][]*trace.Window{run}), 0o666); err != nil {
			b.Fatal(err)
		}
	}
	for _, threads := range []int{1, 2} {
		b.Run(fmt.Sprintf("threads=%d", threads), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				o := batch.Options{Threads: threads, Output: batch.Output{Path: filepath.Join(dir, "findings.csv"), Format: flatrow.CSV}}
				if s, err := batch.Run(b.Context(), []string{dir}, o); err != nil || s.Windows != n {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "windows/s")
		})
	}
}

func archived(b *testing.B, runs [][]*trace.Window) []byte {
	b.Helper()
	var file bytes.Buffer
	out := archive.NewWriter(&file)
	for _, run := range runs {
		for _, w := range run {
			if err := out.Write(w); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := out.Close(); err != nil {
		b.Fatal(err)
	}
	return file.Bytes()
}

func readAll(b *testing.B, file []byte) {
	r, err := archive.NewReader(bytes.NewReader(file), int64(len(file)), "windows.parquet", ingest.Limits{})
	for err == nil {
		_, err = r.Next()
	}
	if !errors.Is(err, io.EOF) {
		b.Fatal(err)
	}
}

func judge(b *testing.B, o diagnose.Options, run []*trace.Window) {
	s := diagnose.New(o)
	for _, w := range run {
		if err := s.Add(w); err != nil {
			b.Fatal(err)
		}
	}
	if v := s.Verdict(); len(v.Runs) != 1 {
		b.Fatalf("%d runs", len(v.Runs))
	}
}
