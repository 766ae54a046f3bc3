package ks

import "cmp"

// selectAt is the k-th smallest of x, which it reorders so that none before it
// is larger and none behind it smaller (Hoare 1961, CACM 4:321).
func selectAt[T cmp.Ordered](x []T, k int) T {
	for lo, hi := 0, len(x)-1; lo < hi; {
		pivot := x[lo+(hi-lo)/2]
		i, j := lo, hi
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
			hi = j
		case k >= i:
			lo = i
		default:
			return x[k]
		}
	}
	return x[k]
}
