package delay

import (
	"math"
	"testing"
)

// TestEven: Pearson's χ² by SciPy: scipy.stats.chisquare([30, 25, 28, 17]) has p = 0.2702, [40, 25, 25, 10] has 0.00043984, [8, 6, 4, 5] 0.6773,
// and a third of its statistic 0.11161.
// Of correlated turns the statistic is as many times less; below five turns a rank nothing is tested.
func TestEven(t *testing.T) {
	for _, c := range []struct {
		turns      []int
		correlated float64
		p          float64
	}{
		{[]int{30, 25, 28, 17}, 1, 0.2702},
		{[]int{40, 25, 25, 10}, 1, 0.000439840},
		{[]int{40, 25, 25, 10}, 3, 0.111610},
		{[]int{5, 5, 5, 4}, 1, 0},
		{[]int{5, 5, 5, 5}, 1, 1},
		{[]int{8, 6, 4, 5}, 1, 0.677262},
	} {
		if f := rotation(c.turns, c.correlated); math.Abs(f.Even-c.p) > 1e-3*c.p+1e-9 {
			t.Errorf("%v, %g turns as one: P = %g, want %g", c.turns, c.correlated, f.Even, c.p)
		}
	}
}
