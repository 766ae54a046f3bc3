package trainlog

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkRead reads logs of 4 ranks in which one line in 20 has the times of a step, and logs that have nothing else: of one time a line
// and of three.
func BenchmarkRead(b *testing.B) {
	const (
		one   = "[XTuner][RANK %d][2026-05-14 10:00:00][INFO] [Train] (Epoch 1) Step %d/500  time: %.3f  lr: 0.000010  text_tokens: 65536  img_tokens: 0.0  tgs: 172.0\n"
		three = "[rank%d]: step %d data_time: %.4f forward_time: 0.1012 time: 0.4837\n"
		other = "[2026-05-14 10:00:00][INFO] [RANK 3] checkpoint iter_0001200 of step 1200 written to /data/checkpoints/run-7 in the time given\n"
	)
	for _, c := range []struct {
		name, line string
		between    int
	}{{"one", one, 0}, {"three", three, 0}, {"mixed", three, 19}} {
		var s strings.Builder
		for step := range 2000 {
			for rank := range 4 {
				fmt.Fprintf(&s, c.line, rank, step, 0.381)
			}
			s.WriteString(strings.Repeat(other, 4*c.between))
		}
		benchmarkRead(b, "times="+c.name, s.String())
	}
}

// BenchmarkDialects reads logs of nothing but the lines of a dialect.
func BenchmarkDialects(b *testing.B) {
	for _, d := range standard().list {
		if !d.Skip && (d.Pairs || len(d.times) > 0 || d.Stamps) {
			benchmarkRead(b, "dialect="+strings.ReplaceAll(d.Dialect, " ", "-"), strings.Repeat(d.Sample+"\n", 8000))
		}
	}
}

func benchmarkRead(b *testing.B, name, text string) {
	b.Run(name, func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			var x Builder
			if err := x.Read(strings.NewReader(text), "train.log", -1, ""); err != nil {
				b.Fatal(err)
			}
		}
	})
}
