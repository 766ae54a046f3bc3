package frontier

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/trace"
)

// TestFindingsOnly: what an account for findings keeps is what the whole account says,
// the lag of a leading stage with one leading rank included.
func TestFindingsOnly(t *testing.T) {
	leads := 0
	check := func(t *testing.T, _ *rand.Rand, w *trace.Window) {
		for _, by := range everyCut {
			whole := mustAnalyze(t, w, Options{Cut: by}).Main
			brief := mustAnalyze(t, w, Options{Cut: by, Depth: FindingsOnly}).Main
			if whole.leads() {
				leads++
				a, b := whole.Stages[whole.Leader.Stage], brief.Stages[brief.Leader.Stage]
				if a.Lag != b.Lag || a.LagIncrease != b.LagIncrease {
					t.Errorf("cut %s: lag %d and increase %d, want %d and %d", by, b.Lag, b.LagIncrease, a.Lag, a.LagIncrease)
				}
			}
			if diff := cmp.Diff(kept(whole), kept(brief)); diff != "" {
				t.Errorf("cut %s: %s", by, diff)
			}
		}
	}
	eachRandomWindow(t, check)
	if leads == 0 {
		t.Error("no rank leads in any window")
	}
}

// kept is what both depths have of an account.
func kept(r *Result) map[string]any {
	stages := make([]Stage, len(r.Stages))
	for i, s := range r.Stages {
		stages[i] = Stage{Name: s.Name, Advance: s.Advance, Share: s.Share, Gain: s.Gain, Latest: s.Latest, Gap: s.Gap, Syncs: s.Syncs, Wait: s.Wait}
	}
	return map[string]any{"stages": stages, "makespan": r.Makespan, "work": r.Work, "leader": r.Leader,
		"routing": r.Routing, "slack": r.Slack(0), "at": r.SyncPoint.At, "cut": r.Cut}
}
