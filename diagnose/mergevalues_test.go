package diagnose

import (
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/engine/delay"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/trace"
)

// TestAgree: what a claim becomes that another recording makes too: certainty, place and cost, one by one.
func TestAgree(t *testing.T) {
	line := &evidence.SourceLine{File: "a.py", Line: 3}
	own := claimed(2, "forward", 0.2, evidence.Supported)
	own.Evidence = []evidence.Observation{evidence.Replay{Saves: 0.2}, evidence.Lack{Reason: evidence.NoWallTime, AtMost: evidence.Supported}}
	other := claimed(2, "backward", 0.3, evidence.Strong)
	other.Op, other.Group, other.Source, other.Host = "all_reduce", "0", line, "a"
	enters, replay := evidence.LastToEnter{Source: evidence.FromNCCL, Rank: 2}, evidence.Replay{Saves: 0.3}
	other.Evidence = []evidence.Observation{enters, replay}
	of := evidence.Witness{Source: evidence.FromNCCL, Agrees: true, Confidence: evidence.Strong, Raised: true}
	not := of
	not.Raised = false
	for name, c := range map[string]struct {
		own, other func(f *Finding)
		source     evidence.Source
		want       func(f *Finding)
	}{
		"it raises, and saves more": {nil, nil, evidence.FromNCCL, func(f *Finding) {
			f.Confidence, f.Cost, f.Op, f.Group, f.Source, f.Host = evidence.Strong, other.Cost, "all_reduce", "0", line, "a"
			f.Evidence = []evidence.Observation{of, enters, replay}
		}},
		"the other is as sure, and saves little more": {func(f *Finding) { f.Confidence, f.Evidence = evidence.Strong, f.Evidence[:1] }, func(f *Finding) { f.Cost = claimed(2, "", 0.24, 0).Cost }, evidence.FromNCCL, func(f *Finding) {
			f.Confidence, f.Op, f.Group, f.Source, f.Host = evidence.Strong, "all_reduce", "0", line, "a"
			f.Evidence = []evidence.Observation{evidence.Replay{Saves: 0.2}, not, enters}
		}},
		"as sure, and saves half as much again": {func(f *Finding) { f.Confidence, f.Evidence = evidence.Strong, f.Evidence[:1] }, nil, evidence.FromNCCL, func(f *Finding) {
			f.Confidence, f.Cost, f.Op, f.Group, f.Source, f.Host = evidence.Strong, other.Cost, "all_reduce", "0", line, "a"
			f.Evidence = []evidence.Observation{not, enters, replay}
		}},
		"less sure, and saves less": {func(f *Finding) { f.Confidence = evidence.Strong }, func(f *Finding) { f.Cost, f.Confidence = claimed(2, "", 0.1, 0).Cost, evidence.Supported }, evidence.FromNCCL, func(f *Finding) {
			w := not
			w.Confidence = evidence.Supported
			f.Confidence, f.Op, f.Group, f.Source, f.Host = evidence.Strong, "all_reduce", "0", line, "a"
			f.Evidence = []evidence.Observation{evidence.Replay{Saves: 0.2}, w, enters}
		}},
		"by kernels, in no stage": {func(f *Finding) { f.Stage = "" }, nil, evidence.FromNCCL, func(f *Finding) {
			f.Confidence, f.Cost, f.Stage, f.Op, f.Group, f.Source, f.Host = evidence.Strong, other.Cost, "", "all_reduce", "0", line, "a"
			f.Evidence = []evidence.Observation{of, enters, replay}
		}},
		"small alone, large by the other": {func(f *Finding) { f.Confidence, f.BelowMinGain, f.Evidence = evidence.Strong, true, nil }, nil, evidence.FromNCCL, func(f *Finding) {
			f.Confidence, f.BelowMinGain, f.Cost, f.Op, f.Group, f.Source, f.Host = evidence.Strong, false, other.Cost, "all_reduce", "0", line, "a"
			f.Evidence = []evidence.Observation{of, enters, replay}
		}},
	} {
		f, l, want := own, other, own
		if c.own != nil {
			c.own(&f)
			c.own(&want)
		}
		if c.other != nil {
			c.other(&l)
		}
		c.want(&want)
		f.agree(&l, evidence.Witness{Source: c.source})
		if diff := gocmp.Diff(want, f, gocmp.AllowUnexported(Finding{})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestPlaceInPipeline: of the stages of a pipeline entries alone show who is late, and where; of other ranks the steps do too.
func TestPlaceInPipeline(t *testing.T) {
	for roles, want := range map[bool][]int{true: {1}, false: {1, 2}} {
		j := stepsOf()
		j.entered, j.late = &arrivals.Result{Roles: roles}, []Finding{claimed(1, "rest", 0.2, evidence.Ambiguous)}
		steps := []Finding{claimed(1, "backward", 0.2, evidence.Strong), claimed(2, "backward", 0.1, evidence.Strong)}
		for i := range steps {
			steps[i].modelled = true
		}
		var ranks []int
		got := j.joinEntries(steps)
		for _, f := range got {
			ranks = append(ranks, *f.Rank)
		}
		if slices.Sort(ranks); !slices.Equal(ranks, want) || roles && (got[0].Stage != "rest" || got[0].Confidence != evidence.Ambiguous) {
			t.Errorf("roles %t: ranks %v, %+v", roles, ranks, got)
		}
	}
}

// TestWaitOfAll: a stage that becomes longer on all ranks by no more than twice what a rank is late by elsewhere is their wait for it, where each step
// repeats a call in that stage.
func TestWaitOfAll(t *testing.T) {
	for name, c := range map[string]struct {
		place arrivals.Place
		late  float64
		left  int
	}{
		"waits there":              {arrivals.Place{Stage: "data", Repeats: true}, 0.2, 0},
		"elsewhere":                {arrivals.Place{Stage: "optimizer", Repeats: true}, 0.2, 1},
		"now and then":             {arrivals.Place{Stage: "data"}, 0.2, 1},
		"a message":                {arrivals.Place{Stage: "data", Repeats: true, Unlike: true}, 0.2, 1},
		"the rank is late by less": {arrivals.Place{Stage: "data", Repeats: true}, 0.08, 1},
	} {
		j := stepsOf()
		j.entered, j.late = &arrivals.Result{Places: []arrivals.Place{c.place}}, []Finding{claimed(1, "callbacks", c.late, evidence.Strong)}
		if got := j.chargeRest([]Finding{allRanks(CauseRegression, "data", 0.18)}); len(got) != c.left {
			t.Errorf("%s: %d claims, want %d", name, len(got), c.left)
		}
	}
}

// TestUncertainCost: what a certain claim costs by another one is as uncertain as that, where it is more than twice as much in all.
func TestUncertainCost(t *testing.T) {
	few := evidence.Lack{Reason: evidence.ChanceNotExcluded, AtMost: evidence.Ambiguous}
	for name, c := range map[string]struct {
		part   float64 // of the run that the certain claim costs
		lack   evidence.Lack
		want   evidence.Confidence
		saving float64
	}{
		"five times as much":             {0.06, few, evidence.Ambiguous, 0.3},
		"twice as much":                  {0.15, few, evidence.Supported, 0.3},
		"as much":                        {0.3, few, evidence.Supported, 0.3},
		"for another reason not sure":    {0.06, evidence.Lack{Reason: evidence.MayBeByDesign, AtMost: evidence.Ambiguous}, evidence.Supported, 0.3},
		"certain, and five times more":   {0.06, evidence.Lack{Reason: evidence.Unconfirmed, AtMost: evidence.Supported}, evidence.Supported, 0.3},
		"not certain, and a little more": {0.27, few, evidence.Supported, 0.27},
	} {
		f, l := claimed(1, "data", c.part, evidence.Supported), claimed(1, "data", 0.3, evidence.Strong)
		l.Evidence = append(l.Evidence, evidence.LastToEnter{Source: evidence.FromArrivals, Rank: 1})
		l.lack(c.lack)
		f.agree(&l, evidence.Witness{Source: evidence.FromArrivals})
		if f.Confidence != c.want || f.RunGain != c.saving {
			t.Errorf("%s: %s, want %v and %v", name, findingInShort(&f), c.want, c.saving)
		}
	}
}

// TestEntriesBesideSteps: a rank that steps and entries find late is as certain as the surer of them says, and costs what the one says that saves a quarter more, with the evidence of
// both; where calls divide the steps it is the steps' claim, and what entries alone claim is uncertain.
func TestEntriesBesideSteps(t *testing.T) {
	type given struct{ steps, entries Finding }
	for name, c := range map[string]struct {
		change func(g *given)
		cut    bool
		want   string
		gain   float64
		lacks  bool // that others wait
	}{
		"as sure, and saves little more":      {func(*given) {}, false, "forward", 0.2, true},
		"as sure, and saves a quarter more":   {func(g *given) { g.entries.RunGain = 0.26 }, false, "backward", 0.26, true},
		"surer, and saves less":               {func(g *given) { g.entries.Confidence, g.entries.RunGain = evidence.Strong, 0.15 }, false, "forward", 0.2, false},
		"surer, in no stage":                  {func(g *given) { g.entries.Confidence, g.entries.Stage = evidence.Strong, "" }, false, "forward", 0.22, false},
		"surer, where calls divide the steps": {func(g *given) { g.entries.Confidence = evidence.Strong }, true, "forward", 0.2, true},
	} {
		g := given{claimed(2, "forward", 0.2, evidence.Supported), claimed(2, "backward", 0.22, evidence.Supported)}
		g.steps.lack(evidence.Lack{Reason: evidence.SyncNotShown, AtMost: evidence.Supported})
		g.entries.Evidence = append(g.entries.Evidence, evidence.LastToEnter{Source: evidence.FromArrivals, Rank: 2})
		c.change(&g)
		j := withEntries(stepsOf(), arrivals.Result{}, g.entries, claimed(3, "data", 0.1, evidence.Strong))
		alone := evidence.Strong
		if c.cut {
			j.placed.cut, alone = &cutPlan{clocked: true}, evidence.Ambiguous
		}
		out := j.joinEntries([]Finding{g.steps})
		f := ofRank(t, out, 2)
		if _, enters := evidence.EntersLast(f.Evidence, evidence.FromArrivals); len(out) != 2 || ofRank(t, out, 3).Confidence != alone || f.Stage != c.want || f.RunGain != c.gain || !enters || lacking(f, evidence.SyncNotShown) != c.lacks {
			t.Errorf("%s: %d claims, %s", name, len(out), findingInShort(&f))
		}
	}
}

// TestEntriesBesideDevice: a rank that is slow on its device, and late by entries, is as certain as the surer of both says.
func TestEntriesBesideDevice(t *testing.T) {
	f := claimed(2, "forward", 0.2, evidence.Strong)
	f.Cause = CauseDevice
	f.lack(evidence.Lack{Reason: evidence.Unconfirmed, AtMost: evidence.Supported})
	out := withEntries(stepsOf(), arrivals.Result{}, claimed(2, "backward", 0.2, evidence.Strong)).joinEntries([]Finding{f})
	if len(out) != 1 || out[0].Confidence != evidence.Strong || out[0].Cause != CauseDevice || out[0].Stage != "forward" || lacking(out[0], evidence.Unconfirmed) {
		t.Errorf("%d claims, %s", len(out), findingInShort(&out[0]))
	}
}

// TestEachShowsWhatTheOtherLacks: the steps show who, at p = 0.001, and not that others wait; five calls show that they wait, at p = 0.07. Together
// the finding is supported, as what else is lacking allows.
func TestEachShowsWhatTheOtherLacks(t *testing.T) {
	type given struct {
		own, other Finding
	}
	waits := evidence.Lack{Reason: evidence.NobodyWaits, AtMost: evidence.Ambiguous}
	for name, c := range map[string]struct {
		change func(g *given)
		want   evidence.Confidence
		waits  bool // it still lacks that others wait
	}{
		"as they are":                 {func(*given) {}, evidence.Supported, false},
		"the steps exclude no chance": {func(g *given) { g.own.P = 0.06 }, evidence.Ambiguous, true},
		"no steps, but windows":       {func(g *given) { g.own.modelled = false }, evidence.Ambiguous, true},
		"the steps may be by design":  {func(g *given) { g.own.lack(evidence.Lack{Reason: evidence.MayBeByDesign, AtMost: evidence.Ambiguous}) }, evidence.Ambiguous, true},
		"the entries may be by design": {func(g *given) {
			g.other.lack(evidence.Lack{Reason: evidence.MayBeByDesign, AtMost: evidence.Ambiguous})
		}, evidence.Ambiguous, true},
		"nobody waits by the entries too":    {func(g *given) { g.other.Evidence[1] = waits }, evidence.Ambiguous, true},
		"what the others wait is too little": {func(g *given) { g.other.BelowMinGain = true }, evidence.Ambiguous, true},
	} {
		g := given{claimed(1, "data", 0.05, evidence.Strong), claimed(1, "data", 0.3, evidence.Strong)}
		g.own.P, g.own.modelled = 0.001, true
		g.own.lack(waits)
		g.own.lack(evidence.Lack{Reason: evidence.SyncNotShown, AtMost: evidence.Supported})
		g.other.Evidence = append(g.other.Evidence, evidence.LastToEnter{Source: evidence.FromArrivals, Rank: 1, P: 0.07})
		g.other.lack(evidence.Lack{Reason: evidence.ChanceNotExcluded, AtMost: evidence.Ambiguous})
		c.change(&g)
		done := g.own.completeWith(&g.other)
		if lacks := slices.Contains(g.own.Evidence, evidence.Observation(waits)); g.own.Confidence != c.want || lacks != c.waits || done == lacks || done && g.own.RunGain != 0.3 {
			t.Errorf("%s: %s, lacks waits: %v; want %v, %v", name, findingInShort(&g.own), lacks, c.want, c.waits)
		}
	}
}

// TestWeights: what may be acted on stands before what is large and uncertain, and that before what is certain and small.
func TestWeights(t *testing.T) {
	hang := Finding{Cause: CauseMissing, BelowMinGain: true}
	for want, f := range map[int]Finding{4: hang, 3: claimed(1, "", 0.2, evidence.Supported), 2: claimed(1, "", 0.2, evidence.Ambiguous), 1: claimed(1, "", 0.05, evidence.Strong), 0: claimed(1, "", 0.05, evidence.Ambiguous)} {
		if got := f.weight(); got != want {
			t.Errorf("%s: %d, want %d", findingInShort(&f), got, want)
		}
	}
	jointly := claimed(1, "", 0.05, evidence.Supported)
	jointly.Jointly = true
	refuted := claimed(1, "", 0.5, evidence.Insufficient)
	if jointly.weight() != 3 || refuted.weight() != 0 {
		t.Errorf("together %d, refuted %d", jointly.weight(), refuted.weight())
	}
	for name, c := range map[string]struct {
		f    Finding
		want float64
	}{
		"alone":            {Finding{Cost: Cost{RunGain: 0.3, After: 0.2, Score: 0.9}}, 0.3},
		"behind others":    {Finding{Cost: Cost{RunGain: 0.1, After: 0.2}}, 0.2},
		"of operators":     {Finding{source: evidence.FromOperators, Cost: Cost{RunGain: 0.1, Score: 0.25, After: 0.9}}, 0.25},
		"of those, masked": {Finding{source: evidence.FromOperators, Cost: Cost{RunGain: 0.3, Score: 0.25}}, 0.3},
	} {
		if got := c.f.saving(); got != c.want {
			t.Errorf("%s: saves %v, want %v", name, got, c.want)
		}
	}
	a, b := Finding{Cost: Cost{RunGain: 0.1, Explained: 5}}, Finding{Cost: Cost{RunGain: 0.1, Explained: 7}}
	if compareWeight(&a, &b) <= 0 {
		t.Error("of equal savings what explains less comes first")
	}
}

// TestOrderOfClaims: where somebody is named for certain uneven work comes behind, and what a few traced steps show before that; the operator
// that explains a claim comes behind it.
func TestOrderOfClaims(t *testing.T) {
	heavy := claimed(0, "backward", 0.5, evidence.Supported)
	heavy.Kind, heavy.Cause, heavy.Rank = KindGroup, CauseMoreWork, nil
	traced := claimed(6, "", 0.4, evidence.Supported)
	traced.source, traced.Evidence = evidence.FromOperators, []evidence.Observation{evidence.Lack{Reason: evidence.SourcesDisagree, AtMost: evidence.Supported}}
	shown := claimed(7, "", 0.35, evidence.Supported)
	shown.source = evidence.FromOperators
	operator := claimed(4, "forward", 0.6, evidence.Strong)
	operator.Kind, operator.Cause = KindOp, CauseOperator
	elsewhere := operator
	elsewhere.Stage = "data"
	late, other := claimed(4, "forward", 0.2, evidence.Strong), claimed(5, "forward", 0.3, evidence.Strong)
	names := func(list []Finding) (out []string) {
		for i := range list {
			rank := -1
			if list[i].Rank != nil {
				rank = *list[i].Rank
			}
			out = append(out, list[i].Cause.String()+" "+string(rune('a'+max(0, rank)))+" "+list[i].Stage)
		}
		return out
	}
	for name, c := range map[string]struct{ in, want []Finding }{
		"uneven work alone":             {[]Finding{claimed(3, "", 0.3, evidence.Ambiguous), heavy}, []Finding{heavy, claimed(3, "", 0.3, evidence.Ambiguous)}},
		"uneven work behind a rank":     {[]Finding{heavy, late}, []Finding{late, heavy}},
		"what traced steps show":        {[]Finding{heavy, traced, shown, late}, []Finding{shown, late, traced, heavy}},
		"the operator behind its claim": {[]Finding{operator, other, late}, []Finding{other, late, operator}},
		"an operator of another stage":  {[]Finding{elsewhere, other, late}, []Finding{elsewhere, other, late}},
		"an operator already behind it": {[]Finding{late, operator}, []Finding{late, operator}},
	} {
		if got := stepsOf().order(c.in); !slices.Equal(names(got), names(c.want)) {
			t.Errorf("%s: %q, want %q", name, names(got), names(c.want))
		}
	}
}

// TestTogetherSaves: what fixing all that are late for certain saves is known of two or more, by steps or by entries, whichever is more.
func TestTogetherSaves(t *testing.T) {
	late := func(n int, c claim.Certainty, cause claim.Cause) (out []claim.Claim) {
		for range n {
			out = append(out, claim.Claim{Cause: cause, Certainty: c})
		}
		return out
	}
	for name, c := range map[string]struct {
		steps   []claim.Claim
		entries int
		want    float64
	}{
		"one":                       {late(1, claim.Strong, claim.Late), 0, 0},
		"two":                       {late(2, claim.Supported, claim.Late), 0, 0.3},
		"two, not for certain":      {late(2, claim.Event, claim.Late), 0, 0},
		"two, not late":             {late(2, claim.Strong, claim.SlowSteps), 0, 0},
		"one enters late":           {nil, 1, 0},
		"two enter late":            {nil, 2, 0.4},
		"two, by steps and entries": {late(2, claim.Strong, claim.Late), 2, 0.4},
	} {
		j := stepsOf()
		j.modelled.Claims, j.modelled.Joint = c.steps, 0.3
		j.entered = &arrivals.Result{Late: late(c.entries, claim.Strong, claim.Late), Joint: 0.4}
		if got := j.joint(); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	f := Finding{Cost: Cost{Step: 200, Excess: 50, Struck: Struck{Count: 10, Of: 40}}}
	if got := f.delayPart(); got != 0.0625 {
		t.Errorf("a quarter of a step in a quarter of the steps is %v", got)
	}
	if f.Step = 0; f.delayPart() != 0 {
		t.Error("a part of no step")
	}
}

// TestRanksOfOneHost: half of the ranks count together where they are those of one host of several; of unknown hosts they do not. What those that do
// not count save is no part of it.
func TestRanksOfOneHost(t *testing.T) {
	for name, c := range map[string]struct {
		hosts [4]string
		extra []Finding
		want  bool
	}{
		"one host":         {[4]string{"a", "a", "a", "a"}, nil, true},
		"the only host":    {[4]string{"only", "only", "only", "only"}, nil, false},
		"two hosts":        {[4]string{"a", "a", "b", "a"}, nil, false},
		"unknown hosts":    {[4]string{"", "", "", ""}, nil, false},
		"one of unknown":   {[4]string{"a", "a", "a", ""}, nil, false},
		"one below 2 %":    {[4]string{"a", "a", "a", "a"}, []Finding{claimed(7, "", 0.015, evidence.Strong)}, true},
		"some below 2 %":   {[4]string{"a", "a", "a", "a"}, []Finding{claimed(7, "", 0.019, evidence.Strong), claimed(6, "", 0.019, evidence.Strong), claimed(5, "", 0.019, evidence.Strong), claimed(4, "", 0.019, evidence.Strong)}, false},
		"some not certain": {[4]string{"a", "a", "a", "a"}, []Finding{claimed(7, "", 0.019, evidence.Ambiguous), claimed(6, "", 0.019, evidence.Ambiguous), claimed(5, "", 0.019, evidence.Ambiguous), claimed(4, "", 0.019, evidence.Ambiguous)}, true},
	} {
		var claims []Finding
		for r, host := range c.hosts {
			f := claimed(r, "", 0.06, evidence.Strong)
			f.Host = host
			claims = append(claims, f)
		}
		j := stepsOf()
		if j.placed.hosts = []string{"a", "b"}; c.hosts[0] == "only" {
			j.placed.hosts = []string{"only"}
		}
		j.modelled.Joint = 0.17
		j.modelled.Claims = []claim.Claim{{Cause: claim.Late, Certainty: claim.Strong}, {Cause: claim.Late, Certainty: claim.Strong}}
		got := j.countTogether(append(claims, c.extra...))
		for i, f := range got {
			if f.Jointly != (c.want && i < 4) {
				t.Errorf("%s: claim %d counts %v", name, i, f.Jointly)
			}
		}
		if claims[0].Jointly {
			t.Errorf("%s: the claim itself was changed", name)
		}
	}
}

// TestWhatWasLost: ranks without dumps are lost once, unless windows say that they are.
func TestWhatWasLost(t *testing.T) {
	for name, c := range map[string]struct {
		lost []answer.Problem
		want []answer.Problem
	}{
		"not said":        {nil, []answer.Problem{{Problem: answer.DumpsMissing, Ranks: trace.RankSetOf([]int{6, 7}), N: 2, Of: 8}}},
		"said of both":    {[]answer.Problem{{Problem: answer.RanksMissing, Ranks: trace.RankSetOf([]int{5, 6, 7})}}, nil},
		"said of one":     {[]answer.Problem{{Problem: answer.RanksMissing, Ranks: trace.RankSetOf([]int{6})}}, []answer.Problem{{Problem: answer.DumpsMissing, Ranks: trace.RankSetOf([]int{6, 7}), N: 2, Of: 8}}},
		"another is said": {[]answer.Problem{{Problem: answer.StepsTwice, Ranks: trace.RankSetOf([]int{6, 7})}}, []answer.Problem{{Problem: answer.DumpsMissing, Ranks: trace.RankSetOf([]int{6, 7}), N: 2, Of: 8}}},
	} {
		j := withEntries(stepsOf(), arrivals.Result{Missing: []int{6, 7}, Ranks: []int{0, 1, 2, 3, 4, 5}})
		j.lost, j.modelled = c.lost, nil
		if diff := gocmp.Diff(append(slices.Clone(c.lost), c.want...), j.runProblems()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestSearched: what was looked at where nobody is late: ranks, steps, the middle step, and who is last most often.
func TestSearched(t *testing.T) {
	window := func(ranks, steps int, makespan int64) Window {
		return Window{Main: &frontier.Result{Ranks: make([]int, ranks), Steps: steps, Makespan: makespan}}
	}
	j := stepsOf()
	j.windows = []Window{window(8, 10, 1000), window(6, 30, 4000)}
	j.modelled.Step, j.modelled.Skew, j.modelled.Latest = 120, 9, delay.Latest{Rank: 2, N: 30, Of: 39, Behind: 5, P: 1e-3}
	j.placed.ranks = []int{10, 11, 12, 13}
	last := &evidence.LastMostOften{Rank: 12, N: 30, Of: 39, Behind: 5, P: 1e-3, Significant: true}
	check := func(name string, status answer.Status, want ...evidence.Observation) {
		t.Helper()
		if diff := gocmp.Diff(want, j.searchResults(status)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	check("healthy", answer.NoStraggler, evidence.NobodyLate{Ranks: 8, Steps: 40, Step: 120, Skew: 9, Last: last})
	check("a straggler", answer.Straggler)
	j.modelled.Step = 0
	check("no middle step", answer.Unseen, evidence.NobodyLate{Ranks: 8, Steps: 40, Step: 125, Skew: 9, Last: last})
	entered := arrivals.Latest{Latest: delay.Latest{Rank: 4, N: 8, Of: 9, Behind: 2, P: 1e-4}}
	j.entered = &arrivals.Result{Latest: entered}
	check("by steps and entries", answer.Unseen, evidence.NobodyLate{Ranks: 8, Steps: 40, Step: 125, Skew: 9, Last: last})
	j.modelled.Latest.P = 0.5
	check("by entries for certain", answer.Unseen, evidence.NobodyLate{Ranks: 8, Steps: 40, Step: 125, Skew: 9, Last: &evidence.LastMostOften{Rank: 4, N: 8, Of: 9, Behind: 2, P: 1e-4, Significant: true}})
	j.modelled = nil
	check("without a series", answer.Unseen, evidence.NobodyLate{Ranks: 8, Steps: 40, Step: 125, Last: &evidence.LastMostOften{Rank: 4, N: 8, Of: 9, Behind: 2, P: 1e-4, Significant: true}})
	j.windows = []Window{window(8, 0, 0)}
	check("no step", answer.Unseen)
	j.alone = &evidence.DeviceShares{Compute: 0.5}
	check("one rank", answer.Unseen, evidence.DeviceShares{Compute: 0.5})
}

// TestInputBound: all ranks wait for data half of each step or more.
func TestInputBound(t *testing.T) {
	for typical, want := range map[int64]float64{49e6: 0, 50e6: 0.5, 130e6: 1} {
		j := hiding(stepsOf())
		j.modelled.Typical = []int64{typical, 60e6, 70e6}
		e, found := evidence.Find[evidence.InputBound](j.inputBound())
		if found != (want > 0) || found && e != (evidence.InputBound{Stage: "data", Share: want}) {
			t.Errorf("%d ms of 100: %v, %+v", typical/1e6, found, e)
		}
	}
	if j := stepsOf(); j.run == nil || len((&judge{run: j.run}).inputBound()) != 0 {
		t.Error("of no series")
	}
}

// TestValuesSetAside: a value that nobody waited for is said, with its rank, step and stage.
func TestValuesSetAside(t *testing.T) {
	j := stepsOf()
	if len(j.recordingErrors()) != 0 {
		t.Error("of none")
	}
	j.placed = stepPlaces{ranks: []int{10, 11}, steps: numberedAs([]int64{100, 101, 102}, make([]int, 3))}
	j.modelled.Errors = append(j.modelled.Errors, points.Error{Step: 2, Rank: 1, Stage: 1, Size: 77})
	want := answer.Problem{Problem: answer.RecordingError, Ranks: trace.RankSetOf([]int{11}), Steps: &[2]int64{102, 102}, Stage: "forward", Size: 77}
	if diff := gocmp.Diff([]answer.Problem{want}, j.recordingErrors()); diff != "" {
		t.Error(diff)
	}
}

// TestApartFrom: of a rank that windows find late where ranks compute, operators that find another slow make it less certain; that they find
// nobody is told.
func TestApartFrom(t *testing.T) {
	o := &Operators{Ops: 99, Steps: []int64{4, 5, 9}, Workers: []trace.Rank{{ID: 2}, {ID: 5}}}
	told := evidence.Witness{Source: evidence.FromOperators, Operators: 99, Ranks: 2, Steps: 3, First: 4, Last: 9}
	five := 5
	disagrees := evidence.Lack{Reason: evidence.SourcesDisagree, AtMost: evidence.Supported, Rank: &five, Source: evidence.FromOperators}
	for name, c := range map[string]struct {
		f        Finding
		reported []Finding
		want     []evidence.Observation
	}{
		"nobody":               {claimed(2, "model.fwd_loss_cpu_wall", 0.2, evidence.Strong), nil, []evidence.Observation{told}},
		"in no stage":          {claimed(2, "", 0.2, evidence.Strong), nil, []evidence.Observation{told}},
		"in backward":          {claimed(2, "model.backward_cpu_wall", 0.2, evidence.Strong), nil, []evidence.Observation{told}},
		"another rank":         {claimed(2, "", 0.2, evidence.Strong), []Finding{allRanks(CauseHeavy, "", 0.2), claimed(5, "", 0.2, evidence.Strong)}, []evidence.Observation{disagrees}},
		"in data":              {claimed(2, "data.next_wait", 0.2, evidence.Strong), nil, nil},
		"small":                {claimed(2, "", 0.05, evidence.Strong), nil, nil},
		"a rank without trace": {claimed(3, "", 0.2, evidence.Strong), nil, nil},
	} {
		f := c.f
		if f.addContradiction(c.reported, o); gocmp.Diff(c.want, f.Evidence) != "" {
			t.Errorf("%s: %+v", name, f.Evidence)
		}
	}
}
