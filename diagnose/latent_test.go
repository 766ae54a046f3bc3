package diagnose

import (
	"os"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/trace"
)

// slower returns a job of 8 ranks with rank 3 slower by a factor in all stages outside backward, of some steps.
func slower(seed uint64, factor float64, steps int) simulate.Spec {
	s := spec(8, steps, seed)
	s.Work = []simulate.WorkFactor{{Ranks: []int{3}, Factor: factor,
		Stages: []string{simulate.StageData, simulate.StageForward, simulate.StageCallbacks, simulate.StageOptimizer}}}
	return s
}

// TestLatent: a rank that is a little slower in all stages is heard, with what it takes longer in each, and decides nothing: status,
// findings and advice are those of a job without the second stage. Nobody is heard in a healthy job.
func TestLatent(t *testing.T) {
	for _, c := range []struct {
		factor float64
		heard  bool
	}{{1, false}, {1.01, false}, {1.05, true}, {1.07, true}} {
		for seed := range uint64(3) {
			v := verdictOn(t, windows(t, slower(seed, c.factor, 120))...)
			l := v.Runs[0].Latent
			heard := slices.DeleteFunc(slices.Clone(l.Differences), func(d answer.Difference) bool { return !d.IsReported() })
			if c.heard != (len(heard) == 1) || v.Status == answer.Straggler {
				t.Errorf("factor %v, seed %d: %v, %+v", c.factor, seed, v.Status, l)
				continue
			}
			if !c.heard {
				continue
			}
			d := heard[0]
			sum := int64(0)
			for _, s := range d.Stages {
				sum += s.Time
			}
			if d.Rank != 3 || !d.Slower() || d.Level <= l.Margin || d.Sum && (len(d.Stages) < 2 || sum < d.Level*8/10) || d.Peer != nil {
				t.Errorf("factor %v, seed %d: %+v", c.factor, seed, d)
			}
			searched, ok := evidence.Find[evidence.NobodyLate](v.Observed)
			if ok && searched.Last != nil && !searched.Last.Significant {
				t.Errorf("factor %v, seed %d: nobody is last more often than chance beside rank 3", c.factor, seed)
			}
		}
	}
}

// TestLatentRefused: too few steps are said to be too few; of two ranks the other is named; one rank has nothing to test.
func TestLatentRefused(t *testing.T) {
	if l := verdictOn(t, windows(t, spec(8, 15, 1))...).Runs[0].Latent; l == nil || l.Refused != "few_steps" || len(l.Differences) > 0 {
		t.Errorf("15 steps: %+v", l)
	}
	s := slower(1, 1.10, 120)
	s.Ranks, s.Work[0].Ranks = 2, []int{1}
	l := verdictOn(t, windows(t, s)...).Runs[0].Latent
	if len(l.Differences) != 1 || l.Differences[0].Rank != 1 || l.Differences[0].Peer == nil || *l.Differences[0].Peer != 0 {
		t.Errorf("two ranks: %+v", l)
	}
	if l := verdictOn(t, windows(t, spec(1, 60, 1))...).Runs[0].Latent; l != nil {
		t.Errorf("one rank: %+v", l)
	}
}

// TestLatentUnderFinding: a finding has the second stage as evidence in its own stage, and the rank is not heard a second time.
func TestLatentUnderFinding(t *testing.T) {
	v := verdictOn(t, windows(t, spec(8, 60, 1, simulate.Fault{Family: simulate.Data, Delay: 60, Ranks: []int{3}}))...)
	f := v.Findings[0]
	e, ok := evidence.Find[evidence.Distribution](f.Evidence)
	if !ok || e.Rank != 3 || e.Stage != f.Stage || e.Level < 55e6 || e.Level > 65e6 || e.P > 1e-3 {
		t.Errorf("%+v under %s", e, f.Stage)
	}
	for _, d := range v.Runs[0].Latent.Differences {
		if d.Rank == 3 && (d.IsReported() || !d.Named) {
			t.Errorf("%+v is heard beside the finding", d)
		}
	}
}

// TestLatentEntered: entries show a rank that is a little slower in a stage that all ranks wait in, which stage times do
// not, and nobody in a healthy job. SFSTAT_CALIBRATE=1 takes 200 jobs of each.
func TestLatentEntered(t *testing.T) {
	jobs := 4
	if os.Getenv("SFSTAT_CALIBRATE") != "" {
		jobs = 200
	}
	for _, c := range []struct {
		factor  float64
		windows bool
		least   float64 // share of the jobs in which rank 3 differs
	}{{1, true, 0}, {1, false, 0}, {1.06, true, 0.9}, {1.06, false, 0.9}} {
		differs, others := 0, 0
		for seed := range uint64(jobs) {
			s := entering(120)
			s.Seed, s.Work = seed+1, []simulate.WorkFactor{{Ranks: []int{3}, Factor: c.factor, Stages: []string{simulate.StageBackward}}}
			session := New(Options{})
			for _, w := range windows(t, s) {
				of := []trace.Recording{w}
				if !c.windows {
					of = nil
					for _, calls := range w.Arrivals {
						calls.Processes[0].Host = "node0" // whose clock is one
						of = append(of, calls)
					}
				}
				for _, r := range of {
					if err := session.Add(r); err != nil {
						t.Fatal(err)
					}
				}
			}
			l := session.Verdict().Runs[0].Latent
			if l == nil {
				t.Fatalf("factor %v, windows %v: nothing was tested", c.factor, c.windows)
			}
			for _, d := range l.Differences {
				switch {
				case d.Confidence < evidence.Supported:
				case d.Rank == 3 && c.factor > 1:
					differs++
				default:
					others++
				}
			}
		}
		t.Logf("factor %v, windows %v: rank 3 differs in %d of %d jobs, others %d", c.factor, c.windows, differs, jobs, others)
		if float64(differs) < c.least*float64(jobs) || others*20 > jobs {
			t.Errorf("factor %v, windows %v: rank 3 differs in %d of %d jobs, others %d", c.factor, c.windows, differs, jobs, others)
		}
	}
}
