package comm

import (
	"math"
	"testing"

	"github.com/sfstat/sfstat/fixtures/comm/commtest"
)

// TestBandwidthOfTheThesis: by equation 4.10 it is the bytes of a call over its kernel's own time, whenever the last rank came.
func TestBandwidthOfTheThesis(t *testing.T) {
	r, err := Analyze(commtest.Job(t, commtest.Logs, commtest.Exports), Options{Theory: Theory{Convention: Thesis}})
	if err != nil {
		t.Fatal(err)
	}
	moves, measured := movesOf(r), 0
	for i := range r.Ranks {
		for k, kernel := range r.Kernels(i) {
			x := moves[site{i, k}]
			if x == nil || x.Measure == nil {
				continue
			}
			measured++
			want := float64(x.Bytes) / float64(kernel.End-kernel.Start)
			if math.Abs(x.Measure.Algorithm/want-1) > 1e-9 {
				t.Fatalf("rank %d, kernel %d: %v GB/s, want %v", i, k, x.Measure.Algorithm, want)
			}
		}
	}
	if measured != 132 {
		t.Errorf("%d kernels measured", measured)
	}
}
