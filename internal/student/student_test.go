package student

import (
	"math"
	"testing"
)

// TestStudent: quantiles of Student's t from tables (Abramowitz and Stegun,
// table 26.10, to its five digits; ν = 1 and 2 in closed form), and where they
// have to be exact, from mpmath: findroot(betainc(ν/2, 1/2, 0, ν/(ν+t²)) − 2p).
func TestStudent(t *testing.T) {
	check := func(p, freedom, want, tol float64) {
		t.Helper()
		got := Upper(p, freedom)
		if math.Abs(got-want) > tol*want {
			t.Errorf("t(%v; %v) = %v, want %v", freedom, p, got, want)
		}
		if back := TwoSided(got, freedom); math.Abs(back-2*p) > 1e-10*p {
			t.Errorf("P(|T| > %v; %v) = %v, want %v", got, freedom, back, 2*p)
		}
	}
	for _, p := range []float64{0.25, 0.025, 1e-3, 1e-6, 1e-9} {
		check(p, 1, 1/math.Tan(math.Pi*p), 1e-12)
		a := 1 - 2*p
		check(p, 2, a*math.Sqrt(2/(4*p*(1-p))), 1e-12)
	}
	check(0.025, 10, 2.228, 1e-4)
	check(0.005, 30, 2.750, 1e-4)
	check(0.0005, 5, 6.869, 1e-4)
	check(0.05, 4, 2.131846786326650318346866667, 1e-14)
	check(0.025, 49, 2.009575237129239672259792865, 1e-14)
	check(0.05, 49, 1.676550892616853918773422835, 1e-14)
}
