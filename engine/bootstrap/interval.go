package bootstrap

import (
	"math"
	"slices"

	"github.com/sfstat/sfstat/internal/robust"
)

// estimate returns a statistic with its intervals, from resamples that are nil for a single block.
func (s *sample) estimate(statistic Statistic, drawn *resamples, alpha float64) Estimate {
	e := Estimate{Statistic: statistic, Value: s.estimates[statistic]}
	if drawn == nil {
		return e
	}
	if statistic != Median {
		se := s.standardErrorOf(statistic)
		e.SE = &se
	}
	b := bounds{value: e.Value, alpha: alpha}
	for _, m := range statistic.Methods() {
		switch m {
		case Studentised:
			e.Intervals = append(e.Intervals, b.studentise(drawn.t[statistic], *e.SE))
		case Percentile:
			e.Intervals = append(e.Intervals, b.percentile(drawn.values[statistic]))
		case Order:
			if s.blocks() == len(s.x) { // each is one pair
				e.Intervals = append(e.Intervals, b.order(slices.Sorted(slices.Values(s.x))))
			}
		}
	}
	return e
}

// bounds makes intervals of one statistic. The four levels of an interval are
// alpha/2 and 1 − alpha/2, two-sided, and alpha and 1 − alpha, one-sided.
type bounds struct{ value, alpha float64 }

// interval makes one from what each level of the lower tail gives.
func (b bounds) interval(m Method, at func(level float64) float64) Interval {
	return Interval{Method: m, Lower: at(b.alpha / 2), Upper: at(1 - b.alpha/2), AtLeast: at(b.alpha), AtMost: at(1 - b.alpha)}
}

func (b bounds) percentile(resampled []float64) Interval {
	return b.interval(Percentile, func(level float64) float64 { return robust.Quantile(resampled, level) })
}

// studentise returns value − q(1 − level)·se, with q the quantiles of t.
func (b bounds) studentise(t []float64, se float64) Interval {
	return b.interval(Studentised, func(level float64) float64 { return b.value - robust.Quantile(t, 1-level)*se })
}

// order takes the k-th overhead from either end, k the largest with
// P(Bin(n, 1/2) < k) ≤ the chance that the bound may fail with.
func (b bounds) order(sorted []float64) Interval {
	n := len(sorted)
	return b.interval(Order, func(level float64) float64 {
		k := 0
		if below, ok := robust.MedianRank(n, 1-2*min(level, 1-level)); ok {
			k = below + 1
		}
		switch {
		case k == 0 && level < 0.5:
			return math.Inf(-1)
		case k == 0:
			return math.Inf(1)
		case level < 0.5:
			return sorted[k-1]
		}
		return sorted[n-k]
	})
}
