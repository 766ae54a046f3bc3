package main

import (
	"testing"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
)

// said returns a verdict with claims of ranks in stages.
func said(status answer.Status, claims ...claim) *spoken {
	return &spoken{runs: 1, status: status, claims: claims}
}

func late(rank int, stage string, certainty evidence.Confidence, gain float64) claim {
	return claim{kind: diagnose.KindRank, cause: diagnose.CauseLate, ranks: []int{rank}, stage: stage, certainty: certainty, gain: gain}
}

// TestRules: each rule holds where a verdict becomes what the rule allows, and breaks where it becomes something else.
func TestRules(t *testing.T) {
	strong, sure, weak := evidence.Strong, evidence.Supported, evidence.Ambiguous
	small := late(5, "optim", strong, 0.02)
	small.small = true
	straggler := said(answer.Straggler, late(2, "data", strong, 0.3), late(4, "data", weak, 0.1))
	for _, c := range []struct {
		rule          rule
		before, after *spoken
		holds         bool
	}{
		{same, straggler, said(answer.Straggler, late(4, "data", weak, 0.1), late(2, "data", strong, 0.3)), true},
		{same, straggler, said(answer.Straggler, late(2, "data", strong, 0.3)), false},
		{same, straggler, said(answer.Straggler, late(2, "data", strong, 0.3001), late(4, "data", weak, 0.1)), false},
		{same, straggler, &spoken{runs: 2, status: answer.Straggler, claims: straggler.claims}, false},
		{same, straggler, &spoken{refused: "no"}, false},
		{alike, straggler, said(answer.Straggler, late(2, "data", strong, 0.304), late(4, "data", weak, 0.1)), true},
		{alike, straggler, said(answer.Straggler, late(2, "data", strong, 0.306), late(4, "data", weak, 0.1)), false},
		{alike, straggler, said(answer.Straggler, late(3, "data", strong, 0.3), late(4, "data", weak, 0.1)), false},
		{nearly, straggler, said(answer.Straggler, late(2, "data", strong, 0.31)), true},
		{nearly, straggler, said(answer.Straggler, late(2, "data", strong, 0.32)), false},
		{nearly, straggler, said(answer.Straggler, late(2, "optim", strong, 0.3)), false},
		{nearly, straggler, said(answer.Straggler, late(2, "data", sure, 0.3)), false},
		{nearly, straggler, said(answer.UndecidedRun, late(2, "data", strong, 0.3)), false},
		{weaker, straggler, said(answer.UndecidedRun, late(2, "data", weak, 0.3)), true},
		{weaker, straggler, said(answer.Straggler, late(4, "data", sure, 0.1)), true},
		{weaker, straggler, said(answer.Straggler, late(3, "data", sure, 0.1)), false},
		{weaker, straggler, said(answer.Unseen), true},
		{weaker, straggler, said(answer.NoStraggler), false},
		{weaker, said(answer.Unseen), said(answer.NoStraggler), false},
		{weaker, said(answer.NoStraggler), said(answer.NoStraggler, late(1, "data", weak, 0.2), small), true},
		{damaged, straggler, said(answer.NoStraggler), true},
		{damaged, straggler, said(answer.Straggler, late(3, "data", sure, 0.1)), true},
		{damaged, straggler, said(answer.Straggler, late(3, "data", strong, 0.1)), false},
		{damaged, straggler, &spoken{refused: "no"}, true},
		{bereft, straggler, said(answer.UndecidedRun), true},
		{bereft, straggler, said(answer.Unseen), true},
		{bereft, straggler, said(answer.NoStraggler), false},
		{bereft, said(answer.Unseen), said(answer.NoStraggler), false},
		{bereft, said(answer.Hang, late(2, "", sure, 0)), said(answer.NoStraggler), false},
		{bereft, straggler, said(answer.Straggler, late(1, "data", strong, 0.1)), false},
		{culprit, straggler, said(answer.Straggler, late(2, "data", sure, 0.1)), true},
		{culprit, straggler, said(answer.Straggler, late(2, "data", weak, 0.3)), false},
		{culprit, straggler, said(answer.Straggler, late(1, "data", strong, 0.3), late(2, "data", strong, 0.3)), false},
		{culprit, said(answer.NoStraggler), said(answer.TooLittleData), true},
		{culprit, said(answer.NoStraggler), said(answer.Straggler, late(2, "data", sure, 0.3)), false},
	} {
		if why := c.rule.broken(c.before, c.after); (why == "") != c.holds {
			t.Errorf("%s: %v → %s: %q, want it to hold: %v", c.rule.name, c.before, c.after.verdictLine(), why, c.holds)
		}
	}
}

// TestRenamed: claims follow their ranks and hosts.
func TestRenamed(t *testing.T) {
	host := claim{kind: diagnose.KindHost, ranks: []int{0, 1}, host: "a", certainty: evidence.Strong}
	got := said(answer.Straggler, host).rename(names{ranks: map[int]int{0: 5, 1: 3}, hosts: map[string]string{"a": "b"}})
	if c := got.claims[0]; c.ranks[0] != 3 || c.ranks[1] != 5 || c.host != "b" {
		t.Errorf("%+v", c)
	}
	if host.ranks[0] != 0 {
		t.Error("the claim itself was renamed")
	}
}

// TestKnown: a cell that fails without being listed, and one that is listed and does not, are both said.
func TestKnown(t *testing.T) {
	listed := known{{Change: "split", Says: "two runs", Truth: "one run", Recordings: []string{"a", "b"}}}
	cell := func(recording string, s state) outcome {
		return outcome{recording: recording, change: "split", state: s}
	}
	for _, c := range []struct {
		done []outcome
		like bool
	}{
		{[]outcome{cell("a", broken), cell("b", broken), cell("c", holds)}, true},
		{[]outcome{cell("a", broken)}, true}, // b was not tried
		{[]outcome{cell("c", broken)}, false},
		{[]outcome{cell("a", holds)}, false},
		{[]outcome{cell("a", doesNotApply)}, false},
	} {
		if err := listed.unexpectedCells(c.done, changes); (err == nil) != c.like {
			t.Errorf("%v: %v", c.done, err)
		}
	}
}
