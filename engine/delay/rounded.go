package delay

import (
	"math"
	"slices"

	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/points"
)

// Times that a writer rounds hide what one rank takes longer by less than a unit, unless they vary by so much that every rank's mean over steps is
// still right: noise of half a unit is enough.

const (
	// roundedUnit is the smallest unit that counts as rounding by a writer, ns: clocks are finer.
	roundedUnit = 100_000
	// roundedChanges is the part of the times that must change by exactly one unit from step to step where that is no power of ten, in
	// which people round: a table that somebody made up has other units.
	roundedChanges = 0.01
	// OfRounding is how many times what rounding may hide a claim must be to be certain: the delay is then at least half of its size.
	OfRounding = 2
)

// unit returns the unit that times are rounded to, ns; 0 where it is no larger than that of a clock.
func (s *series) unit() int64 {
	var unit int64
	for _, work := range s.Work {
		for u := points.Unit(work); u != 0; {
			unit, u = u, unit%u
		}
	}
	if !s.changesBy(unit) {
		ten := int64(1)
		for unit%(10*ten) == 0 && unit > 0 {
			ten *= 10
		}
		unit = ten
	}
	if unit < roundedUnit {
		return 0
	}
	return unit
}

// changesBy reports whether times change by exactly one unit from step to step now and then.
func (s *series) changesBy(unit int64) bool {
	changes, steps := 0, 0
	for _, work := range s.Work {
		for i := s.Ranks; i < len(work); i++ {
			if d := work[i] - work[i-s.Ranks]; d == unit || d == -unit {
				changes++
			}
			steps++
		}
	}
	return float64(changes) >= roundedChanges*float64(steps)
}

// roundedAway returns by how much a rank may take longer in each stage in every step without a trace in times that are rounded, ns; nil where they
// are not.
func (s *series) roundedAway() []int64 {
	unit := s.unit()
	if unit == 0 {
		return nil
	}
	out := make([]int64, len(s.Stages))
	for k, piece := range s.Pieces {
		out[piece.Stage] = max(out[piece.Stage], s.biasOf(k, unit))
	}
	for _, p := range s.Points {
		out[p.Stage] = unit
	}
	return out
}

// biasOf returns by how much the means of two ranks in a piece may differ less than they do, ns. The mean of a normal variable of deviation σ that is
// rounded to q is off by (q/π)·Σ exp(−2π²k²σ²/q²)/k at most (Widrow and Kollár 2008, Quantization Noise, §4.4), of which three terms are all from
// σ = q/10 on. σ is that of the ranks in the median.
func (s *series) biasOf(k int, unit int64) int64 {
	var sigmas []float64
	for r := range s.Ranks {
		sigmas = append(sigmas, sigmaInUnits(s.Work[k], s.Ranks, r, unit))
	}
	slices.Sort(sigmas)
	sigma, off := sigmas[(len(sigmas)-1)/2], 0.0
	for k := 1.0; k <= 3; k++ {
		off += 2 / math.Pi * math.Exp(-2*math.Pi*math.Pi*k*k*sigma*sigma) / k
	}
	return int64(float64(unit) * min(1, off))
}

// sigmaInUnits returns the deviation of a rank's times before they were rounded, as of a normal variable with as many values below and above the most
// frequent one; 0 where there are none on one side. Of those above the next alone count: stalls make times longer.
func sigmaInUnits(work []int64, ranks, r int, unit int64) float64 {
	count := make(map[int64]int)
	for i := r; i < len(work); i += ranks {
		count[work[i]/unit]++
	}
	most, at := 0, int64(0)
	for value, c := range count {
		if c > most || c == most && value < at {
			most, at = c, value
		}
	}
	below, above := 0, count[at+1]
	for value, c := range count {
		if value < at {
			below += c
		}
	}
	if below < 2 || above < 2 { // one may be an error
		return 0
	}
	n := float64(below + most + above)
	quantile := func(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }
	return 1 / (quantile(1-float64(above)/n) - quantile(float64(below)/n))
}

// doubtRounded lowers claims that rounding may make to events and returns them; away is what it hides in each stage, ns.
func doubtRounded(list []claim.Claim, away []int64) []claim.Claim {
	for i := range list {
		if f := &list[i]; IsDoubtful(f, away) {
			f.Certainty = claim.Event
		}
	}
	return list
}

// IsDoubtful reports whether half of a claim or more lies in stages of which rounding may make up half or more; away is what it hides in each
// stage, ns.
func IsDoubtful(f *claim.Claim, away []int64) bool {
	whole, certain := int64(0), int64(0)
	for _, p := range f.Parts {
		if whole += p.Size; p.Stage < 0 || p.Stage >= len(away) || p.Size >= OfRounding*away[p.Stage] {
			certain += p.Size
		}
	}
	return 2*certain < whole
}
