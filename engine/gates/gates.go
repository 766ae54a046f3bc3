// Package gates has the thresholds by which an account of stages is judged:
// those that turn shares and gains into labels, and those that say who is
// surely late and where ranks synchronise. It has the levels of significance at
// which every engine speaks.
package gates

import (
	"fmt"
	"math"
	"time"
)

// Gates are the thresholds that turn accounting into labels (StageFrontier,
// Table 13 and App. C). All comparisons are inclusive with a slack of 1e-9.
// Shares and gains are fractions of the exposed makespan, in [0, 1].
type Gates struct {
	Tau             float64 `yaml:"tau"`                        // cumulative share that the routing set must reach, above 0 and at most 1
	TieTolerance    float64 `yaml:"tie_tolerance"`              // shares or gains this close are a tie
	DominanceShare  float64 `yaml:"dominance_share_min"`        // share from which a strong label may name a stage
	StaticGain      float64 `yaml:"static_gain_min"`            // gain from which fixing counts
	ClosureResidual float64 `yaml:"closure_residual_share_max"` // largest share of wall time that no stage covers, on the worst rank
	OverlapError    float64 `yaml:"overlap_error_share_max"`    // largest share by which stages exceed wall time, on the worst rank
	MissingRanks    int     `yaml:"missing_ranks_max"`          // most ranks that may be missing

	Event  Event  `yaml:"event"`  // when a device-event channel may be used
	Leader Leader `yaml:"leader"` // when one rank is surely the latest

	LagShare         float64     `yaml:"lag_share_min"`     // least part of the advance that must be lag: one rank pulls away
	DenominatorFloor Nanoseconds `yaml:"denominator_floor"` // makespan of a window up to which shares are nil

	SyncPoint SyncPoint `yaml:"meeting"` // when a stage is one where ranks synchronise
}

// Event decide whether a device-event channel may be used.
type Event struct {
	ReadyRatio  float64 `yaml:"ready_ratio_min"`   // least share of samples that are ready
	Samples     int     `yaml:"ready_samples_min"` // least number of ready samples
	HighShare   float64 `yaml:"high_share_min"`    // share of the exposed step from which event time is long
	LowOverWall float64 `yaml:"low_over_cpu_max"`  // largest ratio of event time to host wall time at which the host is to blame
}

// Leader decide when one rank is surely the latest: its gap to the second
// exceeds both the absolute and the relative tolerance.
type Leader struct {
	// GapAbs is literal in labels of the step cut, as in the paper. Elsewhere it
	// is the tolerance of a step of 200 ms, and scales with the step: 1 ms of 3
	// is a straggler, and 1 ms of 30 s is noise.
	GapAbs     Nanoseconds `yaml:"gap_abs"`         // least gap to the second rank
	GapRel     float64     `yaml:"gap_rel"`         // the same as a part of the frontier
	SwitchRate float64     `yaml:"switch_rate_max"` // switch rate from which the leader is not one rank
}

// Tolerance returns the gap up to which two ranks count as equally late, in ns, at a frontier.
func (g Leader) Tolerance(frontier int64) int64 {
	return max(int64(g.GapAbs), int64(g.GapRel*float64(frontier)))
}

// SyncPoint decide when a stage is one in which the ranks synchronise.
type SyncPoint struct {
	Slope        float64 `yaml:"slope_max"`    // largest slope of duration on arrival that the interval may reach; -1: a perfect synchronisation point, 0: none
	Confidence   float64 `yaml:"confidence"`   // confidence of that interval, two-sided
	Significance float64 `yaml:"significance"` // level of the test that one rank is late too often, corrected for ranks and stages
}

// Supported and Strong are the levels of significance, after correction for all that was tested of a
// run, from which on a finding is called so. SFSTAT_CALIBRATE=1 go test -v ./engine/delay measures
// what they come to on healthy runs (docs/accuracy.md).
const (
	Supported = 0.05
	Strong    = 0.01
)

// thresholdSlack makes thresholds inclusive: 0.7 + 0.1 < 0.8 in doubles.
const thresholdSlack = 1e-9

// AtLeast reports whether x reaches a gate.
func AtLeast(x, gate float64) bool { return x >= gate-thresholdSlack }

// Above reports whether x exceeds a gate.
func Above(x, gate float64) bool { return x > gate+thresholdSlack }

// Nanoseconds is a length of time that YAML and JSON write as "1ms".
type Nanoseconds int64

// MarshalText writes the length as Go writes durations.
func (n Nanoseconds) MarshalText() ([]byte, error) {
	return []byte(time.Duration(n).String()), nil
}

