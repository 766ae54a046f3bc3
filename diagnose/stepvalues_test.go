package diagnose

import (
	"fmt"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/frontier/labels"
	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/trace/stagename"
)

// TestLacksOfSteps: what keeps the certainty of a claim of the steps where it is, one by one.
func TestLacksOfSteps(t *testing.T) {
	supported := func(r evidence.Reason) evidence.Lack {
		return evidence.Lack{Reason: r, AtMost: evidence.Supported}
	}
	for name, c := range map[string]struct {
		change func(j *judge, f *claim.Claim)
		want   []evidence.Lack
	}{
		"nothing":         {nil, nil},
		"no wall time":    {func(j *judge, _ *claim.Claim) { j.placed.walled = false }, []evidence.Lack{supported(evidence.NoWallTime)}},
		"mixed roles":     {func(j *judge, _ *claim.Claim) { j.placed.mixed = true }, []evidence.Lack{supported(evidence.RolesMixed)}},
		"within one role": {func(j *judge, _ *claim.Claim) { j.modelled.Within = true }, []evidence.Lack{supported(evidence.WithinOneRole)}},
		"incomplete":      {func(j *judge, _ *claim.Claim) { j.windows[0].Main.Labels = []labels.Label{labels.TelemetryLimited} }, []evidence.Lack{supported(evidence.Incomplete)}},
		"microsteps summed": {func(j *judge, _ *claim.Claim) {
			j.windows[0].Main.Labels = []labels.Label{labels.GradientAccumulationAmbiguous}
		}, []evidence.Lack{supported(evidence.MicrostepsSummed)}},
		"several ranks":  {func(_ *judge, f *claim.Claim) { f.Kind, f.Ranks = claim.Ranks, []int{1, 2} }, []evidence.Lack{supported(evidence.MayBeByDesign)}},
		"a set of peers": {func(_ *judge, f *claim.Claim) { f.Kind, f.Ranks = claim.PeerSet, []int{1, 2} }, nil},
	} {
		j := stepsOf()
		j.gates = gates.Default()
		main := *j.windows[0].Main
		j.windows[0].Main = &main
		j.placed = stepPlaces{ranks: []int{10, 11, 12, 13}, steps: numberedAs([]int64{100, 101, 102, 103}, make([]int, 4)), walled: true}
		j.modelled.Whole = 400
		j.modelled.Points = []points.Point{{Stage: 2, Evidence: points.Named}}
		f := claim.Claim{Kind: claim.Rank, Cause: claim.Late, Ranks: []int{1}, Host: -1, P: 1e-6, Certainty: claim.Strong, Size: 30, Length: 100, Saves: claim.Exact(0.3), Arrival: claim.Arrival{Waited: 1, Last: 4},
			Parts: []claim.Part{{Stage: 1, Size: 30, Charged: 120}}, Steps: claim.Struck{Count: 4, Of: 4, Last: 3, Pattern: claim.Constant, Incidents: 1, Ongoing: true}}
		if c.change != nil {
			c.change(j, &f)
		}
		for _, got := range j.modelFindings(&f) {
			var lacks []evidence.Lack
			sure := evidence.Strong
			for _, e := range got.Evidence {
				if l, ok := e.(evidence.Lack); ok {
					lacks, sure = append(lacks, l), min(sure, l.AtMost)
				}
			}
			if diff := gocmp.Diff(c.want, lacks); diff != "" || got.Confidence != sure {
				t.Errorf("%s: %v %s", name, got.Confidence, diff)
			}
		}
	}
}

// TestShownPoints: how it is known that ranks synchronise; a slope is that of waiting against working, which falls.
func TestShownPoints(t *testing.T) {
	for by, want := range map[points.Evidence]evidence.SyncPoint{points.Named: {Stage: "backward", By: "named"}, points.Likely: {Stage: "backward", By: "name"}, points.Shown: {Stage: "backward", By: "slope", Slope: 0.9, Low: 0.8, High: 0.95}} {
		j := stepsOf()
		j.placed = stepPlaces{ranks: []int{10, 11}, steps: numberedAs([]int64{100}, make([]int, 1)), walled: true}
		j.modelled.Points = []points.Point{{Stage: 2, Evidence: by, Slope: -0.9, Low: -0.95, High: -0.8}}
		f := claim.Claim{Kind: claim.Rank, Cause: claim.Late, Ranks: []int{1}, Host: -1, Certainty: claim.Strong, Parts: []claim.Part{{Stage: 1, Charged: 1}}, Steps: claim.Struck{Count: 1, Of: 1}}
		if got, _ := evidence.Find[evidence.SyncPoint](j.modelFindings(&f)[0].Evidence); got != want {
			t.Errorf("%v: %+v, want %+v", by, got, want)
		}
	}
}

