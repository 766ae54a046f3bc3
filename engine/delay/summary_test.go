package delay_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/delay"
	"github.com/sfstat/sfstat/engine/points"
)

// stretchesOf looks at a run in stretches of as many steps.
func stretchesOf(run *delay.Run, each int) (list []*delay.Stretch) {
	var found []points.Point
	per := len(run.Stages) * run.Ranks
	for from := 0; from < run.Len(); from += each {
		part := *run
		part.Durations = run.Durations[from*per : (from+each)*per]
		if run.Wall != nil {
			part.Wall = run.Wall[from*run.Ranks : (from+each)*run.Ranks]
		}
		o := delay.Options{}
		if len(list) > 0 {
			part.Known, o.Limits = found, delay.NoLimits
		}
		d := points.Divide(&part.Steps, points.Gates{})
		found = d.Points
		list = append(list, delay.LookAt(d, &part, o))
	}
	return list
}

// TestSummaries finds in a run whose stretches were summarised what it finds in the stretches, and changes of level within a block.
func TestSummaries(t *testing.T) {
	const steps, each = 8192, 1024
	all, spread := []int{0, 1, 2, 3}, func(s int) bool { return rand.New(rand.NewPCG(5, uint64(s))).IntN(40) == 0 }
	for name, c := range map[string]struct {
		f     []fault
		ranks int
		want  int // claims about all ranks
	}{
		"nothing":               {nil, 4, 0},
		"a rank":                {[]fault{{ranks: []int{1}, stage: 1, ms: 40}}, 4, 0},
		"all from k":            {[]fault{{ranks: all, stage: 1, ms: 60, on: func(s int) bool { return s >= 4500 }}}, 4, 1},
		"all for a while":       {[]fault{{ranks: all, stage: 1, ms: 60, on: func(s int) bool { return s >= 2000 && s < 5500 }}}, 4, 1},
		"all more and more":     {[]fault{{ranks: all, stage: 1, size: func(s int) float64 { return 100 * float64(s) / steps }}}, 4, 1},
		"all every 64th":        {[]fault{{ranks: all, stage: 0, ms: 2000, on: func(s int) bool { return s%64 == 3 }}}, 4, 1},
		"all now and then":      {[]fault{{ranks: all, stage: 0, ms: 1000, on: spread}}, 4, 1},
		"two of these":          {[]fault{{ranks: all, stage: 0, ms: 1000, on: spread}, {ranks: all, stage: 1, ms: 60, on: func(s int) bool { return s >= 4500 }}}, 4, 2},
		"all, mostly later":     {[]fault{{ranks: all, stage: 0, ms: 500, on: func(s int) bool { return spread(s) && (s >= 3072 || s%2 > 0) }}}, 4, 1},
		"all, too seldom":       {[]fault{{ranks: all, stage: 0, ms: 500, on: func(s int) bool { return spread(s) && s < 3072 }}}, 4, 0},
		"one rank, from k":      {[]fault{{ranks: all[:1], stage: 1, ms: 60, on: func(s int) bool { return s >= 4500 }}}, 1, 1},
		"one rank, every 100th": {[]fault{{ranks: all[:1], stage: 0, ms: 2000, on: func(s int) bool { return s%100 == 7 }}}, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			run, _ := job{seed: 3, ranks: c.ranks, steps: steps, noise: 0.02}.play(c.f...)
			full := delay.Join(stretchesOf(run, each), delay.Options{})
			list := stretchesOf(run, each)
			delay.Summarise(list[:3], delay.Options{})
			delay.Summarise(list[3:6], delay.Options{})
			got := delay.Join(list, delay.Options{})
			if again := delay.Join(list, delay.Options{}); len(again.Claims) != len(got.Claims) {
				t.Errorf("%d claims, joined again %d", len(got.Claims), len(again.Claims))
			}
			sameRun(t, full, got)
			shared := 0
			for i := range min(len(full.Claims), len(got.Claims)) {
				if len(c.f) < 2 { // the search of all steps charges what is slow now and then to the change as well
					sameClaim(t, &full.Claims[i], &got.Claims[i])
				}
				if got.Claims[i].Kind == claim.Everyone && got.Claims[i].Cause != claim.StartUp {
					shared++
				}
			}
			if len(full.Claims) != len(got.Claims) || shared != c.want {
				t.Errorf("claims %+v, in full %+v", got.Claims, full.Claims)
			}
		})
	}
}

// sameRun fails where the figures of a run differ.
func sameRun(t *testing.T, full, got *delay.Result) {
	t.Helper()
	near := func(a, b int64) bool { return math.Abs(float64(a-b)) <= 0.03*math.Abs(float64(a)) }
	if full.Steps != got.Steps || full.Whole != got.Whole || full.Joint != got.Joint || !near(full.Step, got.Step) || !slices.EqualFunc(full.Typical, got.Typical, near) {
		t.Errorf("%d steps of %d, typical %v; in full %d of %d, %v", got.Steps, got.Step, got.Typical, full.Steps, full.Step, full.Typical)
	}
	if full.Alone != nil && (got.Alone == nil || full.Alone.StartUp != got.Alone.StartUp || !slices.EqualFunc(full.Alone.Mean, got.Alone.Mean, near)) {
		t.Errorf("alone %+v, in full %v", got.Alone, full.Alone.Mean)
	}
}

// sameClaim fails where a claim of summaries differs from one of all steps by more than a block.
func sameClaim(t *testing.T, full, got *claim.Claim) {
	t.Helper()
	a, b := full, got
	same := a.Kind == b.Kind && a.Cause == b.Cause && slices.Equal(a.Ranks, b.Ranks) && a.Parts[0].Stage == b.Parts[0].Stage && a.Certainty == b.Certainty && a.Grows == b.Grows
	near := math.Abs(a.Saves.Alone-b.Saves.Alone) < 0.01 && within(a.Steps.First, b.Steps.First, 64) && within(a.Steps.Last, b.Steps.Last, 64) &&
		within(a.Steps.Count, b.Steps.Count, 82) && a.Steps.Of == b.Steps.Of
	costs := math.Abs(float64(a.Charged()-b.Charged())) < 0.05*float64(a.Charged()) && math.Abs(float64(a.Size-b.Size)) < 0.05*float64(a.Size)
	levels := math.Abs(float64(a.Before-b.Before)) <= 0.02*float64(a.Before) && math.Abs(float64(a.From-b.From)) <= 0.02*float64(a.From)
	if !same || !near || !costs || !levels || a.Steps.Pattern != b.Steps.Pattern || a.Steps.Period != b.Steps.Period || len(a.Steps.List) != len(b.Steps.List) {
		a.Steps.List, b.Steps.List = nil, nil
		t.Errorf("summarised %+v\nin full %+v", *b, *a)
	}
}
