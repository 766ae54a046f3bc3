package latent

import (
	"math"
	"slices"

	"github.com/sfstat/sfstat/engine/blocks"
	"github.com/sfstat/sfstat/internal/robust"
)

const (
	mostLooked    = 512  // intervals that a screen looks at
	nearMargin    = 0.75 // part of the margin from which on a level may be beyond it
	widerThan     = 1.25 // times the middle spread from which on a rank varies more than others
	spreadError   = 3.8  // five standard errors of the mean absolute deviation of one value, as a part of it
	spreadOfShape = 0.25 // part of the margin from which on a spread reaches beyond it
)

// passesScreen reports whether some intervals show that nobody's level is near the margin, and that nobody varies much more
// than others by as much as matters. It finds nothing by itself: what it lets pass is tested.
func passesScreen(w *Work, o Options) bool {
	steps := w.Intervals()
	if steps < blocks.FewestSteps {
		return false // to be refused
	}
	every := (steps + mostLooked - 1) / mostLooked
	margin := marginOf(w, o)
	peers := w.Peers
	if peers == nil {
		peers = make([]int, w.Ranks)
	}
	sets := map[int][]int{}
	for r, set := range peers {
		sets[set] = append(sets[set], r)
	}
	for _, set := range sets {
		n := len(set)
		if n < 2 {
			continue
		}
		looked := (steps + every - 1) / every
		values := make([]int64, n*looked) // [rank of the set][interval]
		row, scratch := make([]int64, n), make([]int64, n)
		sizes := make([]float64, n) // sums of absolute values
		for _, of := range addends(w) {
			clear(sizes)
			for i := range looked {
				t := i * every
				clear(row)
				for _, k := range of {
					own := w.Own[k][t*w.Ranks : (t+1)*w.Ranks]
					for q, r := range set {
						row[q] += own[r]
					}
				}
				at, above, equal, below := robust.MiddleOf(row, scratch).MediansWithout()
				for q, x := range row {
					others := equal
					if x > at {
						others = above
					}
					if x < at {
						others = below
					}
					x -= others
					values[q*looked+i] = x
					sizes[q] += math.Abs(float64(x))
				}
			}
			if slices.Max(sizes)*(1+rounding) < spreadOfShape*margin*float64(looked) {
				// A mean distance is least from the median, and half of the values lie beyond that: no spread reaches so far, and no
				// level twice as far.
				continue
			}
			for q, departs := range departures(values, looked, margin) {
				if departs && !slices.Contains(o.Known, set[q]) {
					return false
				}
			}
		}
	}
	return true
}

// addends returns the pieces, and for each point those that lead to it.
func addends(w *Work) (out [][]int) {
	for k := range w.Pieces {
		out = append(out, []int{k})
	}
	for point := range max(1, w.Points) {
		var of []int
		for k, p := range w.Pieces {
			if p.Point == point {
				of = append(of, k)
			}
		}
		if len(of) > 1 {
			out = append(out, of)
		}
	}
	return out
}

// departures reports of each rank whether its level is near the margin, or its spread wider than the others' by more than
// chance. values, which it reorders, are [rank][interval].
func departures(values []int64, looked int, margin float64) []bool {
	n := len(values) / looked
	out, spreads := make([]bool, n), make([]float64, n)
	for q := range n {
		v := values[q*looked : (q+1)*looked]
		level := robust.MedianTime(v)
		out[q] = float64(level) >= nearMargin*margin
		for _, x := range v {
			spreads[q] += float64(max(x-level, level-x)) / float64(looked)
		}
	}
	for q, wide := range wider(spreads, looked, margin) {
		out[q] = out[q] || wide
	}
	return out
}

// wider reports which of the ranks' mean absolute deviations, each of some intervals, are larger than the middle one by
// more than chance, and reach beyond the margin.
func wider(spreads []float64, intervals int, margin float64) []bool {
	least := max(spreadOfShape*margin, max(widerThan, 1+spreadError/math.Sqrt(float64(intervals)))*robust.Median(slices.Clone(spreads)))
	out := make([]bool, len(spreads))
	for q, s := range spreads {
		out[q] = s >= least
	}
	return out
}
