package archive_test

import (
	"fmt"
	"io"
	"testing"

	"github.com/sfstat/sfstat/archive"
)

var benchShapes = []shape{{8, 60, .01, 1}, {128, 600, .01, 1}, {1024, 200, .01, 1}}

func durations(s shape) float64 { return float64(s.ranks * s.steps * (len(stages) + 1)) }

func BenchmarkRead(b *testing.B) {
	for _, s := range benchShapes {
		b.Run(fmt.Sprintf("ranks=%d/steps=%d", s.ranks, s.steps), func(b *testing.B) {
			data := write(b, synthesize(s, 1))
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := readAll(data); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(durations(s)*float64(b.N)/b.Elapsed().Seconds(), "durations/s")
			b.ReportMetric(float64(len(data))/durations(s), "B/duration")
		})
	}
}

func BenchmarkWrite(b *testing.B) {
	for _, s := range benchShapes {
		b.Run(fmt.Sprintf("ranks=%d/steps=%d", s.ranks, s.steps), func(b *testing.B) {
			w := synthesize(s, 1)
			b.ReportAllocs()
			for b.Loop() {
				a := archive.NewWriter(io.Discard)
				err := a.Write(w)
				if err == nil {
					err = a.Close()
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(durations(s)*float64(b.N)/b.Elapsed().Seconds(), "durations/s")
		})
	}
}