// TestOutsideBehindLikelyPoint: where ranks only likely synchronise in a stage they may as well wait in none, and who is longer there may be late.
func TestOutsideBehindLikelyPoint(t *testing.T) {
	for _, by := range []points.Evidence{points.Likely, points.Shown} {
		for stage, name := range []string{"data", "forward", "backward", stagename.Residual} {
			j := stepsOf()
			j.placed = stepPlaces{ranks: []int{10, 11}, steps: numberedAs([]int64{100}, make([]int, 1)), walled: true}
			j.modelled.Stages = append(j.modelled.Stages, points.Stage{Name: "rest", Role: points.Rest})
			j.modelled.Points = []points.Point{{Stage: 2, Evidence: by}}
			f := claim.Claim{Kind: claim.Rank, Cause: claim.Late, Ranks: []int{1}, Host: -1, Certainty: claim.Supported, Parts: []claim.Part{{Stage: stage, Charged: 1}}, Steps: claim.Struck{Count: 1, Of: 1}, Arrival: claim.Arrival{Waited: 1}}
			want := evidence.Supported
			if by == points.Likely && name == stagename.Residual {
				want = evidence.Ambiguous
			}
			if got := j.modelFindings(&f)[0]; got.Confidence != want || got.Stage != name {
				t.Errorf("%v, in %s: %v in %s, want %v", by, name, got.Confidence, got.Stage, want)
			}
		}
	}
}

// TestParts: a claim is about the stage with six tenths of it, microsteps together; one that is slow by a factor is about none.
func TestParts(t *testing.T) {
	for name, c := range map[string]struct {
		charged [3]int64
		factor  float64
		stage   string
		mainly  string
	}{
		"six tenths":     {[3]int64{20, 60, 20}, 0, "forward", ""},
		"less":           {[3]int64{21, 59, 20}, 0, "", "forward"},
		"by one factor":  {[3]int64{0, 100, 0}, 1.2, "", "forward"},
		"the first most": {[3]int64{90, 5, 5}, 0, "data", ""},
	} {
		j := stepsOf()
		j.placed = stepPlaces{ranks: []int{10, 11}, steps: numberedAs([]int64{100, 101, 102, 103}, make([]int, 4)), walled: true}
		j.modelled.Whole = 400
		f := claim.Claim{Kind: claim.Rank, Cause: claim.Late, Ranks: []int{1}, Host: -1, P: 1e-6, Certainty: claim.Strong, Size: 30, Length: 100, Saves: claim.Exact(0.3), Arrival: claim.Arrival{Waited: 1, Last: 4, Factor: c.factor},
			Steps: claim.Struck{Count: 4, Of: 4, Last: 3, Pattern: claim.Constant, Incidents: 1}}
		for k, x := range c.charged {
			f.Parts = append(f.Parts, claim.Part{Stage: k, Charged: x})
		}
		got := j.modelFindings(&f)[0]
		e := got.Evidence[0].(evidence.LastToArrive)
		if got.Stage != c.stage || e.Stage != c.stage || e.Mainly != c.mainly || *got.Rank != 11 || e.Rank != 11 || got.Explained != 100 || got.Score != 0.25 {
			t.Errorf("%s: %s, %+v", name, findingInShort(got), e)
		}
	}
}

