package robust_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/internal/robust"
)

func TestMedians(t *testing.T) {
	for _, c := range []struct {
		name          string
		x             []float64
		lower, upper  float64
		median, mad   float64
		quarter, last float64
	}{
		{"none", nil, 0, 0, 0, 0, 0, 0},
		{"one", []float64{3}, 3, 3, 3, 0, 3, 3},
		{"two", []float64{4, 2}, 2, 4, 3, 1, 2.5, 4},
		{"odd", []float64{9, 1, 5}, 5, 5, 5, 4, 3, 9},
		{"even", []float64{8, 1, 2, 4}, 2, 4, 3, 2, 1.75, 8},
		{"unbounded", []float64{math.Inf(1), 1, 2}, 2, 2, 2, 1, 1.5, math.Inf(1)},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := func() []float64 { return append([]float64(nil), c.x...) }
			for what, pair := range map[string][2]float64{
				"lower": {robust.Lower(x()), c.lower}, "upper": {robust.Upper(x()), c.upper}, "median": {robust.Median(x()), c.median},
				"MAD": {robust.MAD(x(), c.median), c.mad}, "quarter": {robust.Quantile(x(), 0.25), c.quarter}, "last": {robust.Quantile(x(), 1), c.last},
			} {
				if pair[0] != pair[1] {
					t.Errorf("%s of %v is %v, want %v", what, c.x, pair[0], pair[1])
				}
			}
		})
	}
	if robust.MedianTime(nil) != 0 || robust.MedianTime([]int64{-1, -2}) != -2 {
		t.Error("the median of times is not rounded down")
	}
}

func Example() {
	steps := []float64{101, 99, 250, 100}
	fmt.Println(robust.Lower(steps), robust.Upper(steps), robust.Median(steps))
	// Output: 100 101 100.5
}

// TestMedianDistance: as Median, of few values and many, of which some are alike, 0 or beyond all bounds.
func TestMedianDistance(t *testing.T) {
	draw := rand.New(rand.NewPCG(3, 1))
	for n := range 70 {
		x := make([]float64, n)
		for i := range x {
			switch draw.IntN(8) {
			case 0:
				x[i] = 0
			case 1:
				x[i] = math.Inf(1)
			case 2:
				x[i] = 5
			default:
				x[i] = math.Exp(30 * draw.NormFloat64())
			}
		}
		if got, want := robust.MedianDistance(slices.Clone(x)), robust.Median(slices.Clone(x)); got != want {
			t.Errorf("of %d values %v, want %v", n, got, want)
		}
	}
}
