package kinetotest_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/ingest/kineto"
	"github.com/sfstat/sfstat/ingest/kineto/kinetotest"
	"github.com/sfstat/sfstat/ingest/profile"
)

// profiles reads the traces of a job.
func profiles(t testing.TB, j *kinetotest.Job) []*profile.Rank {
	t.Helper()
	var ranks []*profile.Rank
	for r, text := range j.Traces() {
		rank, err := kineto.Read(bytes.NewReader(text), fmt.Sprintf("rank-%d.json", r), kineto.Options{Detail: profile.EachOperator})
		if err != nil {
			t.Fatal(err)
		}
		ranks = append(ranks, rank)
	}
	jobs := profile.Jobs(ranks)
	if len(jobs) != 1 {
		t.Fatalf("%d jobs", len(jobs))
	}
	return jobs[0].Ranks
}

func divided(t testing.TB, j *kinetotest.Job) *profile.Divided {
	t.Helper()
	d, err := profile.Divide(profiles(t, j), profile.Options{Run: "job"})
	if err != nil || len(d.Windows) != 1 {
		t.Fatalf("%+v, %v", d, err)
	}
	return d
}

// verdict diagnoses a job as sfstat diagnose does.
func verdict(t testing.TB, j *kinetotest.Job) *diagnose.Verdict {
	t.Helper()
	d := divided(t, j)
	s := diagnose.New(diagnose.Options{})
	if err := s.Add(d.Windows[0]); err != nil {
		t.Fatal(err)
	}
	if err := s.AddLaunched(d.Launched); err != nil {
		t.Fatal(err)
	}
	return s.Verdict()
}

// slow multiplies what a rank does in one part of a step.
func slow(rank int, part kinetotest.Part, factor float64) func(kinetotest.Place) float64 {
	return func(at kinetotest.Place) float64 {
		if at.Rank == rank && at.Part == part {
			return factor
		}
		return 1
	}
}

// wantSuspect fails unless the first suspect is a rank in a stage, called with
// supported or strong confidence.
func wantSuspect(t *testing.T, v *diagnose.Verdict, rank int, stage string) {
	t.Helper()
	if len(v.Suspects) == 0 {
		t.Fatalf("no suspect: %s", v.Headline)
	}
	s := v.Suspects[0]
	if s.Rank == nil || *s.Rank != rank || !strings.HasPrefix(s.Stage, stage) || s.Confidence < diagnose.Supported {
		t.Errorf("%s (%v, stage %q), want rank %d in %s", v.Headline, s.Confidence, s.Stage, rank, stage)
	}
}

// TestMicrosteps: a rank that waits for its third batch of four is late because
// of data.next_wait, and the windows say in which microstep: nobody but it, and
// only there, waits long.
func TestMicrosteps(t *testing.T) {
	j := &kinetotest.Job{DP: 4, Microsteps: 4, Steps: 10, Noise: 0.03}
	j.Factor = func(at kinetotest.Place) float64 {
		if at.Rank == 2 && at.Part == kinetotest.Data && at.Micro == 2 {
			return 250
		}
		return 1
	}
	w := divided(t, j).Windows[0]
	if w.Accumulation != 4 {
		t.Errorf("accumulation %d, want 4; stages %v", w.Accumulation, w.Schema.Stages)
	}
	stages := len(w.Schema.Stages)
	for i, name := range w.Schema.Stages {
		if !strings.HasPrefix(name, "data.next_wait@") {
			continue
		}
		for k := range w.Steps() {
			for r := range 4 {
				if long, want := w.Durations[(k*stages+i)*4+r] > 5*kinetotest.Millisecond, r == 2 && name == "data.next_wait@2"; long != want {
					t.Errorf("step %d, rank %d: %s takes %d ns", k, r, name, w.Durations[(k*stages+i)*4+r])
				}
			}
		}
	}
	wantSuspect(t, verdict(t, j), 2, "data.next_wait")
}

// TestUnevenMicrosteps: where steps have different numbers of microsteps the
// stages are sums, which is said.
func TestUnevenMicrosteps(t *testing.T) {
	ranks := profiles(t, &kinetotest.Job{DP: 2, Microsteps: 3, Steps: 6})
	ranks[0].Steps[3].Microsteps = ranks[0].Steps[3].Microsteps[:1]
	for i := range ranks[0].Steps[3].Device.Exposed {
		ranks[0].Steps[3].Device.Exposed[i].Microstep = 1
	}
	d, err := profile.Divide(ranks, profile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := d.Windows[0]
	for _, name := range w.Schema.Stages {
		if strings.Contains(name, "@") {
			t.Errorf("stage %s", name)
		}
	}
	if said := fmt.Sprint(w.Notes); w.Accumulation > 1 || !strings.Contains(said, "between 2 and 3 runs of backward passes") {
		t.Errorf("accumulation %d, notes %s", w.Accumulation, said)
	}
}
