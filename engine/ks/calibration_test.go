package ks

import (
	"fmt"
	"math"
	"testing"
)

// atMost fails when count of n independent trials is more than a rate explains:
// P(X ≥ count) < 1e-4 for X binomial(n, rate).
func atMost(t *testing.T, what string, count, n int, rate float64) {
	t.Helper()
	tail, term := 0.0, 0.0
	for k := count; k <= n; k++ {
		lc, _ := math.Lgamma(float64(n + 1))
		la, _ := math.Lgamma(float64(k + 1))
		lb, _ := math.Lgamma(float64(n - k + 1))
		term = math.Exp(lc - la - lb + float64(k)*math.Log(rate) + float64(n-k)*math.Log1p(-rate))
		tail += term
	}
	t.Logf("%s: %d of %d", what, count, n)
	if tail < 1e-4 {
		t.Errorf("%s: %d of %d, the stated rate is %v (P = %.1g)", what, count, n, rate, tail)
	}
}

// flags runs a job many times: in how many runs worker 0 is found, in how many
// another, and in how many anyone.
func flags(t *testing.T, j job, runs int, o Options) (first, others, any int) {
	t.Helper()
	for seed := range uint64(runs) {
		o.Seed = seed
		r := analyze(t, j.run(source(seed)), o)
		other := false
		for w, s := range r.Scores {
			if s.Test == nil {
				t.Fatalf("undecided: %v", s.Undecided)
			}
			if w == 0 && s.Test.Flagged {
				first++
			}
			other = other || w > 0 && s.Test.Flagged
		}
		if other {
			others++
		}
		if other || r.Scores[0].Test.Flagged {
			any++
		}
	}
	return first, others, any
}

// TestFalseAlarms: of healthy jobs, at most the stated rate has anybody found.
// Where all nulls are true the false-discovery rate is just that.
func TestFalseAlarms(t *testing.T) {
	for _, j := range []job{{workers: 3, steps: 20, ops: 10}, {workers: 4, steps: 20, ops: 10}, {workers: 8, steps: 10, ops: 10}, {workers: 24, steps: 6, ops: 10}} {
		o := Options{Discovery: 0.05, Window: 1}
		_, _, alarms := flags(t, j, 60, o)
		atMost(t, fmt.Sprintf("workers=%d/steps=%d: healthy jobs with an alarm", j.workers, j.steps), alarms, 60, 0.05)
	}
}

// TestPIsUniform: of healthy workers, a share α has P ≤ α.
func TestPIsUniform(t *testing.T) {
	o := Options{Window: 1}
	const runs = 150
	for _, alpha := range []float64{0.05, 0.2, 0.5} {
		count := 0
		for seed := range uint64(runs) {
			o.Seed = seed
			r := analyze(t, job{workers: 5, steps: 10, ops: 50}.run(source(seed)), o)
			if r.Scores[seed%5].Test.P <= alpha {
				count++
			}
		}
		atMost(t, fmt.Sprintf("P ≤ %v", alpha), count, runs, alpha)
		if slack := 4 * math.Sqrt(alpha*(1-alpha)/runs); float64(count)/runs < alpha-slack-0.02 {
			t.Errorf("P ≤ %v in %d of %d: the test gives power away", alpha, count, runs)
		}
	}
}

// TestStraggler: a worker 6 % slow is found where there are steps enough, and its
// healthy peers are not taken for unlike it. (A mean over the peers would find
// them all: each is unlike the straggler.)
func TestStraggler(t *testing.T) {
	for _, j := range []job{{3, 20, 20, 1.06}, {4, 16, 20, 1.06}, {12, 10, 20, 1.06}} {
		o := Options{Window: 1}
		const runs = 20
		first, others, _ := flags(t, j, runs, o)
		name := fmt.Sprintf("workers=%d", j.workers)
		t.Logf("%s: straggler found in %d of %d", name, first, runs)
		if first < 19 {
			t.Errorf("%s: straggler found in %d of %d, expected 19", name, first, runs)
		}
		atMost(t, name+": jobs with a healthy worker found", others, runs, 0.01)
	}
}
