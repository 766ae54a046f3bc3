package report

import (
	"strings"
	"testing"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
)

// TestSmallDelaysAreSaid: the reason why nobody is a straggler does not deny a late rank
// that is certain and below the threshold, by itself or with its host.
func TestSmallDelaysAreSaid(t *testing.T) {
	three := 3
	for name, c := range map[string]struct {
		suspect   diagnose.Finding
		says, not string
	}{
		"rank":      {diagnose.Finding{Kind: diagnose.KindRank, Place: diagnose.Place{Rank: &three, Stage: "data"}, Confidence: evidence.Supported}, "below the threshold: rank 3 in data, 21.0 ms of every 221 ms step, 9.4 %", "nobody"},
		"host":      {diagnose.Finding{Kind: diagnose.KindHost, Place: diagnose.Place{Host: "b", Ranks: []int{2, 3}, Stage: "data"}, Confidence: evidence.Strong}, "all ranks of b (ranks 2 and 3) in data, 21.0 ms of every 221 ms step, 9.4 %", "nobody"},
		"uncertain": {diagnose.Finding{Kind: diagnose.KindRank, Place: diagnose.Place{Rank: &three, Stage: "data"}, Confidence: evidence.Ambiguous}, "nobody last more often than chance", "rank 3"},
	} {
		t.Run(name, func(t *testing.T) {
			c.suspect.Cause, c.suspect.BelowMinGain, c.suspect.RunGain = diagnose.CauseLate, true, 0.094
			c.suspect.Excess, c.suspect.Step = 21e6, 221e6
			v := &diagnose.RunVerdict{Status: answer.NoStraggler, MinGain: 0.1, Findings: []diagnose.Finding{c.suspect},
				Observed: []evidence.Observation{evidence.NobodyLate{Ranks: 4, Steps: 60, Step: 200e6, Last: &evidence.LastMostOften{Rank: 2, N: 16, Of: 60, P: 1}}}}
			if why := answerTo(v).why; !strings.Contains(why, c.says) || strings.Contains(why, c.not) {
				t.Errorf("%q, want %q and not %q", why, c.says, c.not)
			}
		})
	}
}
