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

// Select returns the k-th smallest of x, 0 ≤ k < len(x). It reorders x so that none
// before position k is larger and none behind it smaller: quickselect (Hoare
// 1961, CACM 4:321) about the median of three (Singleton 1969, CACM 12:185),
// and a sort where the values are such that this divides badly, as rising ones
// behind their largest. O(n), at worst O(n log n), and no memory. Of NaNs
// nothing is promised. Another k panics.
func Select[T cmp.Ordered](x []T, k int) T {
	lo, hi := 0, len(x)
	for bad := 0; hi-lo > few && bad < badDivisions; {
		n := hi - lo
		a, b, c := x[lo], x[lo+n/2], x[hi-1]
		pivot := max(min(a, b), min(max(a, b), c))
		i, j := lo, hi-1
		for i <= j {
			for x[i] < pivot {
				i++
			}
			for x[j] > pivot {
				j--
			}
			if i <= j {
				x[i], x[j] = x[j], x[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			hi = j + 1
		case k >= i:
			lo = i
		default:
			return x[k]
		}
		if hi-lo > n-n/8 {
			bad++
		}
	}
	if hi-lo > few {
		slices.Sort(x[lo:hi])
		return x[k]
	}
	insert(x[lo:hi])
	return x[k]
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
