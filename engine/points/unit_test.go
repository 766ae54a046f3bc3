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

// TestRoundedByRole: where rounding hides who arrives when, ranks are taken to meet where gradients are reduced, and nowhere where no stage
// has that role.
func TestRoundedByRole(t *testing.T) {
	g := rand.New(rand.NewPCG(8, 8))
	var steps [][][]int64
	for range 80 { // rank 1 takes 80 ms longer in c; all leave b together; times in units of 10 ms
		a, c, b := make([]int64, 4), make([]int64, 4), make([]int64, 4)
		last := int64(0)
		for r := range a {
			a[r], c[r] = 60_000_000+int64(2e6*g.NormFloat64()), 20_000_000+int64(1e6*g.NormFloat64())
			if r == 1 {
				c[r] += 80_000_000
			}
			last = max(last, a[r]+c[r])
		}
		for r := range b {
			b[r] = (last + 100_000_000 - a[r] - c[r]) / 10_000_000 * 10_000_000
			a[r], c[r] = a[r]/10_000_000*10_000_000, c[r]/10_000_000*10_000_000
		}
		steps = append(steps, [][]int64{a, b, c})
	}
	s := stepsOf(steps...)
	if got := Find(s, Gates{}).Points; len(got) > 0 && got[0].Evidence.Sure() {
		t.Errorf("without a role: %+v, want nothing shown", got)
	}
	s.Stages[1].Role = Backward
	if got := Find(s, Gates{}).Points; len(got) != 1 || got[0].Stage != 1 || got[0].Evidence != Likely {
		t.Errorf("with a role: %+v, want the second stage, likely", got)
	}
}
