package diagnose

import (
	"slices"
	"testing"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Ranks that are late each for a reason of its own are findings of their own, and those of one reason
// are named together.
func TestLateTogether(t *testing.T) {
	sure := claim.Claim{Ranks: []int{3}, P: 1e-9, Certainty: claim.Strong, Saves: claim.Saving{Alone: 0.2, AtMost: 0.2, After: 0.12}, Size: 60e6, Length: 400e6, Entered: &claim.Entered{Strikes: 40, Points: 57}}
	for name, c := range map[string]struct {
		ranks      []int
		certainty  claim.Certainty
		confidence evidence.Confidence
	}{
		"each":     {nil, claim.Strong, evidence.Strong},
		"together": {[]int{3, 4}, claim.Strong, evidence.Strong},
		"unsure":   {nil, claim.Supported, evidence.Supported},
	} {
		t.Run(name, func(t *testing.T) {
			other := sure
			sure.Together, other.Together, other.Ranks, other.Certainty = c.ranks, c.ranks, []int{4}, c.certainty
			j := &judge{run: &run{}, minGain: 0.1}
			all := j.lateArrivals(&arrivals.Result{Places: []arrivals.Place{{Op: "all_gather"}}, Late: []claim.Claim{sure, other}})
			if len(all) != 2 || !slices.Equal(all[1].Ranks, c.ranks) || all[1].Confidence != c.confidence || all[1].RunAtMost != 0.2 {
				t.Errorf("%+v", all)
			}
		})
	}
}

// Where messages are not recorded a rank that stage times show is no late rank, a wait
// is no slow transfer, and the first thing to do is to record the messages.
func TestBehindMessages(t *testing.T) {
	for name, c := range map[string]struct {
		silent     []string
		confidence evidence.Confidence
		questions  []answer.Question
		first      answer.Source
	}{
		"recorded":     {nil, evidence.Strong, []answer.Question{answer.TransferHidden, answer.RankHidden}, answer.SourceBaseline},
		"not recorded": {[]string{"0"}, evidence.Insufficient, []answer.Question{answer.MessagesNotRecorded}, answer.SourceMessages},
	} {
		t.Run(name, func(t *testing.T) {
			rank := 1
			f := Finding{Kind: KindRank, Cause: CauseLate, Place: Place{Rank: &rank, Stage: "forward"}, Confidence: evidence.Strong}
			j := &judge{run: &run{}, minGain: 0.1, entered: &arrivals.Result{Step: 100e6, Silent: c.silent}}
			claims := j.doubtBehindMessages([]Finding{f})
			open := j.askMessages(claims, []answer.Undecided{
				{Question: answer.TransferHidden, Hides: 40e6, Step: 100e6, Needs: answer.SourceBaseline}, {Question: answer.RankHidden, Hides: 40e6, Step: 100e6, Needs: answer.SourceArrivals}})
			var asked []answer.Question
			for _, u := range open {
				asked = append(asked, u.Question)
			}
			if claims[0].Confidence != c.confidence || !slices.Equal(asked, c.questions) {
				t.Errorf("%s, open: %v; expected %s, %v", claims[0].Confidence, asked, c.confidence, c.questions)
			}
			if next := j.next(answer.UndecidedRun, claims, open, nil); next[0].With != c.first {
				t.Errorf("first %+v, expected to turn on %s", next[0], c.first)
			}
		})
	}
}

// TestPipelineByTimes: where ranks exchange messages alone and do different work, stage times name nobody; what
// entries say as well stands, and so does what no rank is named in.
func TestPipelineByTimes(t *testing.T) {
	byTimes := claimed(1, "backward", 0.2, evidence.Supported)
	byTimes.modelled = true
	entered := byTimes
	entered.Evidence = []evidence.Observation{evidence.LastToEnter{Source: evidence.FromArrivals, Rank: 1}}
	message := arrivals.Place{Kind: nccl.Recv, Repeats: true, Unlike: true}
	for name, c := range map[string]struct {
		places []arrivals.Place
		f      Finding
		want   evidence.Confidence
	}{
		"messages alone":        {[]arrivals.Place{message}, byTimes, evidence.Insufficient},
		"and a collective":      {[]arrivals.Place{message, {Repeats: true}}, byTimes, evidence.Supported},
		"entries say it too":    {[]arrivals.Place{message}, entered, evidence.Supported},
		"all ranks alike":       {[]arrivals.Place{message}, allRanks(CauseSlowSteps, "backward", 0.2), evidence.Supported},
		"by another recording":  {[]arrivals.Place{message}, claimed(1, "backward", 0.2, evidence.Supported), evidence.Supported},
		"nobody exchanges them": {nil, byTimes, evidence.Supported},
	} {
		j := withEntries(stepsOf(), arrivals.Result{Step: 100e6, Places: c.places})
		if got := j.doubtBehindMessages([]Finding{c.f})[0]; got.Confidence != c.want {
			t.Errorf("%s: %s, want %s", name, got.Confidence, c.want)
		}
	}
}

// A rank that stage times find late may have waited only in receives inside that stage,
// where no collective compares the work of the ranks.
func TestInheritsWithoutCollective(t *testing.T) {
	for name, c := range map[string]struct {
		kind  nccl.Op
		stage string
		want  bool
	}{
		"a receive inside":  {nccl.Recv, "forward", true},
		"a receive outside": {nccl.Recv, "step.other_cpu_wall", false},
		"a send inside":     {nccl.Send, "forward", false},
	} {
		t.Run(name, func(t *testing.T) {
			rank := 1
			f := Finding{Kind: KindRank, Cause: CauseLate, Place: Place{Rank: &rank, Stage: "forward"}, Cost: Cost{Excess: 30e6}}
			r := &arrivals.Result{Places: []arrivals.Place{{Kind: c.kind, Stage: c.stage, Repeats: true, Unlike: true,
				Ranks: []arrivals.RankAt{{Rank: 0, Delay: 40e6}, {Rank: 1}}}}}
			if got := f.inherits(r); got != c.want {
				t.Errorf("%v, expected %v", got, c.want)
			}
		})
	}
}

// TestHostOfDumpsStays: windows that name no host leave that of the dumps.
func TestHostOfDumpsStays(t *testing.T) {
	rank := 3
	f := Finding{Place: Place{Rank: &rank, Host: "node1"}}
	j := &judge{run: &run{windows: []Window{{Main: &frontier.Result{Members: []trace.Rank{{ID: 3, LocalRank: -1}}}}}}}
	if j.locate(&f); f.Host != "node1" || f.LocalRank != nil {
		t.Errorf("%+v", f.Place)
	}
}
