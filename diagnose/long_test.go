package diagnose

import (
	"math/rand/v2"
	"testing"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/trace"
)

// TestLongRun finds where all steps of a run take longer that has more steps than are looked at together, of which summaries are kept.
func TestLongRun(t *testing.T) {
	const each, from = mostTogether, 1_700_000
	s, rng := New(Options{}), rand.New(rand.NewPCG(1, 2))
	for k := range 3 {
		w := &trace.Window{Run: "long", Index: int64(k), FirstStep: int64(k * each), WorldSize: 1, Accumulation: 1, Ranks: []trace.Rank{{LocalRank: -1}},
			Schema: trace.Schema{Stages: []string{"model.backward_cpu_wall"}}, Durations: make([]int64, each)}
		for i := range w.Durations {
			w.Durations[i] = 200e6 + rng.Int64N(20e6)
			if k*each+i >= from {
				w.Durations[i] += 30e6
			}
		}
		if err := s.Add(w); err != nil {
			t.Fatal(err)
		}
		if one := s.runs[0].steps.series[0]; one.summed != max(0, k) {
			t.Errorf("%d stretches of %d have a summary", one.summed, k+1)
		}
	}
	e, ok := evidence.Find[evidence.OneRank](s.Verdict().Observed)
	if !ok || len(e.Changes) != 1 || e.Changes[0].Of != 3*each {
		t.Fatalf("%+v", e)
	}
	if c := e.Changes[0]; c.Steps[0] < from-128 || c.Steps[0] > from+128 || c.Steps[1] != 3*each-1 || c.Excess < 29e6 || c.Excess > 31e6 {
		t.Errorf("%+v, expected 30 ms more from step %d on", c, from)
	}
}
