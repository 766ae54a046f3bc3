//go:build !amd64

package ks

// raise4 raises gap[i] to the largest |a[i·stride + k] − b[k]| over k, for four
// rows of a.
func raise4(gap, a []int32, stride int, b []int32) { raise4Go(gap, a, stride, b) }
