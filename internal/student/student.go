// Package student has the tails of Student's t distribution to the precision of a float64: the inverse of the regularised incomplete beta function that they
// rest on is good to eight digits only. Beside them is the upper tail of the binomial.
package student

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// Upper is the t that Student's t with ν degrees of freedom exceeds with
// probability p < 1/2: with x = ν/(ν+t²), 2p is the regularised incomplete beta
// function I_x(ν/2, 1/2).
func Upper(p, freedom float64) float64 {
	x := mathext.InvRegIncBeta(freedom/2, 0.5, 2*p)
	t := math.Sqrt(freedom * (1 - x) / x)
	for range 3 { // Newton
		step := (TwoSided(t, freedom)/2 - p) / density(t, freedom)
		if t += step; math.Abs(step) < 1e-14*t {
			break
		}
	}
	return t
}

func density(t, freedom float64) float64 {
	a, _ := math.Lgamma((freedom + 1) / 2)
	b, _ := math.Lgamma(freedom / 2)
	return math.Exp(a-b-(freedom+1)/2*math.Log1p(t*t/freedom)) / math.Sqrt(freedom*math.Pi)
}

// TwoSided is the chance of |T| ≥ |t|.
func TwoSided(t, freedom float64) float64 {
	if math.IsInf(t, 0) {
		return 0
	}
	return mathext.RegIncBeta(freedom/2, 0.5, freedom/(freedom+t*t))
}

// Above is the chance of T > t.
func Above(t, freedom float64) float64 {
	p := TwoSided(t, freedom) / 2
	if t < 0 {
		p = 1 - p
	}
	return p
}
