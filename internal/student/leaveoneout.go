package student

import (
	"math"
	"slices"

	"github.com/sfstat/sfstat/internal/robust"
)

// LeaveOneOut returns the externally studentised residual of each of N ≥ 3 values: with mean m and
// sample deviation s of the others,
//
//	t_i = (y_i − m)/(s·√(1 + 1/(N−1))),
//
// Student's t with N−2 degrees of freedom for normal values; 0 or infinite where the others
// are all equal. The others' sums are added from both sides of i, never subtracted, so that an
// outlier of any size leaves no rounding behind.
func LeaveOneOut(y []float64) []float64 {
	n, center := len(y), robust.Median(slices.Clone(y))
	of := func(v float64) side { return side{v - center, (v - center) * (v - center), v, v} }
	none := side{0, 0, math.Inf(1), math.Inf(-1)}
	out, behind := make([]float64, n), make([]side, n+1)
	behind[n] = none
	for i := n - 1; i >= 0; i-- {
		behind[i] = of(y[i]).merge(behind[i+1])
	}
	before := none
	k := float64(n - 1)
	for i, v := range y {
		others := before.merge(behind[i+1])
		before = before.merge(of(v))
		diff := v - center - others.sum/k
		switch {
		case others.lo < others.hi:
			variance := (others.squares - others.sum*others.sum/k) / (k - 1)
			out[i] = diff / math.Sqrt(variance*(1+1/k))
		case v > others.lo:
			out[i] = math.Inf(1)
		case v < others.lo:
			out[i] = math.Inf(-1)
		}
	}
	return out
}

// side is the sums of the values before or behind one, about a center.
type side struct{ sum, squares, lo, hi float64 }

func (a side) merge(b side) side {
	return side{a.sum + b.sum, a.squares + b.squares, min(a.lo, b.lo), max(a.hi, b.hi)}
}
