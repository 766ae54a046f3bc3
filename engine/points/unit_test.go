package points

import (
	"math/rand/v2"
	"testing"
)

// TestUnit: the unit of which all times are whole multiples.
func TestUnit(t *testing.T) {
	for _, c := range []struct {
		times []int64
		want  int64
	}{{[]int64{120e6, 15e6, 0, 200e6}, 5e6}, {[]int64{3, 7}, 1}, {nil, 0}, {[]int64{0, 0}, 0}} {
		if got := Unit(c.times); got != c.want {
			t.Errorf("%v: %d, want %d", c.times, got, c.want)
		}
	}
}

// TestCoarse: of two ranks that arrive with 1 ms of noise, what is rounded to a hundredth of that shows where they wait, and what is
// rounded to ten times as much does not.
func TestCoarse(t *testing.T) {
	for unit, want := range map[int64]bool{1: false, 500: false, 10_000: false, 300_000: false, 10_000_000: true} {
		g := rand.New(rand.NewPCG(3, 3))
		var steps [][][]int64
		for range 60 {
			row := make([][]int64, 3)
			for k := range row {
				for range 4 {
					row[k] = append(row[k], (30_000_000+int64(1e6*g.NormFloat64()))/unit*unit)
				}
			}
			steps = append(steps, row)
		}
		if got := stepsOf(steps...).coarse(1); got != want {
			t.Errorf("a unit of %d ns: coarse %v, want %v", unit, got, want)
		}
	}
}
