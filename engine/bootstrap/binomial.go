package bootstrap

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Rate bounds the probability of an event that was seen K times in N
// independent trials. The bounds are exact: each holds at least as often as the
// confidence says (Clopper and Pearson 1934, Biometrika 26:404–413).
type Rate struct {
	K int // windows in which it held
	N int // windows that were tried
	// Lower and Upper hold the probability between them, AtLeast and AtMost are
	// one-sided: each alone holds with the confidence.
	Lower   float64 // lower end of the exact two-sided 95 % interval
	Upper   float64 // upper end of it
	AtLeast float64 // exact one-sided lower bound at 95 %
	AtMost  float64 // exact one-sided upper bound at 95 %
}

// Binomial bounds the probability of an event seen k times in n trials. None in
// n leaves AtMost = 1 − (1 − confidence)^(1/n): 0.0281 of 0 in 105 at 95 %.
func Binomial(k, n int, confidence float64) (Rate, error) {
	switch {
	case n < 1 || k < 0 || k > n:
		return Rate{}, fmt.Errorf("bootstrap: %d events in %d trials: expected between 0 and as many as trials, of at least one", k, n)
	case !(confidence > 0 && confidence < 1):
		return Rate{}, fmt.Errorf("bootstrap: confidence %v outside (0, 1)", confidence)
	}
	alpha := 1 - confidence
	return Rate{K: k, N: n,
		Lower: rateAtLeast(k, n, alpha/2), Upper: rateAtMost(k, n, alpha/2),
		AtLeast: rateAtLeast(k, n, alpha), AtMost: rateAtMost(k, n, alpha)}, nil
}

// rateAtLeast returns the p at which k or more of n are seen with chance alpha.
func rateAtLeast(k, n int, alpha float64) float64 {
	switch k {
	case 0:
		return 0
	case n:
		return math.Pow(alpha, 1/float64(n))
	}
	return betaQuantile(alpha, float64(k), float64(n-k+1))
}

// rateAtMost returns the p at which k or fewer of n are seen with chance alpha.
func rateAtMost(k, n int, alpha float64) float64 {
	switch k {
	case n:
		return 1
	case 0:
		return -math.Expm1(math.Log(alpha) / float64(n))
	}
	return betaQuantile(1-alpha, float64(k+1), float64(n-k))
}

// betaQuantile returns the x with I_x(a, b) = p.
func betaQuantile(p, a, b float64) float64 {
	of := distuv.Beta{Alpha: a, Beta: b}
	x := of.Quantile(p)
	for range 3 { // Newton: the inverse alone is good to 8 digits
		step := (of.CDF(x) - p) / of.Prob(x)
		next := x - step
		if !(next > 0 && next < 1) {
			break
		}
		if x = next; math.Abs(step) < 1e-14*x {
			break
		}
	}
	return x
}
