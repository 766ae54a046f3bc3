package points

import (
	"math"

	"github.com/sfstat/sfstat/internal/robust"
)

const (
	mostUnits = 1 << 12 // how many times say in which unit all were counted
	// leastUnit is from which unit on rounding is looked at, ns.
	leastUnit = 1000
	// leastOfRounding is by how many times its variance that of arrivals must exceed rounding for slopes to show where ranks wait.
	leastOfRounding = 3
)

// Unit returns the unit in which times are whole multiples, by the first of them, ns; 0 of none.
func Unit(times []int64) (unit int64) {
	for _, x := range times[:min(len(times), mostUnits)] {
		for x != 0 {
			x, unit = unit%x, x
		}
		if unit == 1 {
			break
		}
	}
	return unit
}

// coarse reports whether times are rounded by so much that who arrives when at a stage is mostly rounding: a sum of values of a
// cycle, each rounded to q, has a variance of q²/12 of each, which that of the arrivals must exceed three times.
func (s *Steps) coarse(stage int) bool {
	q := float64(Unit(s.Durations))
	if q < leastUnit {
		return false
	}
	var changes []float64 // of when a rank arrives beside the others, from step to step
	since, before := make([]int64, s.Ranks), make([]float64, s.Ranks)
	for _, at := range s.stretches() {
		for t := at[0] + 1; t < at[1]; t++ {
			s.exitToArrival(t, stage, since)
			mean := 0.0
			for _, x := range since {
				mean += float64(x) / float64(s.Ranks)
			}
			for r, x := range since {
				if d := float64(x) - mean; t > at[0]+1 {
					changes, before[r] = append(changes, math.Abs(d-before[r])), d
				} else {
					before[r] = d
				}
			}
		}
	}
	if len(changes) == 0 {
		return false
	}
	sigma := robust.SigmaOfDifference * robust.Median(changes)
	return sigma*sigma < leastOfRounding*float64(len(s.Stages)-1)*q*q/12
}
