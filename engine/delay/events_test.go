package delay_test

import (
	"math"
	"testing"

	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/delay"
)

// TestEventsOfRank: stalls of one rank are one event of it, wherever in a step; the chance that they are all of one rank counts those of the others.
func TestEventsOfRank(t *testing.T) {
	twice := []longer{{[]int{2}, 0, 700, inSteps(20, 21)}, {[]int{2}, 1, 900, inSteps(40, 41)}}
	for name, c := range map[string]struct {
		faults []longer
		p      float64 // 6 times P(Bin(N, 1/6) ≥ 2)
	}{
		"two stages":         {twice, 1. / 6},
		"beside another":     {append([]longer{{[]int{4}, 1, 800, inSteps(10, 11)}}, twice...), 6 * (3*5./216 + 1./216)},
		"at once":            {append([]longer{{[]int{4}, 1, 800, inSteps(20, 21)}}, twice...), 1. / 6},
		"two steps together": {[]longer{{[]int{2}, 0, 700, inSteps(20, 22)}}, 1},
	} {
		run := byHand{ranks: 6, steps: 60, faults: c.faults}.run(0, 60)
		claims := analyzed(run, delay.Options{}).Claims
		if len(claims) == 0 || claims[0].Rank() != 2 || claims[0].Certainty != claim.Event || math.Abs(claims[0].P-c.p) > 1e-9 {
			t.Errorf("%s: %+v, want rank 2, p %v", name, claims, c.p)
			continue
		}
		if name == "two stages" && (len(claims) != 1 || claims[0].Steps.Count != 2 || claims[0].Steps.Incidents != 2 || claims[0].Size/1000 != 799_999 || len(claims[0].Parts) != 2) {
			t.Errorf("%s: %+v", name, claims)
		}
	}
}
