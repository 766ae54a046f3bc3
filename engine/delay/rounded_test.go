package delay_test

import (
	"testing"

	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/delay"
)

// roundDown cuts the times of steps of six ranks and four stages to whole units, ms, and, where they vary, lets the optimizer take a unit more in every tenth step.
func roundDown(run *delay.Run, unit int64, varies bool) {
	for i := range run.Durations {
		run.Durations[i] = run.Durations[i] / (unit * msec) * unit * msec
		if varies && i/24%10 == 0 && i/6%4 == 3 {
			run.Durations[i] += unit * msec
		}
	}
	run.Wall = nil
}

// TestRounded: of times in whole 20 ms, in steps of 125, a delay of one unit may be rounding alone and is not certain; of two it is. Of times in whole
// 10 ms, less than a tenth of a step, one unit is a delay like any other; and so it is where nothing varies, as in a table that somebody made up.
func TestRounded(t *testing.T) {
	for _, c := range []struct {
		unit, late int64
		varies     bool
		want       claim.Certainty
	}{{20, 20, true, claim.Event}, {20, 40, true, claim.Strong}, {5, 20, true, claim.Strong}, {10, 20, true, claim.Strong}, {20, 20, false, claim.Strong}} {
		run := byHand{ranks: 6, steps: 60, faults: []longer{{[]int{2}, 1, c.late, nil}}}.run(0, 60)
		roundDown(run, c.unit, c.varies)
		claims := analyzed(run, delay.Options{}).Claims
		if len(claims) == 0 || claims[0].Rank() != 2 || claims[0].Certainty != c.want {
			t.Errorf("%d ms in units of %d: %+v, want %v", c.late, c.unit, claims, c.want)
		}
	}
}

// TestRoundedEverywhere: steps that are one coarse unit longer on all ranks are as little certain.
func TestRoundedEverywhere(t *testing.T) {
	for late, want := range map[int64]claim.Certainty{20: claim.Event, 40: claim.Supported} {
		run := byHand{ranks: 6, steps: 60, faults: []longer{{[]int{-1}, 1, late, inSteps(30, 60)}}}.run(0, 60)
		roundDown(run, 20, true)
		claims := analyzed(run, delay.Options{}).Claims
		if len(claims) != 1 || claims[0].Kind != claim.Everyone || claims[0].Certainty != want {
			t.Errorf("%d ms: %+v, want %v", late, claims, want)
		}
	}
}
