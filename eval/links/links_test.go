// Package links counts how often logs and exports of invented jobs lead to the right suspect, and how often to one where
// nothing is wrong.
//
//	go test ./eval/links -v -jobs 30
package links

import (
	"flag"
	"fmt"
	"testing"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/fixtures/comm/job"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/report"
)

var jobs = flag.Int("jobs", 2, "invented jobs of each kind")

// calledOf is what is called of a job: kind and ranks of each.
func calledOf(t *testing.T, s job.Spec) (list []string, headline string) {
	t.Helper()
	dir := t.TempDir()
	if err := job.Write(dir, s); err != nil {
		t.Fatal(err)
	}
	found, _, err := auto.ReadComm([]string{dir}, auto.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := comm.Analyze(found, comm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	v := diagnose.Communication(r)
	for _, x := range v.Findings {
		if x.Confidence >= evidence.Supported {
			list = append(list, fmt.Sprint(x.Kind, " ", x.Ranks))
		}
	}
	return list, report.Headline(&v)
}

// Two hosts of four ranks, 12 steps, clocks that are apart and drift. Links and groups differ by nature, by half of the noise.
func spec(seed uint64, noise float64, shape job.Shape) job.Spec {
	return job.Spec{Nodes: 2, PerNode: 4, Steps: 12, Seed: seed, Noise: noise, Shape: shape, Apart: 1e7, Drift: 1e-5}
}

func TestHealthy(t *testing.T) {
	for _, noise := range []float64{0.03, 0.1, 0.25} {
		alarms := 0
		for seed := range uint64(*jobs) {
			for _, shape := range []job.Shape{job.Data, job.Pipeline} {
				if list, headline := calledOf(t, spec(1000+seed, noise, shape)); len(list) > 0 {
					alarms++
					t.Logf("seed %d: %s", seed, headline)
				}
			}
		}
		t.Logf("noise %.0f %%: something is called in %d of %d healthy jobs", 100*noise, alarms, 2**jobs)
		if noise <= 0.1 && 20*alarms > 2**jobs+20 {
			t.Errorf("noise %.0f %%: %d alarms", 100*noise, alarms)
		}
	}
}

// count says how often want alone is called, and how often something else.
func count(t *testing.T, want string, change func(*job.Spec)) (right, wrong int) {
	t.Helper()
	for seed := range uint64(*jobs) {
		s := spec(2000+seed, 0.05, job.Data)
		change(&s)
		switch list, _ := calledOf(t, s); {
		case len(list) == 1 && list[0] == want:
			right++
		case len(list) > 0:
			wrong++
			t.Logf("seed %d: %q", seed, list)
		}
	}
	return right, wrong
}

func TestSlowCard(t *testing.T) {
	for _, factor := range []float64{0.95, 0.9, 0.85, 0.8, 0.7, 0.5} {
		right, wrong := count(t, "edge [1 5]", func(s *job.Spec) { s.Fault, s.Rank, s.Factor = job.SlowCard, 5, factor })
		t.Logf("a card at %.0f %%: called in %d of %d jobs, something else in %d", 100*factor, right, *jobs, wrong)
		if factor <= 0.7 && right < *jobs || wrong > 0 {
			t.Errorf("a card at %.0f %%: %d of %d, %d wrong", 100*factor, right, *jobs, wrong)
		}
	}
}

func TestLateRank(t *testing.T) {
	for _, late := range []int64{10_000, 20_000, 40_000, 80_000} {
		right, wrong := count(t, "rank [5]", func(s *job.Spec) { s.Fault, s.Rank, s.Late = job.LateRank, 5, late })
		t.Logf("a rank late by %d µs: called in %d of %d jobs, something else in %d", late/1000, right, *jobs, wrong)
		if late >= 80_000 && right < *jobs || wrong > 0 {
			t.Errorf("late by %d ns: %d of %d, %d wrong", late, right, *jobs, wrong)
		}
	}
}
