package delay_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/delay"
	"github.com/sfstat/sfstat/engine/points"
)

// TestStretches: a run that is looked at in stretches has the same findings as one that is looked at
// as a whole.
func TestStretches(t *testing.T) {
	const steps, each = 2048, 512
	for name, f := range map[string]fault{
		"always":     {ranks: []int{1}, stage: 1, ms: 40},
		"from k":     {ranks: []int{2}, stage: 0, ms: 60, on: func(s int) bool { return s >= 900 }},
		"a span":     {ranks: []int{2}, stage: 3, ms: 60, on: func(s int) bool { return s >= 400 && s < 1300 }},
		"periodic":   {ranks: []int{3}, stage: 0, ms: 900, on: func(s int) bool { return s%16 == 3 }},
		"irregular":  {ranks: []int{3}, stage: 0, ms: 400, on: func(s int) bool { return rand.New(rand.NewPCG(5, uint64(s))).IntN(9) == 0 }},
		"all slower": {ranks: []int{0, 1, 2, 3, 4, 5, 6, 7}, stage: 1, ms: 60, on: func(s int) bool { return s >= 1100 }},
		"nothing":    {},
	} {
		t.Run(name, func(t *testing.T) {
			run, _ := job{seed: 3, ranks: 8, steps: steps, noise: 0.02}.play(f)
			whole := analyzed(run, delay.Options{})
			var list []*delay.Stretch
			var found []points.Point
			per := len(run.Stages) * run.Ranks
			for from := 0; from < steps; from += each {
				part := *run
				part.Durations, part.Wall = run.Durations[from*per:(from+each)*per], run.Wall[from*run.Ranks:(from+each)*run.Ranks]
				o := delay.Options{}
				if len(list) > 0 {
					part.Known, o.Limits = found, delay.NoLimits
				}
				d := points.Divide(&part.Steps, points.Gates{})
				found = d.Points
				list = append(list, delay.LookAt(d, &part, o))
			}
			parts := delay.Join(list, delay.Options{})
			if parts.Steps != whole.Steps || len(parts.Claims) != len(whole.Claims) || !slices.EqualFunc(parts.Limits, whole.Limits, alikeLimits) {
				t.Fatalf("%d steps, findings %+v, limits %v; as a whole %d, %+v, %v", parts.Steps, parts.Claims, parts.Limits, whole.Steps, whole.Claims, whole.Limits)
			}
			for i := range whole.Claims {
				a, b := &whole.Claims[i], &parts.Claims[i]
				same := a.Kind == b.Kind && a.Cause == b.Cause && slices.Equal(a.Ranks, b.Ranks) && a.Parts[0].Stage == b.Parts[0].Stage && a.Certainty == b.Certainty
				near := math.Abs(a.Saves.Alone-b.Saves.Alone) < 0.01 && within(a.Steps.First, b.Steps.First, 2) && within(a.Steps.Last, b.Steps.Last, 2) && within(a.Steps.Count, b.Steps.Count, steps/100)
				if !same || !near || a.Steps.Pattern != b.Steps.Pattern || a.Steps.Period != b.Steps.Period {
					t.Errorf("in stretches %+v\nas a whole %+v", b, a)
				}
			}
		})
	}
}

func alikeLimits(a, b delay.Limit) bool {
	near := func(x, y int64) bool { return math.Abs(float64(x-y)) <= 0.3*float64(max(x, y)) }
	return a.Stage == b.Stage && near(a.Reported, b.Reported) && near(a.MayHide, b.MayHide)
}

func within(a, b, by int) bool { return max(a-b, b-a) <= by }
