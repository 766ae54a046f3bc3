package zscore

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// correlatedSeries returns a duration on peers, by noise with an autocorrelation from step to step of phi; peer 2 longer by some ns.
func correlatedSeries(seed uint64, peers, steps int, phi, longer float64) Series {
	g := rand.New(rand.NewPCG(seed, 4))
	s := Series{Quantity: Start, X: make([]int64, steps*peers)}
	for w := range peers {
		s.Workers = append(s.Workers, w)
		e := g.NormFloat64()
		for t := range steps {
			e = phi*e + math.Sqrt(1-phi*phi)*g.NormFloat64()
			s.X[t*peers+w] = int64(1e6 + 1e4*e)
			if w == 2 {
				s.X[t*peers+w] += int64(longer)
			}
		}
	}
	return s
}

// TestCorrelated: where noise stays correlated over nine steps, healthy series have sure outliers by blocks in at most the
// stated part; a level that is off is found.
func TestCorrelated(t *testing.T) {
	sure := func(o Options, longer float64) (any, second int) {
		for seed := range uint64(200) {
			r, err := Analyze([]Series{correlatedSeries(seed, 8, 120, 0.8, longer)}, o)
			if err != nil {
				t.Fatal(err)
			}
			if slices.ContainsFunc(r.Outliers, func(x Outlier) bool { return x.Sure }) {
				any++
			}
			if slices.ContainsFunc(r.Outliers, func(x Outlier) bool { return x.Sure && x.Worker == 2 && x.Step == EveryStep }) {
				second++
			}
		}
		return any, second
	}
	before, _ := sure(Options{Alpha: 0.05}, 0)
	n, _ := sure(Options{Alpha: 0.05, Correlated: true}, 0)
	t.Logf("of 200 healthy series with sure outliers: %d by neighbours, %d by blocks", before, n)
	if n > 20 { // P(X > 20) < 1e-3 for X binomial(200, 0.05)
		t.Errorf("%d of 200 healthy series have a sure outlier by blocks, the stated rate is 0.05", n)
	}
	if _, found := sure(Options{Alpha: 0.05, Correlated: true}, 2.5e4); found < 180 {
		t.Errorf("the level of peer 2 is off in %d of 200", found)
	}
}

// TestFewBlocks: on either side of 20 steps and of eight blocks; each step is judged by itself where these are too few.
func TestFewBlocks(t *testing.T) {
	for _, c := range []struct {
		steps  int
		phi    float64
		method Method
	}{{19, -0.4, LeaveOneOut}, {20, -0.4, Pooled}, {60, 0.97, LeaveOneOut}, {3000, 0.95, Pooled}} {
		r, err := Analyze([]Series{correlatedSeries(3, 12, c.steps, c.phi, 0)}, Options{Correlated: true})
		if err != nil {
			t.Fatal(err)
		}
		if s := r.Series[0]; s.Method != c.method || slices.Contains(s.Doubts, FewBlocks) != (c.method == LeaveOneOut) {
			t.Errorf("%d steps, φ %v: %v, %v, want %v", c.steps, c.phi, s.Method, s.Doubts, c.method)
		}
	}
}
