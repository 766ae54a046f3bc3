package delay

import (
	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/points"
)

const (
	// roundedUnit is from which unit on times are looked at as rounded by whoever wrote them, ns: clocks are finer.
	roundedUnit = 100_000
	// roundedChanges is the part of times that differ by just a unit from those of the step before, from which on it is one of rounding.
	roundedChanges = 0.01
	// InUnits is how many units of rounded times a size must have: where they vary by less than a unit all are rounded in one direction, and
	// each end of a difference is off by up to half of one.
	InUnits = 2
)

// unit returns the unit that times are rounded to by as much as a delay that is worth acting on, ns; 0: to less, or they do not vary: times that
// somebody made up are whole as well.
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

// doubtRounded leaves claims that are no larger than what rounding makes of nothing without certainty.
func doubtRounded(list []claim.Claim, unit int64) []claim.Claim {
	for i := range list {
		if f := &list[i]; f.Size < InUnits*unit {
			f.Certainty = claim.Event
		}
	}
	return list
}