// TestTurnsAndChanges: what is said of turns, of a start-up, of a change that lies outside of all stages.
func TestTurnsAndChanges(t *testing.T) {
	of := func(f claim.Claim) *Finding {
		j := stepsOf()
		j.modelled.Stages = append(j.modelled.Stages, points.Stage{Name: "rest", Role: points.Rest})
		j.placed = stepPlaces{ranks: []int{10, 11, 12, 13}, hosts: []string{"a", "b"}, host: []int{0, 1, 1, -1}, steps: numberedAs([]int64{100, 101, 102, 103}, make([]int, 4)), walled: true}
		j.modelled.Whole, j.modelled.Step = 400, 100
		f.Kind, f.Host, f.Certainty, f.Length = claim.Everyone, -1, claim.Supported, 130
		if f.Cause == claim.StartUp && len(f.Ranks) == 1 {
			f.Kind = claim.Rank
		}
		return j.modelFindings(&f)[0]
	}
	several := evidence.Lack{Reason: evidence.SeveralCauses, AtMost: evidence.Supported}
	struck := claim.Struck{Count: 3, Of: 4, First: 1, Last: 3, Pattern: claim.Span}
	in := func(stage int) []claim.Part { return []claim.Part{{Stage: stage, Size: 30, Charged: 90}} }
	slow := evidence.SlowSteps{N: 3, Of: 4, Factor: 1.3, Excess: 30, First: 101, Last: 103}
	periodic := struck
	periodic.Pattern, periodic.Period = claim.Periodic, 2
	eleven := 11
	for name, c := range map[string]struct {
		f    claim.Claim
		want string // kind, cause, stage, certainty, rank
		e    []evidence.Observation
	}{
		"turns": {claim.Claim{Cause: claim.Turns, Saves: claim.Exact(0.2), Size: 30, P: 1e-4, Parts: in(1), Steps: struck, Rotation: claim.Rotation{Turns: []claim.Turn{{Rank: 2, N: 5}, {Rank: 0, N: 4}}, Even: 0.3}},
			"workload turns forward supported", []evidence.Observation{evidence.LateIntermittently{Stage: "forward", Saves: 0.2, Ranks: 4, Late: []int{12, 10}, Turns: []int{5, 4}, P: 0.3, Even: true}, several}},
		"long turns": {claim.Claim{Cause: claim.Turns, Ranks: []int{2, 0, 1, 3}, Saves: claim.Exact(0.2), Size: 30, P: 1e-4, Parts: in(1), Steps: struck, Rotation: claim.Rotation{Turns: []claim.Turn{{Rank: 2, N: 5}}, Even: gates.Supported}},
			"workload turns forward supported", []evidence.Observation{evidence.LateIntermittently{Stage: "forward", Saves: 0.2, Ranks: 4, Late: []int{12}, Turns: []int{5}, P: gates.Supported},
				evidence.RankToRank{Stage: "forward", Saves: 0.2, P: 1e-4, Ranks: []int{12, 10, 11, 13}, Hosts: []string{"b", "a"}}, several}},
		"a start-up":        {claim.Claim{Cause: claim.StartUp, Size: 30, P: 1, Saves: claim.Exact(0.5), Parts: in(1), Steps: struck}, "stage start_up forward supported", []evidence.Observation{slow}},
		"one rank's":        {claim.Claim{Cause: claim.StartUp, Ranks: []int{1}, Size: 30, P: 1, Parts: in(1), Steps: struck}, fmt.Sprintf("rank start_up forward supported %d", eleven), []evidence.Observation{slow}},
		"slow steps":        {claim.Claim{Cause: claim.SlowSteps, Size: 30, P: 1, Parts: in(1), Steps: struck}, "stage slow_steps forward supported", []evidence.Observation{slow, several}},
		"at every other":    {claim.Claim{Cause: claim.SlowSteps, Size: 30, P: 1, Parts: in(1), Steps: periodic}, "stage periodic forward supported", []evidence.Observation{slow, several}},
		"outside of stages": {claim.Claim{Cause: claim.SlowSteps, Size: 30, P: 1, Parts: in(3), Steps: periodic}, "stage periodic step.other_cpu_wall ambiguous", []evidence.Observation{slow, evidence.Lack{Reason: evidence.MayBeByDesign, AtMost: evidence.Ambiguous}}},
		"in several stages": {claim.Claim{Cause: claim.SlowSteps, Size: 30, P: 1, Parts: append(in(1), in(0)...), Steps: struck}, "workload slow_steps  supported", []evidence.Observation{slow, several}},
		"a change": {claim.Claim{Cause: claim.Regression, Size: 30, P: 1, Parts: in(1), Steps: struck, Change: claim.Change{Before: 50, From: 80}}, "stage regression forward supported",
			[]evidence.Observation{evidence.Slower{Stage: "forward", Steps: [2]int64{101, 103}, BaseSteps: [2]int64{100, 100}, Time: 80, BaseTime: 50}, slow, several}},
	} {
		got := of(c.f)
		short := fmt.Sprintf("%s %s %s %s", got.Kind, got.Cause, got.Stage, got.Confidence)
		if got.Rank != nil {
			short += fmt.Sprintf(" %d", *got.Rank)
		}
		if diff := gocmp.Diff(c.e, got.Evidence); diff != "" || short != c.want {
			t.Errorf("%s: %q, want %q; %s", name, short, c.want, diff)
		}
		if c.f.Cause == claim.StartUp && (!got.BelowMinGain || got.RunGain != 0 || got.Gain != 0 || got.After != 0 || got.RunAtMost != 0 || got.RunLow != 0 || got.Excess != 30) {
			t.Errorf("%s costs %+v", name, got.Cost)
		}
	}
}
