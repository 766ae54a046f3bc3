package frontier

import (
	"fmt"
	"testing"

	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/trace"
)

// gapped is a window without wall time of a job that spends part of every step,
// and of it half more or less, where no stage is recorded.
func gapped(t testing.TB, part float64, change func(*simulate.Spec)) *trace.Window {
	t.Helper()
	w := simulated(t, func(s *simulate.Spec) {
		const step = 195 // ms, without the gap
		mean := simulate.Millis(step * part / (1 - part))
		s.Other = simulate.Dist{Mean: mean, SD: 0.5 * mean, Shape: simulate.Normal}
		change(s)
	})
	w.Wall, w.Side = nil, nil
	return w
}

// named is who is charged at the gates of a verdict; ok is false for nobody.
func named(r *Result) (rank int, stage string, ok bool) {
	for _, c := range r.Culprits {
		if c.P <= 0.05 && float64(c.Charged()) >= 0.1*float64(r.Makespan) {
			return c.Rank(), r.Stages[c.Parts[0].Stage].Name, true
		}
	}
	return 0, "", false
}

// TestUnrecordedGaps: a rank whose stage is 40 ms longer than its peers' in
// every step is named whatever is not recorded between steps, and the more
// surely the more steps there are.
func TestUnrecordedGaps(t *testing.T) {
	for _, part := range []float64{0, 0.02, 0.1, 0.25} {
		for _, steps := range []int{10, 30, 100} {
			t.Run(fmt.Sprintf("%g %%/%d", 100*part, steps), func(t *testing.T) {
				for seed := range uint64(25) {
					ranks, slow := []int{2, 3, 4, 8}[seed%4], int(seed%2)
					w := gapped(t, part, func(s *simulate.Spec) {
						s.Seed, s.Ranks, s.Schedule.Steps = seed, ranks, steps
						s.Faults = []simulate.Fault{{Family: simulate.Data, Delay: 40, Ranks: []int{slow}}}
					})
					r := mustAnalyze(t, w, Options{}).Main
					rank, stage, ok := named(r)
					if !ok || rank != slow || stage != simulate.StageData {
						t.Errorf("seed %d: rank %d in %s (%v), want %d in data; synchronisation point %v %s, cut %v", seed, rank, stage, ok, slow, r.SyncPoint.Evidence, r.SyncPoint.Name, r.Cut)
					}
				}
			})
		}
	}
}

// TestWallTimeWithoutGaps: wall time that leaves out what passes between steps hides a rank that is late in some
// steps on end no more than none at all, and charges nobody of a healthy job.
func TestWallTimeWithoutGaps(t *testing.T) {
	for _, delay := range []simulate.Millis{0, 120} {
		for seed := range uint64(8) {
			w := gapped(t, 0.1, func(s *simulate.Spec) {
				s.Seed, s.Ranks, s.Schedule.Steps = seed, []int{2, 3, 4, 16}[seed%4], 120
				if delay > 0 {
					s.Faults = []simulate.Fault{{Family: simulate.CallbackHost, Delay: delay, Ranks: []int{1}, When: simulate.When{From: 45, Until: 90}}}
				}
			})
			w.Wall = make([]int64, w.Steps()*len(w.Ranks))
			for i, x := range w.Durations {
				step, r := i/(len(w.Schema.Stages)*len(w.Ranks)), i%len(w.Ranks)
				w.Wall[step*len(w.Ranks)+r] += x
			}
			rank, stage, ok := named(mustAnalyze(t, w, Options{}).Main)
			if ok != (delay > 0) || ok && (rank != 1 || stage != simulate.StageCallbacks) {
				t.Errorf("%v ms, seed %d, %d ranks: rank %d in %s (%v)", delay, seed, len(w.Ranks), rank, stage, ok)
			}
		}
	}
}

// TestUnrecordedGapsOfHealthyJobs: where no rank is slower than its peers, none
// is named, also where one spends longer between steps than the others.
func TestUnrecordedGapsOfHealthyJobs(t *testing.T) {
	for _, part := range []float64{0, 0.02, 0.1, 0.25} {
		for _, steps := range []int{10, 30, 100} {
			for seed := range uint64(25) {
				w := gapped(t, part, func(s *simulate.Spec) { s.Seed, s.Ranks, s.Schedule.Steps = seed, 4+4*int(seed%2), steps })
				if rank, stage, ok := named(mustAnalyze(t, w, Options{}).Main); ok {
					t.Errorf("%g %%, %d steps, seed %d: rank %d in %s", 100*part, steps, seed, rank, stage)
				}
			}
		}
	}
}
