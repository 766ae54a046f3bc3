package report

import (
	"strings"
	"testing"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/trace"
)

// TestSentencesAreFilled: of no question and no problem a name in braces is left, whether its
// values are there or not.
func TestSentencesAreFilled(t *testing.T) {
	check := func(kind, text string) {
		t.Helper()
		if text == "" || text == kind || strings.ContainsAny(text, "{}") || strings.Contains(text, "%!") {
			t.Errorf("%s is %q", kind, text)
		}
	}
	for _, name := range answer.Question("").Names() {
		q := answer.Question(name)
		check(name, questionWords(answer.Undecided{Question: q}))
		check(name, questionWords(answer.Undecided{Question: q, N: 2, Share: 0.2}))
		check(name, questionWords(answer.Undecided{Question: q, Hides: 1e6, N: 2, Ranks: []int{1, 2}, Stage: "a", Name: "b", About: []evidence.Subject{{}, {}}}))
	}
	window := int64(3)
	for _, kind := range []answer.ProblemKind{answer.RanksMissing, answer.DumpsMissing, answer.StepsTwice, answer.StepsDropped, answer.StagesChange, answer.WorldChanges, answer.AccumulationChanges,
		answer.RecordingError, answer.BaselineTooShort, answer.CallsWithoutKernels, answer.MonitoringHost, answer.MonitoringTime, answer.MonitoringZone} {
		check(string(kind), problemWords(answer.Problem{Problem: kind, N: 1, Of: 2, Ranks: trace.RankSetOf([]int{4}), Steps: &[2]int64{5, 6}, Window: &window, Times: &[4]int64{}}))
	}
}