// UnmarshalText reads a length such as "1ms" or "250us".
func (n *Nanoseconds) UnmarshalText(b []byte) error {
	d, err := time.ParseDuration(string(b))
	if err != nil {
		return fmt.Errorf("%q is not a length of time such as 1ms", b)
	}
	*n = Nanoseconds(d)
	return nil
}

// OrDefault returns the gates, or the defaults for nil.
func (g *Gates) OrDefault() Gates {
	if g == nil {
		return Default()
	}
	return *g
}

// Default returns the documented defaults; docs/method-accounting.md gives the evidence for each.
func Default() Gates {
	return Gates{
		Tau: 0.80, TieTolerance: 0.05, DominanceShare: 0.40, StaticGain: 0.10,
		ClosureResidual: 0.05, OverlapError: 0.01, MissingRanks: 0,
		Event:    Event{ReadyRatio: 0.80, Samples: 5, HighShare: 0.25, LowOverWall: 0.50},
		Leader:   Leader{GapAbs: Nanoseconds(time.Millisecond), GapRel: 0.01, SwitchRate: 0.50},
		LagShare: 0.50, DenominatorFloor: Nanoseconds(time.Millisecond),
		SyncPoint: SyncPoint{Slope: -0.5, Confidence: 0.99, Significance: Strong},
	}
}

const (
	// gateStep is the step for which absolute gates are given: those of the
	// paper's jobs take 190 to 355 ms.
	gateStep = int64(200 * time.Millisecond)
	// resolvedStep is the shortest step of which a percentage can be told: the
	// unit of all times, one nanosecond, is 1 % of it.
	resolvedStep = 100
)

// ScaledTo returns the gates for steps of a typical length, in nanoseconds: decisions by them do not change when all times are
// longer by any factor.
func (g Gates) ScaledTo(step int64, steps int) Gates {
	g.Leader.GapAbs = Nanoseconds(float64(g.Leader.GapAbs) * float64(step) / float64(gateStep))
	g.DenominatorFloor = min(g.DenominatorFloor, Nanoseconds(int64(steps)*resolvedStep))
	return g
}

// Validate refuses gates that mean nothing, naming the gate as the YAML file
// does. The comparisons are written so that NaN fails them.
func (g Gates) Validate() error {
	fractions := []struct {
		name string
		v    float64
	}{
		{"tie_tolerance", g.TieTolerance}, {"dominance_share_min", g.DominanceShare}, {"static_gain_min", g.StaticGain},
		{"closure_residual_share_max", g.ClosureResidual}, {"overlap_error_share_max", g.OverlapError},
		{"event.ready_ratio_min", g.Event.ReadyRatio}, {"event.high_share_min", g.Event.HighShare},
		{"leader.gap_rel", g.Leader.GapRel}, {"leader.switch_rate_max", g.Leader.SwitchRate}, {"lag_share_min", g.LagShare},
	}
	for _, f := range fractions {
		if !(f.v >= 0 && f.v <= 1) {
			return fmt.Errorf("gate %s is %v, expected a fraction from 0 to 1", f.name, f.v)
		}
	}
	switch {
	case !(g.Tau > 0 && g.Tau <= 1):
		return fmt.Errorf("gate tau is %v, expected above 0 and at most 1", g.Tau)
	case !(g.Event.LowOverWall >= 0) || math.IsInf(g.Event.LowOverWall, 0):
		return fmt.Errorf("gate event.low_over_cpu_max is %v, expected 0 or more", g.Event.LowOverWall)
	case g.MissingRanks < 0 || g.Event.Samples < 0:
		return fmt.Errorf("gates missing_ranks_max and event.ready_samples_min are counts, found %d and %d", g.MissingRanks, g.Event.Samples)
	case g.Leader.GapAbs < 0 || g.DenominatorFloor < 0:
		return fmt.Errorf("gates leader.gap_abs and denominator_floor are lengths of time, found %d and %d ns", g.Leader.GapAbs, g.DenominatorFloor)
	case !(g.SyncPoint.Slope > -1 && g.SyncPoint.Slope < 0):
		return fmt.Errorf("gate meeting.slope_max is %v, expected between -1 and 0", g.SyncPoint.Slope)
	case !(g.SyncPoint.Confidence > 0 && g.SyncPoint.Confidence < 1):
		return fmt.Errorf("gate meeting.confidence is %v, expected between 0 and 1", g.SyncPoint.Confidence)
	case !(g.SyncPoint.Significance > 0 && g.SyncPoint.Significance < 1):
		return fmt.Errorf("gate meeting.significance is %v, expected between 0 and 1", g.SyncPoint.Significance)
	}
	return nil
}
