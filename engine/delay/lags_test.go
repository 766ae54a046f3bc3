package delay

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestLags: lags that come from a transform are those that are summed one by one, and so is the time that they add up to.
func TestLags(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	columns := func() [][]float64 {
		out := make([][]float64, 2)
		for q := range out {
			out[q] = make([]float64, 4000)
		}
		return out
	}
	x := columns()
	for i := range 4000 {
		x[0][i], x[1][i] = rng.NormFloat64()+3*math.Floor(float64(i)/2000), rng.NormFloat64()
	}
	y := columns()
	for q := range x {
		copy(y[q], x[q])
	}
	a, direct := newAutocovariance(x), newAutocovariance(y)
	for k := range oneByOne { // so that none is left to a transform
		direct.lag(k)
	}
	for k := oneByOne; k < 4000/3; k++ {
		c := 0.0
		for i := range 4000 - k {
			c += direct.columns[0][i] * direct.columns[0][i+k]
		}
		want := direct.weight[0] * c / float64(4000-k)
		if per, _ := a.lag(k); math.Abs(per[0]-want) > 1e-9 {
			t.Fatalf("lag %d: %v, want %v", k, per[0], want)
		}
	}
	if tau := a.tau(); tau < 1000 {
		t.Errorf("τ %v of values that change their level half-way, want 1,000 or more", tau)
	}
}

// BenchmarkTau: the correlation of a series that changes its level, which takes a third of it in lags.
func BenchmarkTau(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	const T = 1 << 17
	x := make([]float64, T)
	for b.Loop() {
		for i := range x {
			x[i] = rng.NormFloat64() + 3*math.Floor(float64(2*i)/T)
		}
		newAutocovariance([][]float64{x}).tau()
	}
	b.ReportMetric(float64(b.N)*T/b.Elapsed().Seconds(), "values/s")
}
