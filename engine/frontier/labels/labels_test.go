package labels

import (
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/gates"
)

// exposed returns evidence of 8 ranks for a strong label: the first of five stages has half of the makespan, and fixing
// it gains 0.3.
func exposed() Evidence {
	return Evidence{Ranks: 8, Shares: []float64{0.5, 0.125, 0.125, 0.125, 0.125}, Gains: []float64{0.3, 0, 0, 0, 0}, Forward: []int{0}}
}

// TestGates: at each gate the labels flip: 5 % below it and 5 % above it they differ.
func TestGates(t *testing.T) {
	label := func(l Label) func(Decision) bool {
		return func(d Decision) bool { return slices.Contains(d.Labels, l) }
	}
	reason := func(r Reason) func(Decision) bool {
		return func(d Decision) bool { return slices.Contains(d.Reasons, r) }
	}
	g := gates.Default()
	rest := func(x float64) []float64 { return []float64{x, (1 - x) / 4, (1 - x) / 4, (1 - x) / 4, (1 - x) / 4} }
	for name, c := range map[string]struct {
		gate  float64
		set   func(e *Evidence, x float64)
		holds func(Decision) bool // above the gate, and not below it
	}{
		"dominance":         {0.40, func(e *Evidence, x float64) { e.Shares = rest(x) }, label(DirectExposure)},
		"gain":              {0.10, func(e *Evidence, x float64) { e.Gains[0] = x }, label(DirectExposure)},
		"gain, reason":      {0.10, func(e *Evidence, x float64) { e.Gains[0] = 0.2 - x }, reason(LowGainNoModelFit)},
		"a tie of shares":   {0.05, func(e *Evidence, x float64) { e.Shares = []float64{0.45, 0.45 - x, 0.1 + x} }, label(DirectExposure)},
		"a tie of gains":    {0.05, func(e *Evidence, x float64) { e.Gains[1] = e.Gains[0] - x }, label(DirectExposure)},
		"idle stages tie":   {0.05, func(e *Evidence, x float64) { e.Gains, e.Shares[1] = make([]float64, 5), x }, func(d Decision) bool { return slices.Contains(d.CoCritical, 1) }},
		"closure":           {0.05, func(e *Evidence, x float64) { e.ClosureResidual = x }, reason(ClosureResidual)},
		"overlap":           {0.01, func(e *Evidence, x float64) { e.OverlapError = x }, reason(OverlapError)},
		"leaders change":    {0.50, func(e *Evidence, x float64) { e.SwitchRate = &x }, reason(LeaderSwitches)},
		"leaders, no label": {0.50, func(e *Evidence, x float64) { x = 1 - x; e.SwitchRate = &x }, label(DirectExposure)},
		"lag":               {0.50, func(e *Evidence, x float64) { e.Gains[0], e.ModelFit, e.LagShare = 0, true, &x }, label(LikelySyncWait)},
		"routing":           {0.80, func(e *Evidence, x float64) { e.Shares = []float64{0.5, x - 0.5, 1 - x} }, func(d Decision) bool { return len(d.Routing) == 2 }},
		"ready samples":     {0.80, func(e *Evidence, x float64) { e.Events = &Events{Sampled: 1000, Ready: int(1000 * x), OverWall: 0.9} }, func(d Decision) bool { return !label(ForwardEventScopeLimited)(d) }},
		"event time": {0.25, func(e *Evidence, x float64) {
			e.DeviceExcess, e.Events = 0.2, &Events{Sampled: 9, Ready: 9, OverWall: 0.9, Share: x}
		}, label(ForwardDeviceSupported)},
		"event over wall": {0.50, func(e *Evidence, x float64) {
			e.DeviceExcess, e.Events = 0.2, &Events{Sampled: 9, Ready: 9, OverWall: x, Share: 0.5}
		}, label(ForwardDeviceSupported)},
		"host overhead": {0.50, func(e *Evidence, x float64) { e.Events = &Events{Sampled: 9, Ready: 9, OverWall: 1 - x, Share: 0.5} }, label(ForwardHostOverheadSuspected)},
		"device excess": {0.10, func(e *Evidence, x float64) {
			e.DeviceExcess, e.Events = x, &Events{Sampled: 9, Ready: 9, OverWall: 0.9, Share: 0.5}
		}, label(ForwardDeviceSupported)},
		"gain of the stage": {0.10, func(e *Evidence, x float64) {
			e.Reference, e.Gains[0], e.Events = true, x, &Events{Sampled: 9, Ready: 9, OverWall: 0.9, Share: 0.5}
		}, label(ForwardDeviceSupported)},
	} {
		for _, by := range []float64{0.95, 1.05} {
			e := exposed()
			c.set(&e, c.gate*by)
			if d := Decide(e, g); c.holds(d) != (by > 1) {
				t.Errorf("%s: at %v of %v it is %v: %v, %v, routing %v", name, by, c.gate, c.holds(d), d.Labels, d.Reasons, d.Routing)
			}
		}
	}
	for missing, want := range []bool{false, true} {
		e := exposed()
		e.MissingRanks = missing
		if d := Decide(e, g); reason(MissingRanks)(d) != want || label(DirectExposure)(d) == want {
			t.Errorf("%d ranks are missing: %v, %v", missing, d.Labels, d.Reasons)
		}
	}
	for ready, want := range map[int]bool{4: true, 5: false} {
		e := exposed()
		e.Events = &Events{Sampled: ready, Ready: ready, OverWall: 0.9}
		if d := Decide(e, g); label(ForwardEventScopeLimited)(d) != want {
			t.Errorf("%d samples: %v", ready, d.Labels)
		}
	}
}

