package latent

import (
	"math"
	"slices"

	"github.com/sfstat/sfstat/internal/robust"
)

// quantiles are those of a at which distributions are compared.
var quantiles = [...]float64{.02, .05, .1, .2, .3, .4, .5, .6, .7, .8, .9, .95, .98}

// grid is how many of them there are.
const grid = len(quantiles)

// mostSampled bounds the values that quantiles are taken of.
const mostSampled = 4096

// columnsOf returns the pieces that anybody works in, and for each point that several of these lead to their sum.
func columnsOf(w *Work) (out []Column, own [][]int64) {
	for k, p := range w.Pieces {
		if slices.ContainsFunc(w.Own[k], func(x int64) bool { return x > 0 }) {
			out, own = append(out, Column(p)), append(own, w.Own[k])
		}
	}
	pieces := len(out)
	for point := range max(1, w.Points) {
		var of [][]int64
		for k := range pieces {
			if out[k].Point == point {
				of = append(of, own[k])
			}
		}
		if len(of) > 1 {
			out, own = append(out, Column{-1, point}), append(own, sumColumns(of))
		}
	}
	return out, own
}

// sumColumns returns the sum of columns, value by value.
func sumColumns(columns [][]int64) []int64 {
	out := slices.Clone(columns[0])
	for _, c := range columns[1:] {
		for i, x := range c {
			out[i] += x
		}
	}
	return out
}

// excess returns what each rank of a set takes beyond the median of the others, [interval][rank of the set], ns.
func excess(own []int64, ranks int, set []int) []float64 {
	n := len(set)
	out := make([]float64, len(own)/ranks*n)
	row, scratch := make([]int64, n), make([]int64, n)
	for t := 0; t < len(own)/ranks; t++ {
		for i, r := range set {
			row[i] = 2 * own[t*ranks+r] // so that the mean of two is whole
		}
		m := robust.MiddleOf(row, scratch)
		for i, x := range row {
			out[t*n+i] = float64(x-m.MedianWithout(x)) / 2
		}
	}
	return out
}

// levels returns the mean of the middle half of each column of u.
func levels(u []float64, n int) []float64 {
	out, column := make([]float64, n), make([]float64, len(u)/n)
	for i := range out {
		for t := range column {
			column[t] = u[t*n+i]
		}
		out[i] = middleMean(column)
	}
	return out
}

// middleMean returns the mean of the middle half of values, which it reorders.
func middleMean(v []float64) float64 {
	k := len(v) / 4
	if k > 0 {
		robust.Select(v, k)
		robust.Select(v[k:], len(v)-2*k-1)
	}
	sum := 0.0
	for _, x := range v[k : len(v)-k] {
		sum += x
	}
	return sum / float64(len(v)-2*k)
}

// places returns the quantiles of a, which stays as it is, interpolated between values; of long runs those of every
// so many intervals.
func places(a []float64, n int) (out [grid]float64) {
	every := (len(a) + mostSampled - 1) / mostSampled
	some := make([]float64, 0, len(a)/every+n)
	for t := 0; t*n < len(a); t += every {
		some = append(some, a[t*n:(t+1)*n]...)
	}
	slices.Sort(some)
	for g, q := range quantiles {
		at := q * float64(len(some)-1)
		low := int(math.Floor(at))
		high := min(low+1, len(some)-1)
		out[g] = some[low] + (at-float64(low))*(some[high]-some[low])
	}
	return out
}

// countExceeded returns how many of the ascending places x a value exceeds.
func countExceeded(v float64, x *[grid]float64) (n int) {
	if v > x[6] {
		n = 7
	}
	for n < grid && v > x[n] {
		n++
	}
	return n
}

// correlatedRanks bounds the ranks that say how long noise stays correlated.
const correlatedRanks = 64

// limitRanks returns a copy of a, [interval][rank of n], with no more than correlatedRanks of its ranks, evenly apart.
func limitRanks(a []float64, n int) ([]float64, int) {
	if n <= correlatedRanks {
		return slices.Clone(a), n
	}
	out := make([]float64, 0, len(a)/n*correlatedRanks)
	for row := range slices.Chunk(a, n) {
		for k := range correlatedRanks {
			out = append(out, row[k*n/correlatedRanks])
		}
	}
	return out, correlatedRanks
}
