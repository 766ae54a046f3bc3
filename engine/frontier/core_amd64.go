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

// stepMaxima raises maxima[4s … 4s+3] to the largest prefix sums of the first
// columns ranks of a step [stage][rank], and says how many columns that were.
func stepMaxima(step []int64, stages, ranks int, maxima []int64) (columns int) {
	if !hasAVX2 || ranks < 8 {
		return 0
	}
	columns = ranks &^ 7
	_ = step[stages*ranks-1]
	_ = maxima[4*stages-1]
	stepMaximaAVX2(&step[0], stages, ranks, columns, &maxima[0])
	return columns
}

// stepMaximaAVX2 needs columns to be a multiple of 8 and at least 8.
//
//go:noescape
func stepMaximaAVX2(step *int64, stages, ranks, columns int, maxima *int64)
