package delay_test

import (
	"math"
	"math/rand/v2"
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

// TestRoundingHides: a delay of one and a half units of one rank is certain where its times vary by 0.3 units and more, since the means over steps are right
// then; where they do not vary it may be rounding alone, and so may any delay up to a unit be in a stage. What is said to hide is no less than two means
// are off by, at whatever place between two units they lie.
func TestRoundingHides(t *testing.T) {
	const unit = 10 * msec
	for _, sigma := range []float64{0, 0.1, 0.2, 0.3, 0.4} {
		rng := rand.New(rand.NewPCG(7, uint64(10*sigma)))
		rounded := func(units float64) int64 { return int64(math.Round(units+sigma*rng.NormFloat64())) * unit }
		off := 0.0
		for place := 0.05; place < 1; place += 0.1 {
			sum := 0.0
			for range 4000 {
				sum += float64(rounded(3+place))/unit - 3 - place
			}
			off = max(off, 2*math.Abs(sum/4000))
		}
		run := byHand{ranks: 6, steps: 300}.run(0, 300)
		run.Wall = nil
		for i := range run.Durations {
			switch stage, rank := i/6%4, i%6; {
			case stage == 1 && rank == 2:
				run.Durations[i] = rounded(3.7 + 1.5)
			case stage == 1:
				run.Durations[i] = rounded(3.7)
			default:
				run.Durations[i] = run.Durations[i] / unit * unit
			}
		}
		r := analyzed(run, delay.Options{MinGain: 0.05})
		hides := float64(r.Rounded[1]) / unit
		if hides < off-0.05 || sigma == 0 && hides != 1 || sigma > 0.35 && hides > 0.1 {
			t.Errorf("σ of %v units: %v units are said to hide, means are off by %v", sigma, hides, off)
		}
		certain := len(r.Claims) > 0 && r.Claims[0].Rank() == 2 && r.Claims[0].Certainty > claim.Event
		if certain != (sigma > 0.25) {
			t.Errorf("σ of %v units: %+v", sigma, r.Claims)
		}
		if l := r.Limits[0]; l.Rounded != unit { // data, which does not vary
			t.Errorf("σ of %v units: %+v", sigma, l)
		}
	}
}
