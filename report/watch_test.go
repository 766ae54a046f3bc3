package report

import (
	"strings"
	"testing"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/frontier"
)

// A window whose stage times show nobody late has the rank that arrivals show in its
// steps, and in others not.
func TestWindowLine(t *testing.T) {
	for name, c := range map[string]struct {
		first   int64
		pattern diagnose.Pattern
		sure    evidence.Confidence
		want    string
	}{
		"in its steps":          {0, diagnose.PatternConstant, evidence.Strong, "steps 0–19, rank 2 (n1) in backward: 60.0 ms of every 200 ms step"},
		"in later steps":        {40, diagnose.PatternWindow, evidence.Strong, "steps 0–19, no rank is found to delay the 200 ms step by 10.0 % or more"},
		"now and then":          {0, diagnose.PatternIntermittent, evidence.Strong, "steps 0–19, no rank is found to delay the 200 ms step by 10.0 % or more"},
		"not known for certain": {0, diagnose.PatternConstant, evidence.Ambiguous, "steps 0–19, no rank is found to delay the 200 ms step by 10.0 % or more"},
	} {
		t.Run(name, func(t *testing.T) {
			v := &diagnose.RunVerdict{MinGain: 0.1, Findings: []diagnose.Finding{{Kind: diagnose.KindRank, Cause: diagnose.CauseLate,
				Place: diagnose.Place{Rank: ptr(2), Host: "n1", Stage: "model.backward_cpu_wall"}, Confidence: c.sure,
				Cost:     diagnose.Cost{Excess: 60e6, Struck: diagnose.Struck{First: c.first, Last: 59, Pattern: c.pattern}},
				Evidence: []evidence.Observation{evidence.LastToEnter{Source: evidence.FromArrivals, Rank: 2}}}}}
			var out strings.Builder
			w := &diagnose.Window{Main: &frontier.Result{Run: "job", Steps: 20, Makespan: 4e9}}
			if err := (Output{W: &out}).Window(v, w); err != nil || !strings.HasSuffix(out.String(), c.want+"\n") {
				t.Errorf("%q, %v, expected …%s", out.String(), err, c.want)
			}
		})
	}
}
