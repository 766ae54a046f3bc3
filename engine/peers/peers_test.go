package peers

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

func ExampleCompare() {
	clocks := []float64{1755, 1755, 1740, 1755, 1770, 1755, 1755} // MHz, of the other GPUs
	r := Compare(1005, clocks, Options{Direction: Lower, Resolution: 15})
	fmt.Printf("%.0f MHz, others %.0f (%.0f to %.0f), p < 1e-6: %v\n", r.Own, r.Median, r.Low, r.High, r.P < 1e-6)
	// Output:
	// 1005 MHz, others 1755 (1740 to 1770), p < 1e-6: true
}

// TestLevel: of healthy normal units, no more than the level are found to differ,
// however few peers there are.
func TestLevel(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const draws = 20000
	for _, n := range []int{4, 5, 7, 8, 15, 31, 127} {
		for _, level := range []float64{0.05, 0.01} {
			hits := 0
			peers := make([]float64, n)
			for range draws {
				for i := range peers {
					peers[i] = rng.NormFloat64()
				}
				if Compare(rng.NormFloat64(), peers, Options{}).P <= level {
					hits++
				}
			}
			// Three standard deviations of a binomial count.
			if most := level*draws + 3*math.Sqrt(level*draws); float64(hits) > most {
				t.Errorf("n=%d level=%v: %d of %d, expected at most %.0f", n, level, hits, draws, most)
			}
		}
	}
}

func TestCompare(t *testing.T) {
	flat := []float64{10, 10, 10, 10, 10}
	for _, c := range []struct {
		name    string
		own     float64
		peers   []float64
		o       Options
		extreme bool
		tested  bool
		low     float64 // bounds of P
		high    float64
	}{
		{"as its peers", 10, flat, Options{}, false, true, 1, 1},
		{"no spread and no resolution", 10.1, flat, Options{}, true, true, 0, 0},
		{"within the resolution", 10.1, flat, Options{Resolution: 1}, true, true, 0.8, 1},
		{"far beyond the resolution", 40, flat, Options{Resolution: 1}, true, true, 0, 1e-4},
		{"the other direction", 40, flat, Options{Direction: Lower, Resolution: 1}, false, true, 1, 1},
		{"another with the same fault", 40, []float64{10, 10, 11, 9, 10, 41, 10}, Options{}, false, true, 0, 0.02},
		{"one peer", 40, []float64{10}, Options{}, true, false, 1, 1},
		{"three peers", 40, []float64{10, 10, 10}, Options{}, true, false, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := Compare(c.own, c.peers, c.o)
			if r.Extreme != c.extreme || r.Tested != c.tested || r.P < c.low || r.P > c.high {
				t.Errorf("%+v, expected extreme %v, tested %v, P in [%v, %v]", r, c.extreme, c.tested, c.low, c.high)
			}
		})
	}
}
