package diagnose

import (
	"slices"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace"
)

// A step is slow when it is this much longer than the median step, and further
// from it than spreads of the others explain. Fewer than so many in a window are
// a first step that warms up, or a checkpoint.
const (
	slowFactor     = 1.2
	slowSpreads    = 6
	leastSlowSteps = 3
)

// slowSteps are the steps of a window in which the ranks together were slow:
// their lengths, the median over ranks, are far above the median step. O(T·S·R).
func slowSteps(w *trace.Window) evidence.SlowSteps {
	lengths := stepLengths(w)
	if len(lengths) < 5 {
		return evidence.SlowSteps{}
	}
	sorted := slices.Sorted(slices.Values(lengths))
	middle := sorted[len(sorted)/2]
	apart := make([]int64, len(sorted))
	for i, x := range sorted {
		apart[i] = max(x-middle, middle-x)
	}
	slices.Sort(apart)
	limit := max(slowFactor*float64(middle), float64(middle)+slowSpreads*float64(apart[len(apart)/2]))
	out := evidence.SlowSteps{Of: len(lengths)}
	excess := int64(0)
	for t, x := range lengths {
		if float64(x) <= limit {
			continue
		}
		if out.N == 0 {
			out.First = w.FirstStep + int64(t)
		}
		out.Last = w.FirstStep + int64(t)
		out.N++
		excess += x - middle
	}
	if out.N == 0 || middle == 0 {
		return evidence.SlowSteps{}
	}
	out.Excess = excess / int64(out.N)
	out.Factor = 1 + float64(out.Excess)/float64(middle)
	return out
}

// stepLengths is the median over ranks of each step's wall time, or, where that
// was not recorded, of the sum of its stages.
func stepLengths(w *trace.Window) []int64 {
	R := len(w.Ranks)
	out := make([]int64, w.Steps())
	of := make([]int64, R)
	for t := range out {
		if wall := w.WallOf(t); wall != nil {
			copy(of, wall)
		} else {
			clear(of)
			for i, d := range w.Step(t) {
				of[i%R] += d
			}
		}
		out[t] = robust.Upper(of)
	}
	return out
}
