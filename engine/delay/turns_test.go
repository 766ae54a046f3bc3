package delay_test

import (
	"math"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/delay"
)

// TestTurnsAreCounted: whose turn it was is counted as planted, and turns are even only where all ranks take them.
func TestTurnsAreCounted(t *testing.T) {
	const ranks = 4
	for name, c := range map[string]struct {
		steps int
		whose func(step int) int
		late  []int // ranks, ascending
		even  bool
	}{
		"all four by turns":            {120, func(t int) int { return t % 4 }, []int{0, 1, 2, 3}, true},
		"two of four by turns of one":  {120, func(t int) int { return 1 + 2*(t%2) }, []int{1, 3}, false},
		"two of four by turns of four": {15, func(t int) int { return 1 + 2*(t/4%2) }, []int{1, 3}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var faults []fault
			for r := range ranks {
				faults = append(faults, fault{ranks: []int{r}, stage: 1, ms: 90, on: func(step int) bool { return c.whose(step) == r }})
			}
			run, _ := job{seed: 2, ranks: ranks, steps: c.steps, noise: 0.01}.play(faults...)
			list := analyzed(run, delay.Options{}).Claims
			i := slices.IndexFunc(list, func(f claim.Claim) bool { return f.Cause == claim.Turns })
			if i < 0 {
				t.Fatalf("no turns in %+v", list)
			}
			planted := map[int]int{}
			for step := range c.steps {
				planted[c.whose(step)]++
			}
			var late []int
			for _, turn := range list[i].Turns {
				late = append(late, turn.Rank)
				if math.Abs(float64(turn.N-planted[turn.Rank])) > 1 { // the last step ends after the last point
					t.Errorf("rank %d is late in %d steps, planted in %d", turn.Rank, turn.N, planted[turn.Rank])
				}
			}
			if slices.Sort(late); !slices.Equal(late, c.late) || (list[i].Even > 0.05) != c.even {
				t.Errorf("late %v, even by P = %g; want %v, %v", late, list[i].Even, c.late, c.even)
			}
		})
	}
}
