package ks

import "golang.org/x/sys/cpu"

var hasAVX2 = cpu.X86.HasAVX2

// raise4 raises gap[i] to the largest |a[i·stride + k] − b[k]| over k, for four
// rows of a; len(b) is a multiple of lanes.
func raise4(gap, a []int32, stride int, b []int32) {
	if !hasAVX2 || len(b) == 0 {
		raise4Go(gap, a, stride, b)
		return
	}
	_, _ = gap[3], a[3*stride+len(b)-1]
	raise4AVX2(&gap[0], &a[0], stride, &b[0], len(b))
}

// raise4AVX2 is raise4 for n counts, n a multiple of 8 and at least 8.
//
//go:noescape
func raise4AVX2(gap, a *int32, stride int, b *int32, n int)
