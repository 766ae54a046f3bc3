package ks

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sfstat/sfstat/engine/blocks"
)

// correlatedJob returns workers whose completions in a step are late together, by noise with an autocorrelation from step to step of
// phi; worker 3 later by some ns.
func correlatedJob(seed uint64, workers, steps int, phi, late float64) []Worker {
	g := rand.New(rand.NewPCG(seed, 9))
	out := make([]Worker, workers)
	for w := range out {
		e := g.NormFloat64()
		for range steps {
			e = phi*e + math.Sqrt(1-phi*phi)*g.NormFloat64()
			step, at := Step{}, 0.0
			for range 5 {
				at += 1e6
				x := at + 3e4*e + 1e3*g.NormFloat64()
				if w == 3 {
					x += late
				}
				step.Done = append(step.Done, int64(x))
			}
			out[w].Steps = append(out[w].Steps, step)
		}
	}
	return out
}

// TestCorrelated: where noise stays correlated over nine steps, a worker is found in most healthy jobs whose steps are taken to be
// independent, and by blocks in at most the stated part; one that is late is found by both.
func TestCorrelated(t *testing.T) {
	const jobs = 30
	named := func(o Options, late float64) (jobsWith, late3 int) {
		for seed := range uint64(jobs) {
			o.Seed, o.Discovery, o.Replicates = seed+1, 0.05, 4000
			r := analyze(t, correlatedJob(seed, 8, 200, 0.8, late), o)
			any := false
			for w, s := range r.Scores {
				if s.Test == nil {
					t.Fatalf("undecided: %v", s.Undecided)
				}
				any = any || s.Test.Flagged
				if w == 3 && s.Test.Flagged {
					late3++
				}
			}
			if any {
				jobsWith++
			}
		}
		return jobsWith, late3
	}
	if n, _ := named(Options{}, 0); n < jobs/2 {
		t.Errorf("%d of %d healthy jobs have a worker found where steps are taken to be independent: nothing to mend", n, jobs)
	}
	n, _ := named(Options{Correlated: true}, 0)
	atMost(t, "healthy jobs with a worker found by blocks", n, jobs, 0.05)
	if _, found := named(Options{Correlated: true}, 6e4); found < jobs*9/10 {
		t.Errorf("worker 3 is found in %d of %d jobs", found, jobs)
	}
}

// TestFewBlocks: on either side of 20 steps and of eight blocks.
func TestFewBlocks(t *testing.T) {
	for _, c := range []struct {
		steps  int
		phi    float64
		tested bool
	}{{19, 0, false}, {20, 0, true}, {60, 0.95, false}, {3000, 0.95, true}} {
		r := analyze(t, correlatedJob(2, 4, c.steps, c.phi, 0), Options{Correlated: true, Replicates: 99, Discovery: 0.5})
		if got := r.Scores[0].Undecided; (got == NoDoubt) != c.tested || !c.tested && got != FewBlocks {
			t.Errorf("%d steps, φ %v: %v by %+v, want tested %v", c.steps, c.phi, got, r.Blocks, c.tested)
		}
		if len(r.Blocks) != 1 || (r.Blocks[0].Refused == blocks.Judged) != c.tested {
			t.Errorf("%d steps, φ %v: cut %+v", c.steps, c.phi, r.Blocks)
		}
	}
	if r := analyze(t, correlatedJob(2, 4, 60, 0.95, 0), Options{Replicates: 99, Discovery: 0.5}); r.Scores[0].Test == nil || r.Blocks != nil {
		t.Errorf("steps taken to be independent: %+v", r.Scores[0])
	}
}
