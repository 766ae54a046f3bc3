package ks

import (
	"fmt"
	"github.com/sfstat/sfstat/engine/blocks"
	"runtime"
	"slices"
	"testing"
)

// benchmarkJob has as many completions per worker as steps × ops, in one shape
// of time for all workers.
func benchmarkJob(workers, steps, ops int) []Worker {
	return job{workers: workers, steps: steps, ops: ops}.run(source(1))
}

// BenchmarkAllPairs is all scores, beside the pairwise loop that one would
// write first (sorted times, one merge per pair), in pairs per second.
func BenchmarkAllPairs(b *testing.B) {
	for _, workers := range []int{64, 256, 1024, 2048, 4096} {
		in := benchmarkJob(workers, 1, 1000)
		pairs := float64(workers) * float64(workers-1) / 2
		run := func(name string, threads int, o Options) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(threads))
			b.Run(fmt.Sprintf("%s/workers=%d/points=1000", name, workers), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := Analyze(in, o); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(pairs*float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
			})
		}
		run("windows/threads=1", 1, Options{Replicates: NoTest})
		run(fmt.Sprintf("windows/threads=%d", runtime.GOMAXPROCS(0)), 0, Options{Replicates: NoTest})
		if workers <= 2048 {
			run(fmt.Sprintf("raw/threads=%d", runtime.GOMAXPROCS(0)), 0, Options{Window: 1, Replicates: NoTest})
		}
		if workers > 256 {
			continue
		}
		b.Run(fmt.Sprintf("loop/threads=1/workers=%d/points=1000", workers), func(b *testing.B) {
			for b.Loop() {
				pairwise(in)
			}
			b.ReportMetric(pairs*float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
		})
	}
}

// BenchmarkAnalyze is the whole comparison, up to as many workers as the test takes less than
// a second for; docs/figures/generate.sh draws it.
func BenchmarkAnalyze(b *testing.B) {
	for _, series := range []struct {
		name string
		most int
		Options
	}{{"distances and scores", 2048, Options{Replicates: NoTest}}, {"with the test", 512, Options{}}} {
		for workers := 8; workers <= series.most; workers *= 2 {
			in := benchmarkJob(workers, 8, 125)
			b.Run(fmt.Sprintf("%s/workers=%d", series.name, workers), func(b *testing.B) {
				for b.Loop() {
					if _, err := Analyze(in, series.Options); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// pairwise is the straightforward loop.
func pairwise(workers []Worker) []float64 {
	sorted := make([][]int64, len(workers))
	for w := range workers {
		sorted[w] = slices.Clone(workers[w].Steps[0].Done)
		slices.Sort(sorted[w])
	}
	scores := make([]float64, len(workers))
	for a := range sorted {
		for b := range a {
			x, y := sorted[a], sorted[b]
			gap, i, j := 0, 0, 0
			for i < len(x) && j < len(y) {
				t := min(x[i], y[j])
				for i < len(x) && x[i] == t {
					i++
				}
				for j < len(y) && y[j] == t {
					j++
				}
				gap = max(gap, i*len(y)-j*len(x), j*len(x)-i*len(y))
			}
			d := float64(gap) / float64(len(x)*len(y))
			scores[a] += d / float64(len(sorted)-1)
			scores[b] += d / float64(len(sorted)-1)
		}
	}
	return scores
}

// BenchmarkSlope doubles the windows: time should double.
func BenchmarkSlope(b *testing.B) {
	for _, points := range []int{500, 1000, 2000, 4000} {
		in := benchmarkJob(512, 1, points)
		b.Run(fmt.Sprintf("threads=1/workers=512/points=%d", points), func(b *testing.B) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
			o := Options{Window: 1_000_000, Replicates: NoTest}
			for b.Loop() {
				if _, err := Analyze(in, o); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(512*511/2*float64(points)*float64(b.N)/b.Elapsed().Seconds()/1e9, "Gpoints/s")
		})
	}
}

// BenchmarkTest is the permutation test alone, in permutations per second.
func BenchmarkTest(b *testing.B) {
	for _, workers := range []int{8, 128, 2048} {
		in := benchmarkJob(workers, 50, 20)
		b.Run(fmt.Sprintf("threads=%d/workers=%d/steps=50/ops=20", runtime.GOMAXPROCS(0), workers), func(b *testing.B) {
			o := Options{}
			s, err := newSample(in, o)
			if err != nil {
				b.Fatal(err)
			}
			p := s.newPermuter(s.groups(in)[0], blocks.Independent(50))
			d := p.newDepartures()
			b.ReportAllocs()
			for b.Loop() {
				d.drawDepartures(source(1))
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "permutations/s")
		})
	}
}
