package delay

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestLevelsWithin: what is said to lie within a distance does, by the medians; small noise about one level is said to,
// and two levels never are.
func TestLevelsWithin(t *testing.T) {
	draw := rand.New(rand.NewPCG(5, 1))
	yes, no := 0, 0
	for _, steps := range []int{10, 61, 64, 130} {
		for range 60 {
			apart, noise := 100.0, 10+150*draw.Float64()
			rows, slow := [][]int64{}, draw.IntN(3)
			for range steps {
				row := make([]int64, 5)
				for r := range row {
					row[r] = int64(10_000 + noise*draw.NormFloat64())
					if r < slow {
						row[r] += 60
					}
				}
				rows = append(rows, row)
			}
			s := newSeries(division(0, rows), nil)
			var levels []float64
			for r := range s.Ranks {
				levels = append(levels, median(s.timesOf(0, r, nil)))
			}
			within, span := s.levelsWithin(0, apart), slices.Max(levels)-slices.Min(levels)
			switch {
			case within && span >= apart:
				t.Errorf("levels %v are said to lie within %g", levels, apart)
			case within:
				yes++
			case span < apart/4 && noise < 40:
				t.Errorf("levels %v, noise %.0f: not said to lie within %g", levels, noise, apart)
			default:
				no++
			}
		}
	}
	if yes < 20 || no < 20 {
		t.Errorf("%d within and %d not: one of them was not tried", yes, no)
	}
}
