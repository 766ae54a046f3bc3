package latent

import (
	"fmt"
	"testing"

	"github.com/sfstat/sfstat/engine/blocks"
	"github.com/sfstat/sfstat/internal/draws"
)

// TestHealthy: of healthy jobs, ranks as equal as they come or one at the margin, at most the level has anybody named,
// however long noise stays correlated.
func TestHealthy(t *testing.T) {
	n := draws.Of(t, 60, 2000)
	judged, named := 0, 0
	for seed := range n {
		j := job{Seed: 100 + seed, Steps: []int{40, 120, 400}[seed%3], Ranks: []int{2, 4, 8, 16}[seed%4], Phi: []int64{0, 512, 819, 972}[seed/3%4], Noise: []int64{20, 80, 160}[seed/5%3], Late: -1}
		if seed%7 == 0 {
			j.Late, j.By, j.Piece = 1, 1e6, seed%4
		}
		r := test(t, j.work())
		if r.Blocks.Refused == blocks.Judged {
			judged++
		}
		if len(certain(r)) > 0 {
			named++
		}
	}
	t.Logf("%d of %d judged jobs have a rank that differs", named, judged)
	if judged < n/2 {
		t.Errorf("%d of %d jobs are judged, want half", judged, n)
	}
	// Of as many at 0.05/6 more than this has a probability below 1e-4.
	if most := 3 + judged/60; named > most {
		t.Errorf("%d of %d judged jobs have a rank that differs, want at most %d", named, judged, most)
	}
}

// TestHealthyStages: of healthy pipelines, in which only the replicas of a stage are compared and nobody's waits are known, at most
// the level has anybody by distribution alone.
func TestHealthyStages(t *testing.T) {
	n := draws.Of(t, 60, 2000)
	judged, heard := 0, 0
	for seed := range n {
		j := job{Seed: 5000 + seed, Steps: []int{20, 40, 60, 120}[seed%4], Ranks: []int{8, 16, 32}[seed%3], Phi: []int64{0, 512, 819}[seed/3%3], Noise: []int64{20, 80, 160}[seed/5%3], Late: -1}
		if seed%4 == 0 {
			j.Late, j.By, j.Piece = 1, 1e6, seed%4
		}
		w := j.work()
		w.Points = 0
		for r := range j.Ranks {
			w.Peers = append(w.Peers, r/4)
		}
		r := test(t, w)
		if r.Blocks.Refused == blocks.Judged {
			judged++
		}
		if len(r.Claims()) > 0 {
			heard++
		}
	}
	t.Logf("%d of %d judged pipelines have a worker that differs", heard, judged)
	// Of as many at 0.05/6 more than this has a probability below 1e-3.
	if most := 4 + judged/60; heard > most {
		t.Errorf("%d of %d judged pipelines have a worker that differs, want at most %d", heard, judged, most)
	}
}

func BenchmarkTest(b *testing.B) {
	for _, j := range []job{{Ranks: 8, Steps: 120, Noise: 160, Late: -1}, {Ranks: 32, Steps: 120, Noise: 160, Late: -1}, {Ranks: 32, Steps: 120, Noise: 160, Late: 3, By: 3e6},
		{Ranks: 256, Steps: 120, Noise: 160, Late: -1}, {Ranks: 256, Steps: 120, Noise: 160, Late: 3, By: 3e6}, {Ranks: 8, Steps: 40000, Noise: 160, Late: -1}} {
		w := j.work()
		for _, k := range []int{0, 2} { // six pieces
			w.Pieces, w.Own = append(w.Pieces, Piece{Stage: len(w.Pieces)}), append(w.Own, w.Own[k])
		}
		b.Run(fmt.Sprintf("ranks=%d/steps=%d/late=%d", j.Ranks, j.Steps, j.Late), func(b *testing.B) {
			for b.Loop() {
				if _, err := Test(w, Options{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*6*j.Ranks*j.Steps), "ns/duration")
		})
	}
}
