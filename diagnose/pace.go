package diagnose

import (
	"slices"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/claim"
)

// boundPaced makes what a claim on a rank saves an upper bound where its steps show that it waits for what comes at its own pace,
// whatever else shows that it is late: entries show that it is, and not what for. Where others wait there too, nothing is
// saved.
func (j *judge) boundPaced(claims []Finding) []Finding {
	out := slices.Clone(claims)
	for i := range out {
		f := &out[i]
		c := j.pacedClaim(f)
		if c == nil {
			continue
		}
		main, _ := j.mainStage(c)
		if len(c.Pace.Peers) > 0 {
			f.Evidence = slices.DeleteFunc(slices.Clone(f.Evidence), func(e evidence.Observation) bool { _, ok := e.(evidence.Replay); return ok })
		}
		f.Evidence = insertBeside(f.Evidence, []evidence.Observation{evidence.OwnPace{Rank: *f.Rank, Stage: main, Slope: -c.Pace.Slope, Low: -c.Pace.High, High: -c.Pace.Low, Peers: j.placed.ids(c.Pace.Peers)}}, nil)
		f.lack(evidence.Lack{Reason: evidence.OthersMayWait, AtMost: evidence.Supported})
		f.RunLow = 0
		if len(c.Pace.Peers) > 0 {
			f.Gain, f.RunGain, f.RunAtMost, f.After, f.Score, f.BelowMinGain = 0, 0, 0, 0, 0, true
		}
	}
	return out
}

// waitsWithOthers reports whether others wait where the rank of a finding does, for what comes at its own pace.
func (f *Finding) waitsWithOthers() bool {
	e, ok := evidence.Find[evidence.OwnPace](f.Evidence)
	return ok && len(e.Peers) > 0
}

// pacedClaim returns the claim of the steps on the rank of a finding, if that rank waits for what comes at its own pace; else nil.
func (j *judge) pacedClaim(f *Finding) *claim.Claim {
	if j.modelled == nil || f.Rank == nil || f.Cause != CauseLate || f.Kind != KindRank {
		return nil
	}
	for i := range j.modelled.Claims {
		if c := &j.modelled.Claims[i]; c.Pace != nil && j.placed.ranks[c.Rank()] == *f.Rank {
			return c
		}
	}
	return nil
}
