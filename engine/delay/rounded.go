package delay

import (
	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/points"
)

const (
	// roundedUnit is the smallest unit that counts as rounding by a writer, ns: clocks are finer.
	roundedUnit = 100_000
	// roundedChanges is the part of the times that must change by exactly one unit from step to step.
	roundedChanges = 0.01
	// InUnits is the size in units from which on a delay in rounded times is certain: each end of a difference is off by up to half a unit.
	InUnits = 2
)

// unit returns the unit that times are rounded to, ns; 0 where it is smaller than a delay worth acting on, or where times never change by one
// unit, as in tables that somebody made up.
func (s *series) unit(o Options) int64 {
	var unit int64
	for _, work := range s.Work {
		for u := points.Unit(work); u != 0; {
			unit, u = u, unit%u
		}
	}
	if unit < roundedUnit || float64(unit) < o.MinGain*s.step {
		return 0
	}
	changes, steps := 0, 0
	for _, work := range s.Work {
		for i := s.Ranks; i < len(work); i++ {
			if d := work[i] - work[i-s.Ranks]; d == unit || d == -unit {
				changes++
			}
			steps++
		}
	}
	if float64(changes) < roundedChanges*float64(steps) {
		return 0
	}
	return unit
}

// doubtRounded lowers claims that are smaller than two units to events and returns them.
func doubtRounded(list []claim.Claim, unit int64) []claim.Claim {
	for i := range list {
		if f := &list[i]; f.Size < InUnits*unit {
			f.Certainty = claim.Event
		}
	}
	return list
}
