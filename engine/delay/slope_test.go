package delay

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/points"
)

// TestSubtractProgram: what recurs after up to twelve intervals is taken off, if that leaves two thirds or less.
func TestSubtractProgram(t *testing.T) {
	for name, c := range map[string]struct {
		period  int
		program float64 // in one interval of each period
		noise   float64 // up to so much either way
		off     bool
	}{
		"of four":           {4, 100, 1, true},
		"of twelve":         {12, 100, 1, true},
		"of thirteen":       {13, 100, 1, false},
		"none":              {4, 0, 1, false},
		"lost in the noise": {4, 8, 10, false},
	} {
		rng := rand.New(rand.NewPCG(1, 1))
		var at []int
		var x, y []float64
		for n := range 13 * 12 * 2 {
			v := c.noise * (2*rng.Float64() - 1)
			if n%c.period == 0 {
				v += c.program
			}
			at, x, y = append(at, n), append(x, v), append(y, -v)
		}
		before := slices.Clone(x)
		subtractProgram(at, x, y)
		largest := 0.0
		for _, v := range x {
			largest = max(largest, math.Abs(v))
		}
		if off := !slices.Equal(before, x); off != c.off || off && largest > c.program/2 {
			t.Errorf("%s: taken off %v, what is left is up to %.0f", name, off, largest)
		}
	}
}

// TestWhoWaitsToo: a peer waits in a piece too if that makes up for a tenth of each change in the rest of its cycle.
func TestWhoWaitsToo(t *testing.T) {
	for part, want := range map[float64]bool{0.11: true, 0.09: false} {
		rng := rand.New(rand.NewPCG(2, 2))
		const N = 128
		d := &points.Division{Ranks: 2, Intervals: N, Stages: make([]points.Stage, 3), Points: []points.Point{{Stage: 2}}, Pieces: []points.Piece{{Stage: 0}, {Stage: 1}},
			Work: [][]int64{make([]int64, 2*N), make([]int64, 2*N)}, Arrivals: [][]int64{make([]int64, 2*N)}, Spent: [][]int64{make([]int64, 2*N)}, After: [][]int64{make([]int64, N)}}
		for n := range N {
			d.Head, d.Tail = append(d.Head, n), append(d.Tail, n-1)
			for r, slope := range []float64{part, 1} {
				rest := 100e6 + 10e6*rng.Float64()
				d.Work[0][2*n+r], d.Work[1][2*n+r] = int64(rest), int64(300e6-slope*rest+1e3*rng.Float64())
				d.Arrivals[0][2*n+r] = d.Work[0][2*n+r] + d.Work[1][2*n+r]
			}
		}
		p := newSeries(d, nil).pace(cell{1, 1})
		if p == nil || (len(p.Peers) > 0) != want {
			t.Errorf("a peer that makes up for %v of its changes: %+v, want that it waits: %v", part, p, want)
		}
	}
}
