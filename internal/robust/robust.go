// Package robust is the order statistics that the analyses rest on: medians,
// quantiles, the median absolute deviation, and the selection below them.
//
// Of an even number of values there are three medians in use, and each caller
// says which it takes:
//
//	Lower   the smaller of the middle two, a value that was observed. Among peers it leans to the
//	        fast side: stragglers are only ever slow
//	Upper   the larger of the middle two, a value that was observed. It leans to the slow side, so
//	        that what exceeds it exceeds half of the values
//	Median  the mean of the middle two, for estimates. [MedianTime] is that of whole nanoseconds,
//	        rounded down
//
// Functions reorder what they are given unless they say otherwise, need no
// memory, and take expected O(n); of NaNs nothing is promised. Of no values the
// result is 0.
package robust

import (
	"cmp"
	"math"
	"slices"
)

// SigmaOfMAD is the standard deviation of normal values over their median
// absolute deviation, 1/Φ⁻¹(3/4), as the literature prints it (Rousseeuw and
// Croux 1993, JASA 88:1273).
const SigmaOfMAD = 1.4826

// SigmaOfDifference is the standard deviation of normal values over the median absolute difference of two: 1.4826/√2.
const SigmaOfDifference = 1.0484

// EfficiencyOfMAD is what the median absolute deviation of normal values is worth beside
// their standard deviation (the same paper, table 1): it has so many degrees of freedom for
// each of theirs.
const EfficiencyOfMAD = 0.37

// Lower returns the lower median.
func Lower[T cmp.Ordered](x []T) T { return kth(x, (len(x)-1)/2) }

// Upper returns the upper median.
func Upper[T cmp.Ordered](x []T) T { return kth(x, len(x)/2) }

// Median returns the mean of the lower and the upper median.
func Median(x []float64) float64 {
	lower, upper := Middles(x)
	return (lower + upper) / 2
}

// MedianDistance returns the median of values of 0 or more.
func MedianDistance(x []float64) float64 {
	if n := len(x); n <= wide/2 || n > wide {
		return Median(x)
	}
	var bits [wide]int64 // which are in the order of the values
	for i, v := range x {
		bits[i] = int64(math.Float64bits(v))
	}
	m := middleOfWide(bits[:len(x)])
	return (math.Float64frombits(uint64(m.lo)) + math.Float64frombits(uint64(m.hi))) / 2
}

// Middles returns the lower and the upper median.
func Middles[T cmp.Ordered](x []T) (lower, upper T) {
	upper = Upper(x)
	if n := len(x); n > 0 && n%2 == 0 {
		return slices.Max(x[:n/2]), upper
	}
	return upper, upper
}

// MiddlesWithout returns the lower and the upper median of two or more ascending values but for one
// of them.
func MiddlesWithout[T cmp.Ordered](sorted []T, one T) (lower, upper T) {
	at := func(k int) T { // the k-th smallest of the others
		if one <= sorted[k] {
			k++
		}
		return sorted[k]
	}
	others := len(sorted) - 1
	return at((others - 1) / 2), at(others / 2)
}

// MAD returns the upper median of the distances from a center, which it leaves in x.
func MAD(x []float64, center float64) float64 {
	for i, v := range x {
		x[i] = math.Abs(v - center)
	}
	return Upper(x)
}

// Quantile returns the type-7 quantile (Hyndman and Fan 1996, Am. Stat. 50:361–365),
// 0 ≤ p ≤ 1: between the two nearest values by where it lies. x may hold
// infinities; beside one of them the quantile is infinite.
func Quantile(x []float64, p float64) float64 {
	if len(x) == 0 {
		return 0
	}
	place := p * float64(len(x)-1)
	k := int(place)
	a := Select(x, k)
	if place == float64(k) || math.IsInf(a, 0) {
		return a
	}
	return a + (place-float64(k))*(slices.Min(x[k+1:])-a)
}

func kth[T cmp.Ordered](x []T, k int) (v T) {
	if len(x) == 0 {
		return v
	}
	return Select(x, k)
}