// TestNoStrongLabel: one objection takes the strong label away, and says which.
func TestNoStrongLabel(t *testing.T) {
	if d := Decide(exposed(), gates.Default()); !d.Strong() || !slices.Equal(d.Labels, []Label{FrontierAccounting, DirectExposure}) || d.Reasons != nil {
		t.Fatalf("%+v, want direct exposure alone", d)
	}
	half := 0.5
	for want, set := range map[Reason]func(e *Evidence){
		VectorUnusable:          func(e *Evidence) { e.Unusable = true },
		GatherFailed:            func(e *Evidence) { e.GatherFailed = true },
		SchemaMismatch:          func(e *Evidence) { e.SchemaMismatch = true },
		DataWaitUnassigned:      func(e *Evidence) { e.DataWaitUnsafe = true },
		RoleMix:                 func(e *Evidence) { e.Roles = RolesMixed },
		AccumulationCollapsed:   func(e *Evidence) { e.Folded = true },
		DenominatorBelowFloor:   func(e *Evidence) { e.Shares = nil },
		SingleRank:              func(e *Evidence) { e.Ranks = 1 },
		NoBaseline:              func(e *Evidence) { e.Gains = nil },
		GainLeaderDiffers:       func(e *Evidence) { e.Gains[1] = 0.4 },
		LeaderSwitches:          func(e *Evidence) { e.SwitchRate = &half },
		DirectEvidenceDisagrees: func(e *Evidence) { e.Raw = Disagrees },
	} {
		e := exposed()
		set(&e)
		if d := Decide(e, gates.Default()); d.Strong() || !slices.Equal(d.Reasons, []Reason{want}) {
			t.Errorf("%v: %v, %v", want, d.Labels, d.Reasons)
		}
	}
	e := exposed()
	e.Spread = Disagrees
	if d := Decide(e, gates.Default()); d.Strong() {
		t.Errorf("the spread is elsewhere: %v", d.Labels)
	}
	e.Spread = Negligible
	if d := Decide(e, gates.Default()); !d.Strong() {
		t.Errorf("the spread is too small to say: %v", d.Labels)
	}
}

// TestRankOfEqualScores: scores that differ by a billionth of a thousandth of the largest are equal, and keep their order.
func TestRankOfEqualScores(t *testing.T) {
	for _, unit := range []float64{1, 1e9} {
		for less, want := range map[float64][]int{0.9e-12: {0, 1, 2}, 1.1e-12: {1, 0, 2}} {
			if got := Rank([]float64{unit * (1 - less), unit, unit / 2}); !slices.Equal(got, want) {
				t.Errorf("less by %v: %v, want %v", less, got, want)
			}
		}
	}
}
