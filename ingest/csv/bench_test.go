package csv_test

import (
	"bytes"
	stdcsv "encoding/csv"
	"fmt"
	"io"
	"strconv"
	"testing"

	"github.com/sfstat/sfstat/ingest/csv"
	"github.com/sfstat/sfstat/ingest/ingesttest"
)

var benchShapes = []ingesttest.Shape{{Ranks: 8, Steps: 60, Stages: 5}, {Ranks: 128, Steps: 600, Stages: 5}}

func durations(s ingesttest.Shape) float64 { return float64(s.Ranks * s.Steps * (s.Stages + 1)) }

func BenchmarkRead(b *testing.B) {
	for _, s := range benchShapes {
		b.Run(fmt.Sprintf("ranks=%d/steps=%d", s.Ranks, s.Steps), func(b *testing.B) {
			data := write(b, ingesttest.Windows(1, 1, s)...)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				r, err := csv.NewReader(bytes.NewReader(data), "x", csv.Options{Unit: csv.Nanoseconds})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := ingesttest.ReadAll(r); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(durations(s)*float64(b.N)/b.Elapsed().Seconds(), "durations/s")
			b.ReportMetric(float64(len(data))/durations(s), "B/duration")
		})
	}
}

// BenchmarkStandardLibrary is what the splitter is measured against: the
// standard library's, and numbers by strconv, without making windows.
func BenchmarkStandardLibrary(b *testing.B) {
	s := benchShapes[1]
	data := write(b, ingesttest.Windows(1, 1, s)...)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		r := stdcsv.NewReader(bytes.NewReader(data))
		r.ReuseRecord = true
		if _, err := r.Read(); err != nil {
			b.Fatal(err)
		}
		for {
			cells, err := r.Read()
			if err == io.EOF {
				break
			}
			if err != nil {
				b.Fatal(err)
			}
			for _, c := range cells[5:11] {
				if _, err := strconv.ParseInt(c, 10, 64); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	b.ReportMetric(durations(s)*float64(b.N)/b.Elapsed().Seconds(), "durations/s")
}

func BenchmarkWrite(b *testing.B) {
	for _, s := range benchShapes {
		b.Run(fmt.Sprintf("ranks=%d/steps=%d", s.Ranks, s.Steps), func(b *testing.B) {
			w := ingesttest.Windows(1, 1, s)[0]
			b.ReportAllocs()
			for b.Loop() {
				c := csv.NewWriter(io.Discard)
				if err := c.Write(w); err != nil {
					b.Fatal(err)
				}
				if err := c.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(durations(s)*float64(b.N)/b.Elapsed().Seconds(), "durations/s")
		})
	}
}
