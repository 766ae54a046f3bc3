package frontier

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/sfstat/sfstat/eval/simulate"
)

// sink keeps results alive.
var sink int64

// BenchmarkCore is the frontier core over a window in memory, beside a
// plain read of the same bytes: their ratio is the share of the machine's
// streaming-read bandwidth that the core reaches.
func BenchmarkCore(b *testing.B) {
	// Every shape holds the same number of durations, 256 MiB, so that they
	// come from memory and not from a cache.
	const durations = 32 << 20
	for _, shape := range []struct{ ranks, stages int }{
		{8, 6}, {32, 6}, {128, 6}, {1024, 6}, {4096, 6}, {16384, 6}, {1024, 3}, {1024, 24},
	} {
		per := shape.stages * shape.ranks
		steps := durations / per
		w := randomWindow(rand.New(rand.NewPCG(1, 2)), 1, shape.stages, shape.ranks)
		d := make([]int64, steps*per)
		for i := range d {
			d[i] = w.Durations[i%per]
		}
		name := fmt.Sprintf("ranks=%d/stages=%d/steps=%d", shape.ranks, shape.stages, steps)
		rate := func(b *testing.B) {
			b.ReportMetric(float64(len(d))*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mdurations/s")
		}
		b.Run("core/"+name, func(b *testing.B) {
			core := NewCore(shape.stages, shape.ranks)
			b.SetBytes(int64(8 * len(d)))
			b.ReportAllocs()
			for b.Loop() {
				for t := range steps {
					core.AddStep(d[t*per : (t+1)*per])
				}
			}
			sink += core.Makespan
			rate(b)
		})
		b.Run("read/"+name, func(b *testing.B) {
			b.SetBytes(int64(8 * len(d)))
			for b.Loop() {
				sink += readAll(d)
			}
			rate(b)
		})
	}
}

// readAll reads every byte once, with the vectorised count of the standard
// library: the fastest plain read there is without cgo.
func readAll(d []int64) int64 {
	b := unsafe.Slice((*byte)(unsafe.Pointer(&d[0])), 8*len(d))
	return int64(bytes.Count(b, []byte{0x5a}))
}

// BenchmarkAnalyze is the whole account of a window: both cuts, meetings,
// gains and blame.
func BenchmarkAnalyze(b *testing.B) {
	for _, ranks := range []int{8, 128, 1024, 4096} {
		steps := min(600, 600*1024/ranks)
		b.Run(fmt.Sprintf("ranks=%d/stages=5/steps=%d", ranks, steps), func(b *testing.B) {
			s := simulate.DefaultSpec()
			s.Ranks, s.Schedule.Steps, s.Seed = ranks, steps, 1
			s.Faults = []simulate.Fault{{Family: simulate.CallbackHost, Delay: 120, Ranks: []int{ranks / 2}}}
			g, err := simulate.New(s)
			if err != nil {
				b.Fatal(err)
			}
			w, err := g.Next()
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Analyze(w, Options{}); err != nil {
					b.Fatal(err)
				}
			}
			n := len(w.Durations) + len(w.Wall)
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mdurations/s")
		})
	}
}
