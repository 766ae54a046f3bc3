package delay_test

import (
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/delay"
	"github.com/sfstat/sfstat/engine/points"
)

// TestRecordingError: one value that is an hour too large is set aside with its place, and the
// straggler next to it is found.
func TestRecordingError(t *testing.T) {
	const hour = 3_600_000_000_000
	run, _ := job{seed: 3, ranks: 8, steps: 100, noise: 0.02}.play(fault{ranks: []int{5}, stage: 1, ms: 50})
	run.At(40, 0)[2] += hour
	run.Wall[40*run.Ranks+2] += hour
	r := analyzed(run, delay.Options{})
	if e := r.Errors; len(e) != 1 || e[0].Step != 40 || e[0].Rank != 2 || e[0].Stage != 0 || e[0].Size < hour-1e9 || e[0].Size > hour+1e9 {
		t.Errorf("recording errors %+v, want rank 2 in data of step 40 by an hour", e)
	}
	if f := actionable(r); len(f) != 1 || f[5].Parts == nil {
		t.Errorf("named %v, want rank 5", f)
	}
}

// TestOrderOfRanks: other numbers for the ranks give the same answer under these numbers.
func TestOrderOfRanks(t *testing.T) {
	run, _ := job{seed: 4, ranks: 8, steps: 60, noise: 0.05, ar: 0.8, spikes: 0.02}.play(fault{ranks: []int{6}, stage: 0, ms: 70})
	turned, _ := job{seed: 4, ranks: 8, steps: 60, noise: 0.05, ar: 0.8, spikes: 0.02}.play(fault{ranks: []int{6}, stage: 0, ms: 70})
	for at := 0; at < len(turned.Durations); at += 8 {
		slices.Reverse(turned.Durations[at : at+8])
	}
	for at := 0; at < len(turned.Wall); at += 8 {
		slices.Reverse(turned.Wall[at : at+8])
	}
	a, b := analyzed(run, delay.Options{}).Claims, analyzed(turned, delay.Options{}).Claims
	if len(a) == 0 || len(a) != len(b) {
		t.Fatalf("%d findings, %d in the other order", len(a), len(b))
	}
	if a[0].Ranks[0] != 6 || b[0].Ranks[0] != 1 || a[0].Saves.Alone-b[0].Saves.Alone > 1e-9 || a[0].P != b[0].P {
		t.Errorf("%+v, in the other order %+v", a[0], b[0])
	}
}

// TestNowhere: where nobody waits for anybody there are no points, and the slow rank is found all
// the same, without a witness.
func TestNowhere(t *testing.T) {
	run, _ := job{seed: 5, ranks: 8, steps: 100, noise: 0.02, free: true}.play(fault{ranks: []int{3}, stage: 0, ms: 60})
	if p := points.Find(&run.Steps, points.Gates{}).Points; slices.ContainsFunc(p, func(p points.Point) bool { return p.Evidence == points.Shown }) {
		t.Errorf("points %+v, want none shown", p)
	}
	f, ok := actionable(analyzed(run, delay.Options{}))[3]
	if !ok || f.Certainty != claim.Supported {
		t.Errorf("rank 3 is named %v, %+v; want Supported", ok, f)
	}
}
