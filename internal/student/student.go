// Package student has the tails of Student's t distribution: those of gonum, and a quantile to
// the precision of a float64. The inverse of the regularised incomplete beta function that
// quantiles rest on is good to eight digits only.
package student

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

func student(freedom float64) distuv.StudentsT { return distuv.StudentsT{Sigma: 1, Nu: freedom} }

// Upper returns the t that Student's t with ν degrees of freedom exceeds with probability p < 1/2.
func Upper(p, freedom float64) float64 {
	t := -student(freedom).Quantile(p)
	for range 3 { // Newton
		step := (UpperTail(t, freedom) - p) / student(freedom).Prob(t)
		if t += step; math.Abs(step) < 1e-14*t {
			break
		}
	}
	return t
}

// TwoSided returns the chance of |T| ≥ |t|.
func TwoSided(t, freedom float64) float64 { return 2 * UpperTail(math.Abs(t), freedom) }

// UpperTail returns the chance of T > t.
func UpperTail(t, freedom float64) float64 { return student(freedom).CDF(-t) }
