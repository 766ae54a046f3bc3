package clock

import (
	"math"
	"math/rand/v2"
	"testing"
)

// points of a clock with noise, a tenth of them nonsense.
func points(rng *rand.Rand, n int, offset int64, drift float64) []Point {
	list := make([]Point, n)
	for i := range list {
		at := int64(1.7e18) + int64(i)*1_000_000
		list[i] = Point{At: at, Ahead: offset + int64(drift*float64(i)*1e6) + int64(rng.NormFloat64()*800)}
		if rng.IntN(10) == 0 {
			list[i].Ahead += rng.Int64N(20_000_000)
		}
	}
	return list
}

// Offset and drift come back within the noise; no drift is claimed where there is none.
func TestFit(t *testing.T) {
	claimed := 0
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 3))
		for _, drift := range []float64{0, 25e-6, -40e-6} {
			c := Fit(points(rng, 400, 2_400_000, drift))
			if middle := float64(c.AheadAt(c.Epoch+c.Span/2)-2_400_000) - drift*float64(c.Span/2); math.Abs(c.Drift-drift) > 2.5e-6 || math.Abs(middle) > 400 {
				t.Errorf("seed %d: offset %d, drift %g, want 2400000, %g", seed, c.Offset, c.Drift, drift)
			}
			if drift == 0 && c.Drifts {
				claimed++
			}
			if at := int64(1.7e18) + 200_000_000; c.Reference(at+c.AheadAt(at))-at > 1 || at-c.Reference(at+c.AheadAt(at)) > 1 {
				t.Errorf("there and back again is %d ns off", c.Reference(at+c.AheadAt(at))-at)
			}
		}
	}
	if claimed > 4 {
		t.Errorf("a drift is claimed for %d of 200 clocks without", claimed)
	}
}

// Too few points for a drift give the median offset, and so do points at one moment.
func TestFitOdd(t *testing.T) {
	few := []Point{{At: 0, Ahead: 10}, {At: 1000, Ahead: 30}, {At: 2000, Ahead: 900_000}}
	if c := Fit(few); c.Offset != 30 || c.Drifts || c.Points != 3 || c.Residual != 20 {
		t.Errorf("%+v", c)
	}
	if c := Fit(make([]Point, MinPoints)); c.Offset != 0 || c.Drifts {
		t.Errorf("%+v", c)
	}
}
