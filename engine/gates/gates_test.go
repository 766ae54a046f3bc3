package gates

import (
	"math"
	"strings"
	"testing"
	"time"
)

// TestTolerance: a gap counts above 1 ms and above 1 % of the frontier; for other steps than of 200 ms the first
// scales with the step.
func TestTolerance(t *testing.T) {
	g := Default()
	for frontier, want := range map[time.Duration]time.Duration{50 * time.Millisecond: time.Millisecond, 100 * time.Millisecond: time.Millisecond, 400 * time.Millisecond: 4 * time.Millisecond} {
		if got := g.Leader.Tolerance(int64(frontier)); got != int64(want) {
			t.Errorf("frontier at %v: %d ns, want %v", frontier, got, want)
		}
	}
	if got := g.ScaledTo(int64(50*time.Millisecond), 40).Leader.GapAbs; got != Nanoseconds(250*time.Microsecond) {
		t.Errorf("steps of 50 ms: %d ns, want a quarter of 1 ms", got)
	}
	// A share is told of 100 ns a step; above 1 ms of a window it is told anyway.
	for steps, want := range map[int]Nanoseconds{40: 4000, 9_999: 999_900, 20_000: 1_000_000} {
		if got := g.ScaledTo(1000, steps).DenominatorFloor; got != want {
			t.Errorf("%d steps: a floor of %d ns, want %d", steps, got, want)
		}
	}
}

// TestInclusive: sums of doubles that are a gate reach it: 0.7 + 0.1 < 0.8.
func TestInclusive(t *testing.T) {
	x, y := 0.7, 0.1
	if x+y >= 0.8 || !AtLeast(x+y, 0.8) || Above(x+y, 0.8) || AtLeast(0.8-2e-9, 0.8) || !Above(0.8+2e-9, 0.8) || Above(0.8+0.5e-9, 0.8) || !AtLeast(0.8-0.5e-9, 0.8) {
		t.Error("a gate is reached by what is a billionth below it, and passed by what is more than that above it")
	}
}

// TestDefaults: the gates of the paper (StageFrontier, Table 13), and levels of one and five in a hundred.
func TestDefaults(t *testing.T) {
	want := Gates{Tau: 0.80, TieTolerance: 0.05, DominanceShare: 0.40, StaticGain: 0.10, ClosureResidual: 0.05, OverlapError: 0.01,
		Event: Event{0.80, 5, 0.25, 0.50}, Leader: Leader{1e6, 0.01, 0.50}, LagShare: 0.50, DenominatorFloor: 1e6, SyncPoint: SyncPoint{-0.5, 0.99, 0.01}}
	if got := Default(); got != want || got.Validate() != nil {
		t.Errorf("%+v, want %+v", got, want)
	}
	if Supported != 1./20 || Strong != 1./100 {
		t.Errorf("levels %v and %v", Supported, Strong)
	}
	if got := (*Gates)(nil).OrDefault(); got != want {
		t.Errorf("of none %+v", got)
	}
	other := Gates{Tau: 0.5}
	if got := other.OrDefault(); got != other {
		t.Errorf("of some %+v", got)
	}
}

// TestRefused: every gate that means nothing is refused by its name in YAML; the ends of its range are not.
func TestRefused(t *testing.T) {
	set := map[string]func(g *Gates, x float64){
		"tau": func(g *Gates, x float64) { g.Tau = x }, "tie_tolerance": func(g *Gates, x float64) { g.TieTolerance = x },
		"dominance_share_min": func(g *Gates, x float64) { g.DominanceShare = x }, "static_gain_min": func(g *Gates, x float64) { g.StaticGain = x },
		"closure_residual_share_max": func(g *Gates, x float64) { g.ClosureResidual = x }, "overlap_error_share_max": func(g *Gates, x float64) { g.OverlapError = x },
		"event.ready_ratio_min": func(g *Gates, x float64) { g.Event.ReadyRatio = x }, "event.high_share_min": func(g *Gates, x float64) { g.Event.HighShare = x },
		"event.low_over_cpu_max": func(g *Gates, x float64) { g.Event.LowOverWall = x }, "leader.gap_rel": func(g *Gates, x float64) { g.Leader.GapRel = x },
		"leader.switch_rate_max": func(g *Gates, x float64) { g.Leader.SwitchRate = x }, "lag_share_min": func(g *Gates, x float64) { g.LagShare = x },
		"meeting.slope_max": func(g *Gates, x float64) { g.SyncPoint.Slope = x }, "meeting.confidence": func(g *Gates, x float64) { g.SyncPoint.Confidence = x },
		"meeting.significance": func(g *Gates, x float64) { g.SyncPoint.Significance = x },
		"missing_ranks_max":    func(g *Gates, x float64) { g.MissingRanks = int(x) }, "event.ready_samples_min": func(g *Gates, x float64) { g.Event.Samples = int(x) },
		"leader.gap_abs": func(g *Gates, x float64) { g.Leader.GapAbs = Nanoseconds(x) }, "denominator_floor": func(g *Gates, x float64) { g.DenominatorFloor = Nanoseconds(x) },
	}
	check := func(name string, x float64, ok bool) {
		g := Default()
		set[name](&g, x)
		if err := g.Validate(); (err == nil) != ok || err != nil && !strings.Contains(err.Error(), name) {
			t.Errorf("%s is %v: %v, want accepted: %v", name, x, err, ok)
		}
	}
	for name := range set {
		switch name {
		case "tau":
			check(name, 0, false)
			check(name, 1, true)
			check(name, 1.01, false)
		case "meeting.confidence", "meeting.significance":
			check(name, 0, false)
			check(name, 0.5, true)
			check(name, 1, false)
		case "meeting.slope_max":
			check(name, 0, false)
			check(name, -0.9, true)
			check(name, -1, false)
		case "missing_ranks_max", "event.ready_samples_min", "leader.gap_abs", "denominator_floor", "event.low_over_cpu_max":
			check(name, 0, true)
			check(name, 3, true)
			check(name, -1, false)
		default:
			check(name, 0, true)
			check(name, 1, true)
			check(name, 1.01, false)
			check(name, -0.01, false)
		}
	}
	for _, name := range []string{"tau", "tie_tolerance", "event.low_over_cpu_max", "meeting.slope_max", "meeting.confidence", "meeting.significance"} {
		check(name, math.NaN(), false)
	}
	check("event.low_over_cpu_max", math.Inf(1), false)
}

// TestLengthsOfTime: gates that are lengths of time are written as 1ms.
func TestLengthsOfTime(t *testing.T) {
	var n Nanoseconds
	if err := n.UnmarshalText([]byte("250us")); err != nil || n != 250_000 {
		t.Errorf("250us is %d, %v", n, err)
	}
	if text, err := n.MarshalText(); err != nil || string(text) != "250µs" {
		t.Errorf("written as %q, %v", text, err)
	}
	if err := n.UnmarshalText([]byte("3")); err == nil || !strings.Contains(err.Error(), `"3" is not a length of time such as 1ms`) {
		t.Errorf("a number without a unit: %v", err)
	}
}
