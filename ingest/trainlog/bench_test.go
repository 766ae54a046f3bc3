package trainlog

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkRead reads logs of 4 ranks in which one line in 20 has the times of a step, and logs that have nothing else.
func BenchmarkRead(b *testing.B) {
	const (
		times = "[XTuner][RANK %d][2026-05-14 10:00:00][INFO] [Train] (Epoch 1) Step %d/500  data_time: %.3f  lr: 0.000010  time: %.3f  text_tokens: 65536  img_tokens: 0.0  tgs: 172.0\n"
		other = "[2026-05-14 10:00:00][INFO] [RANK 3] checkpoint iter_0001200 of step 1200 written to /data/checkpoints/run-7 in the time given\n"
	)
	for name, between := range map[string]int{"times": 0, "mixed": 19} {
		var s strings.Builder
		for step := range 2000 {
			for rank := range 4 {
				fmt.Fprintf(&s, times, rank, step, 0.003, 0.381)
			}
			s.WriteString(strings.Repeat(other, 4*between))
		}
		text := s.String()
		b.Run("lines="+name, func(b *testing.B) {
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
}
