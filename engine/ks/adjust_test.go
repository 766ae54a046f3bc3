package ks

import (
	"slices"
	"testing"
)

// TestAdjust: m·p/j of the four ascending P values are 0.04, 0.08, 0.0547 and 0.8; each Q is the least of these from its own on, so that
// the second has that of the third.
func TestAdjust(t *testing.T) {
	r := &Result{Discovery: 0.06}
	for _, p := range []float64{0.010, 0.041, 0.040, 0.8} {
		r.Scores = append(r.Scores, Score{Test: &Test{P: p}})
	}
	r.Scores = append(r.Scores, Score{}) // not tested
	adjust(r)
	for i, want := range []float64{0.04, 4 * 0.041 / 3, 4 * 0.041 / 3, 0.8} {
		got := r.Scores[i].Test
		if d := got.Q - want; d > 1e-15 || d < -1e-15 || got.Flagged != (want <= 0.06) {
			t.Errorf("P %v: Q %v, flagged %v, want %v", got.P, got.Q, got.Flagged, want)
		}
	}
}

// TestFewSteps: of five workers with one completion a step, all steps of one label fall on one worker with a chance of 5⁻ⁿ: two steps cannot be
// tested at any level that is asked for, and twenty can.
func TestFewSteps(t *testing.T) {
	for steps, tested := range map[int]bool{2: false, 20: true} {
		workers := make([]Worker, 5)
		for step := range int64(steps) {
			for w := range workers {
				done := 100 + (step*3+int64(w)*2)%5
				if w == 2 {
					done += 40
				}
				workers[w].Steps = append(workers[w].Steps, Step{Done: []int64{done}})
			}
		}
		r, err := Analyze(workers, Options{Window: 1})
		if err != nil {
			t.Fatal(err)
		}
		if s := r.Scores[2]; (s.Test != nil) != tested || tested && !s.Test.Flagged {
			t.Errorf("%d steps: %+v, %+v, want a test: %v", steps, s, r.Doubts, tested)
		}
	}
}

// TestRaise: each label is held against the lower median of those that have values; the largest departure of all windows is kept.
func TestRaise(t *testing.T) {
	d := &departures{total: []int32{1, 1, 0, 1, 1}, result: []int32{3, 3, 0, 3, 3}}
	d.raise([]int32{0, 10, 7, 20, 100})
	if want := []int32{10, 3, 0, 10, 90}; !slices.Equal(d.result, want) {
		t.Errorf("%v, want %v", d.result, want)
	}
}
