package zscore

import (
	"math"
	"math/rand/v2"
	"testing"
)

// atMost fails when count of n independent trials is more than a rate explains:
// P(X ≥ count) < 1e-4 for X binomial(n, rate).
func atMost(t *testing.T, what string, count, n int, rate float64) {
	t.Helper()
	tail := 0.0
	for k := count; k <= n; k++ {
		all, _ := math.Lgamma(float64(n + 1))
		hits, _ := math.Lgamma(float64(k + 1))
		rest, _ := math.Lgamma(float64(n - k + 1))
		tail += math.Exp(all - hits - rest + float64(k)*math.Log(rate) + float64(n-k)*math.Log1p(-rate))
	}
	t.Logf("%s: %d of %d (%.4f)", what, count, n, float64(count)/float64(n))
	if tail < 1e-4 {
		t.Errorf("%s: %d of %d, the stated rate is %v (P = %.1g)", what, count, n, rate, tail)
	}
}

// lognormal makes the noise of a healthy series skewed: its logarithm has a
// standard deviation of 0.5.
func lognormal(rng *rand.Rand, n, steps int) Series {
	s := Series{Quantity: Duration, Workers: peers(n), X: make([]int64, n*steps)}
	for t := range steps {
		common := 0.1 * rng.NormFloat64()
		for i := range n {
			s.X[t*n+i] = int64(1e8 * math.Exp(common+0.5*rng.NormFloat64()))
		}
	}
	return s
}

// TestFalseAlarms: of healthy operator instances, at most Alpha have a flag, and
// of healthy windows at most Alpha have a level that is off or anything sure.
func TestFalseAlarms(t *testing.T) {
	for _, c := range []struct {
		name     string
		draw     func(*rand.Rand, int, int) Series
		method   Method
		n, steps int
	}{
		{"pooled, N=3", healthy, Pooled, 3, 21},
		{"pooled, N=4", healthy, Pooled, 4, 21},
		{"pooled, N=8", healthy, Pooled, 8, 21},
		{"pooled, N=8, 6 steps", healthy, Pooled, 8, 6},
		{"pooled, N=32", healthy, Pooled, 32, 21},
		{"pooled, lognormal, N=8", lognormal, Pooled, 8, 100},
		{"pooled, lognormal, N=32", lognormal, Pooled, 32, 21},
		{"leave-one-out, N=8", healthy, LeaveOneOut, 8, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Options{Method: c.method}.Defaults()
			runs := 200_000 / (c.n * c.steps)
			flagged, off := 0, 0
			for seed := range uint64(runs) {
				r := analyze(t, o, c.draw(source(seed), c.n, c.steps))
				steps, whole := make(map[int]bool), false
				for _, u := range r.Outliers {
					if u.Step == EveryStep {
						whole = true
					} else {
						steps[u.Step] = true
					}
					whole = whole || u.Sure
				}
				flagged += len(steps)
				if whole {
					off++
				}
			}
			atMost(t, "instances flagged", flagged, runs*c.steps, o.Alpha)
			atMost(t, "windows flagged", off, runs, 2*o.Alpha) // by level or by anything sure
		})
	}
}

// TestPower: one peer late by 5 and 6 standard deviations in one step, after 20
// steps. The figures to reach are those of an independent simulation that knew
// the 20 steps to be healthy: 0.82 and 0.96 at N = 4, 0.88 and 0.98 at N = 8.
func TestPower(t *testing.T) {
	const runs = 2000
	for _, c := range []struct {
		n     int
		sigma float64
		want  float64
	}{{4, 5, 0.819}, {4, 6, 0.961}, {8, 5, 0.885}, {8, 6, 0.984}} {
		o := Options{}.Defaults()
		hits := 0
		for seed := range uint64(runs) {
			s := healthy(source(seed), c.n, 21)
			s.X[20*c.n] += int64(c.sigma * 1e5)
			for _, u := range analyze(t, o, s).Outliers {
				if u.Step == 20 && u.Worker == 0 {
					hits++
				}
			}
		}
		got := float64(hits) / runs
		t.Logf("N=%d, %v σ: found in %.3f", c.n, c.sigma, got)
		if got < c.want-3.7*math.Sqrt(c.want*(1-c.want)/runs) {
			t.Errorf("N=%d, %v σ: found in %.3f, want %.3f", c.n, c.sigma, got, c.want)
		}
	}
}
