package diagnose

import (
	"testing"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/claim"
)

// TestSlowedBy: late ranks explain of steps that are slow on all ranks their own delay, in the steps
// that they strike, where they are as sure and in the same stage.
func TestSlowedBy(t *testing.T) {
	slow := Finding{Place: Place{Stage: "forward"}, Cost: Cost{Excess: 100, Struck: Struck{Count: 10, Of: 100}}, Confidence: evidence.Supported}
	late := func(change func(*Finding)) Finding {
		f := Finding{Place: Place{Stage: "forward"}, Cost: Cost{Excess: 40, Struck: Struck{Count: 5, Of: 100}}, Confidence: evidence.Supported}
		if change != nil {
			change(&f)
		}
		return f
	}
	anywhere := slow
	anywhere.Stage = ""
	none := slow
	none.Excess = 0
	for name, c := range map[string]struct {
		slow Finding
		late []Finding
		want float64
	}{
		"40 of 100 ns, in half of its steps":    {slow, []Finding{late(nil)}, 0.4 * 0.5},
		"two of them":                           {slow, []Finding{late(nil), late(nil)}, 2 * 0.4 * 0.5},
		"more than there is":                    {slow, []Finding{late(func(f *Finding) { f.Excess, f.Struck.Count = 400, 50 })}, 1},
		"three that explain more than there is": {slow, []Finding{late(func(f *Finding) { f.Excess, f.Struck.Count = 60, 10 }), late(func(f *Finding) { f.Excess, f.Struck.Count = 60, 10 })}, 1},
		"in another stage":                      {slow, []Finding{late(func(f *Finding) { f.Stage = "data" })}, 0},
		"steps slow in no one stage":            {anywhere, []Finding{late(func(f *Finding) { f.Stage = "data" })}, 0.4 * 0.5},
		"not sure":                              {slow, []Finding{late(func(f *Finding) { f.Confidence = evidence.Ambiguous })}, 0},
		"too small to act on":                   {slow, []Finding{late(func(f *Finding) { f.BelowMinGain = true })}, 0},
		"nothing to explain":                    {none, []Finding{late(nil)}, 0},
	} {
		if got := (&judge{}).slowedBy(&c.slow, c.late); got < c.want-1e-12 || got > c.want+1e-12 {
			t.Errorf("%s: %v, expected %v", name, got, c.want)
		}
	}
}

// TestSameStage: a collective's theory covers its own operator in its stage, a heavy stage's all computing there.
func TestSameStage(t *testing.T) {
	at := func(kind claim.Kind, cause claim.Cause, stage int, op string) *theory {
		return &theory{Claim: claim.Claim{Kind: kind, Cause: cause, Parts: []claim.Part{{Stage: stage}}, Operation: claim.Operation{Op: op}}}
	}
	changes := func(stage int, op string) *theory { return at(claim.PeerSet, claim.Regression, stage, op) }
	collective := func(op string) *theory { return at(claim.Communicator, claim.Transfer, 1, op) }
	heavy := at(claim.PeerSet, claim.Heavy, 1, "")
	for name, c := range map[string]struct {
		one, other *theory
		want       bool
	}{
		"one collective":             {changes(1, "grads-reduce-scatter"), collective("grads-reduce-scatter"), true},
		"another collective":         {changes(1, "params-all-gather"), collective("grads-reduce-scatter"), false},
		"a collective elsewhere":     {changes(2, "grads-reduce-scatter"), collective("grads-reduce-scatter"), false},
		"computing of a heavy stage": {changes(1, "backward-compute"), heavy, true},
		"all of a heavy stage":       {changes(1, ""), heavy, true},
		"a transfer there":           {changes(1, "forward-send"), heavy, false},
		"computing elsewhere":        {changes(2, "backward-compute"), heavy, false},
		"a worker's":                 {changes(1, "backward-compute"), at(claim.Rank, claim.Late, 1, "backward-compute"), false},
		"everyone's":                 {at(claim.Everyone, claim.Regression, 1, "backward-compute"), heavy, false},
	} {
		if got := c.one.isSameStage(c.other); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
