package frontier

import "golang.org/x/sys/cpu"

var hasAVX2 = cpu.X86.HasAVX2

// addMax adds d to p and returns the maximum of the sums, which are not
// negative; p and d have the same length.
func addMax(p, d []int64) int64 {
	if !hasAVX2 || len(p) < 4 {
		return addMaxGo(p, d)
	}
	d = d[:len(p)]
	n := len(p) &^ 3
	m := addMaxAVX2(&p[0], &d[0], n)
	for i := n; i < len(p); i++ {
		p[i] += d[i]
		m = max(m, p[i])
	}
	return m
}

// addMaxAVX2 is addMax for n values, n a multiple of 4 and at least 4.
//
//go:noescape
func addMaxAVX2(p, d *int64, n int) int64
