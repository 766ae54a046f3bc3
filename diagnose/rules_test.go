package diagnose

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/diagnose/opnames"
	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/engine/delay"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/engine/latent"
	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/trace"
)

// claimed returns a claim that a rank is late in a stage by a part of the run.
func claimed(rank int, stage string, part float64, c evidence.Confidence) Finding {
	return Finding{Kind: KindRank, Cause: CauseLate, Place: Place{Rank: &rank, Stage: stage}, Confidence: c, BelowMinGain: part < 0.1,
		Cost: Cost{Gain: part, RunGain: part, RunAtMost: part, After: part, Step: 100e6, Excess: int64(part * 100e6), Explained: int64(part * 100e6), Score: part, Struck: Struck{Count: 50, Of: 50, Last: 49}}}
}

// allRanks returns a claim that a stage is longer on all ranks.
func allRanks(cause Cause, stage string, part float64) Finding {
	f := claimed(0, stage, part, evidence.Supported)
	f.Kind, f.Cause, f.Rank, f.modelled = KindStage, cause, nil, true
	return f
}

// stepsOf returns a judge of eight ranks whose steps make claims, and synchronise at the end of backward.
func stepsOf(claims ...Finding) *judge {
	j := &judge{run: &run{windows: []Window{{Main: &frontier.Result{Ranks: []int{0, 1, 2, 3, 4, 5, 6, 7}, Quality: frontier.Quality{Wall: true}}}}}, minGain: 0.1,
		modelled: &delay.Result{Steps: 50, Step: 100e6, Stages: []points.Stage{{Name: "data"}, {Name: "forward"}, {Name: "backward"}}, Points: []points.Point{{Stage: 2}}, Typical: []int64{10e6, 20e6, 40e6}, Latest: delay.Latest{Rank: -1}, Lost: delay.Lost{Noise: make([]int64, 3), Uneven: make([]int64, 3)}}}
	for i := range claims {
		j.found = append(j.found, &claims[i])
	}
	return j
}

// withOperators adds what an operator trace of the same steps claims.
func withOperators(j *judge, claims ...Finding) *judge {
	for i := range claims {
		claims[i].source = evidence.FromOperators
	}
	j.operators = &RunVerdict{Operators: &Operators{Steps: []int64{0, 1, 2}, Workers: make([]trace.Rank, 8)}, Findings: claims}
	for i := range j.operators.Operators.Workers {
		j.operators.Operators.Workers[i].ID = i
	}
	return j
}

// withEntries adds what entries of calls claim.
func withEntries(j *judge, r arrivals.Result, claims ...Finding) *judge {
	for i := range claims {
		claims[i].source = evidence.FromArrivals
	}
	j.entered, j.late = &r, claims
	return j
}

// withKernels adds what kernels of NCCL claim.
func withKernels(j *judge, claims ...Finding) *judge {
	for i := range claims {
		claims[i].source = evidence.FromNCCL
	}
	j.traffic, j.heard = &comm.Result{}, &RunVerdict{Findings: claims}
	return j
}

// merged returns the claims and the open questions of a judge.
func (j *judge) merged() ([]Finding, []answer.Undecided) {
	v := j.merge(nil)
	return v.Findings, v.Undecided
}

// asks reports whether a question is open.
func asks(open []answer.Undecided, q answer.Question) bool {
	return slices.ContainsFunc(open, func(u answer.Undecided) bool { return u.Question == q })
}

// ofRank returns the claim on a rank.
func ofRank(t *testing.T, claims []Finding, rank int) Finding {
	t.Helper()
	at := slices.IndexFunc(claims, func(f Finding) bool { return f.Rank != nil && *f.Rank == rank })
	if at < 0 {
		t.Fatalf("no claim on rank %d among %d", rank, len(claims))
	}
	return claims[at]
}

func lacking(f Finding, r evidence.Reason) bool {
	_, ok := evidence.FindIf(f.Evidence, func(l evidence.Lack) bool { return l.Reason == r })
	return ok
}

// oneClaim checks that two recordings that find a rank make one claim, with the saving of the one that sees more
// and the certainty of the surer one.
func oneClaim(t *testing.T, j *judge, source evidence.Source) {
	t.Helper()
	claims, _ := j.merged()
	if len(claims) != 1 {
		t.Fatalf("%d claims", len(claims))
	}
	w, ok := evidence.WitnessOf(claims[0].Evidence, source)
	if f := claims[0]; !ok || !w.Agrees || !w.Raised || f.Confidence != evidence.Strong || f.RunGain != 0.3 {
		t.Errorf("%+v, %v, saves %v", w, f.Confidence, f.RunGain)
	}
}

// ruleTests has a test for every rule of the merge table, by what the rule says.
var ruleTests = map[string]func(t *testing.T){
	"a rank that steps and operators find late is one claim": func(t *testing.T) {
		oneClaim(t, withOperators(stepsOf(claimed(2, "forward", 0.2, evidence.Supported)), claimed(2, "", 0.3, evidence.Strong)), evidence.FromOperators)
		claims, _ := withOperators(stepsOf(claimed(2, "forward", 0.2, evidence.Strong)), claimed(5, "", 0.3, evidence.Strong)).merged()
		if f := ofRank(t, claims, 2); f.Confidence != evidence.Supported || !lacking(f, evidence.SourcesDisagree) {
			t.Errorf("operators find another rank, and the steps' is %v", f.Confidence)
		}
		if f := ofRank(t, claims, 5); f.Confidence != evidence.Supported || !lacking(f, evidence.SourcesDisagree) {
			t.Errorf("operators alone, where steps synchronise: %v", f.Confidence)
		}
	},
	"a rank that steps and a profiler's traces of them find late is one claim": func(t *testing.T) {
		traces := func(j *judge, f Finding) *judge {
			j.traced = &RunVerdict{Findings: []Finding{f}, Windows: []Window{{Main: &frontier.Result{Steps: 5}}}}
			return j
		}
		oneClaim(t, traces(stepsOf(claimed(2, "forward", 0.2, evidence.Supported)), claimed(2, "forward", 0.3, evidence.Strong)), evidence.FromProfiler)
		claims, _ := traces(stepsOf(claimed(2, "forward", 0.2, evidence.Strong)), claimed(5, "forward", 0.3, evidence.Strong)).merged()
		for _, rank := range []int{2, 5} {
			if f := ofRank(t, claims, rank); f.Confidence != evidence.Supported || !lacking(f, evidence.SourcesDisagree) {
				t.Errorf("each finds another rank, and rank %d is %v", rank, f.Confidence)
			}
		}
	},
	"a rank that steps and NCCL's kernels find late is one claim": func(t *testing.T) {
		oneClaim(t, withKernels(stepsOf(claimed(2, "forward", 0.2, evidence.Supported)), claimed(2, "", 0.3, evidence.Strong)), evidence.FromNCCL)
	},
	"what a rank saves that waits for what comes at its own pace is an upper bound": func(t *testing.T) {
		for name, peers := range map[string][]int{"alone": nil, "as a peer does": {3}} {
			j := withEntries(stepsOf(claimed(2, "data", 0.2, evidence.Supported)), arrivals.Result{}, claimed(2, "data", 0.2, evidence.Strong))
			j.placed.ranks = j.windows[0].Main.Ranks
			j.modelled.Claims = []claim.Claim{{Kind: claim.Rank, Ranks: []int{2}, Parts: []claim.Part{{Stage: 0, Charged: 1}}, Arrival: claim.Arrival{Pace: &claim.Pace{Slope: -1, Low: -1.1, High: -0.9, Peers: peers}}}}
			claims, _ := j.merged()
			f := ofRank(t, claims, 2)
			e, ok := evidence.Find[evidence.OwnPace](f.Evidence)
			if !ok || f.Confidence != evidence.Supported || f.RunLow != 0 || e.Stage != "data" || e.Slope != 1 || e.Low != 0.9 || e.High != 1.1 {
				t.Errorf("%s: %v, %+v, %+v", name, f.Confidence, f.Cost, e)
			}
			saves, want := f.Saving(), SavesNoMore
			if peers != nil {
				want = SavesNothing
			}
			if saves.Kind != want || f.BelowMinGain != (peers != nil) {
				t.Errorf("%s: saves %+v, too little %v", name, saves, f.BelowMinGain)
			}
			if list, _ := (&RunVerdict{Findings: claims}).StageFindings("data", j.windows[0].Main); (len(list) == 0) != (peers != nil) {
				t.Errorf("%s: %d findings in the row of the stage", name, len(list))
			}
		}
	},
	"who waits behind a slow link is its victim": func(t *testing.T) {
		link := Finding{Kind: KindEdge, Cause: CauseLink, Confidence: evidence.Strong, Place: Place{Ranks: []int{4, 5}}, Cost: Cost{RunGain: 0.2}, Evidence: []evidence.Observation{evidence.SlowLink{}}}
		claims, _ := withKernels(stepsOf(claimed(2, "forward", 0.3, evidence.Strong), allRanks(CauseSlowSteps, "comm.wait", 0.3), allRanks(CauseSlowSteps, "forward", 0.15)), link).merged()
		if claims[0].Kind != KindEdge || ofRank(t, claims, 2).Confidence != evidence.Insufficient {
			t.Errorf("first %v; rank 2 is %v", claims[0].Kind, ofRank(t, claims, 2).Confidence)
		}
		for _, f := range claims {
			if f.Kind == KindStage && (f.Confidence == evidence.Insufficient) != (f.Stage == "comm.wait") {
				t.Errorf("%s is %v", f.Stage, f.Confidence)
			}
		}
	},
	"all ranks are charged with what is left when late ranks are taken out": func(t *testing.T) {
		now := Struck{Count: 5, Of: 50, First: 9, Last: 49, Pattern: PatternPeriodic, Period: 10}
		slow, late, always := allRanks(CausePeriodic, "backward", 0.2), claimed(2, "data", 0.2, evidence.Supported), claimed(2, "data", 0.2, evidence.Supported)
		slow.Struck, late.Struck = now, now
		for name, c := range map[string]struct {
			late Finding
			left bool
		}{"late in the same steps, before all wait": {late, false}, "late in every step": {always, true}} {
			claims, _ := withEntries(stepsOf(slow), arrivals.Result{}, c.late).merged()
			if left := slices.ContainsFunc(claims, func(f Finding) bool { return f.Cause == CausePeriodic }); left != c.left {
				t.Errorf("%s: all ranks claimed %v", name, left)
			}
		}
		claims, _ := withEntries(stepsOf(allRanks(CauseRegression, "backward", 0.2)), arrivals.Result{}, claimed(2, "data", 0.15, evidence.Strong)).merged()
		if len(claims) != 1 || claims[0].Rank == nil {
			t.Errorf("%d claims: a regression that a late rank makes is claimed of all", len(claims))
		}
	},
	"all ranks are not slower because one is not recorded any more": func(t *testing.T) {
		for name, c := range map[string]struct {
			gone int64 // from which step on rank 7 is not recorded
			want evidence.Confidence
		}{"from the step on at which all are slower": {20, evidence.Ambiguous}, "long after": {40, evidence.Supported}} {
			slower := allRanks(CauseRegression, "backward", 0.2)
			slower.Struck.First = 20
			j := stepsOf(slower)
			whole, part := *j.windows[0].Main, *j.windows[0].Main
			whole.Steps, part.FirstStep, part.Steps, part.Quality.Missing = int(c.gone), c.gone, int(50-c.gone), trace.RankSet{{7, 7}}
			j.windows = []Window{{Main: &whole}, {Main: &part}}
			if claims, _ := j.merged(); claims[0].Confidence != c.want {
				t.Errorf("%s: %v", name, claims[0].Confidence)
			}
		}
	},
	"a rank that steps and entries of calls find late is one claim": func(t *testing.T) {
		oneClaim(t, withEntries(stepsOf(claimed(2, "forward", 0.2, evidence.Supported)), arrivals.Result{}, claimed(2, "forward", 0.3, evidence.Strong)), evidence.FromArrivals)
		waited := arrivals.Result{Places: []arrivals.Place{{Stage: "forward", Repeats: true, Ranks: []arrivals.RankAt{{Rank: 2}, {Rank: 3, Delay: 30e6}}}}}
		claims, _ := withEntries(stepsOf(claimed(2, "forward", 0.2, evidence.Strong)), waited, claimed(3, "forward", 0.2, evidence.Strong)).merged()
		if f := ofRank(t, claims, 2); f.Confidence != evidence.Insufficient || !lacking(f, evidence.DelayInherited) || *claims[0].Rank != 3 {
			t.Errorf("rank 2 entered on time and waited for rank 3: %v, first is rank %d", f.Confidence, *claims[0].Rank)
		}
	},
	"who enters last beyond chance, though nobody is seen to wait, may be late where nobody else is": func(t *testing.T) {
		last := claim.Claim{Kind: claim.Rank, Cause: claim.Late, Ranks: []int{5}, Host: -1, Steps: claim.Struck{Count: 20, Of: 20}, Size: 30e6, Length: 100e6,
			Saves: claim.Saving{AtMost: 0.3}, P: 1e-4, Certainty: claim.Strong, Entered: &claim.Entered{Delay: 30e6, Last: 20, Points: 20}}
		entered := arrivals.Result{Step: 100e6, Places: []arrivals.Place{{Op: "gloo:all_reduce", Repeats: true, Points: 20}}, Unawaited: &last}
		v := withEntries(stepsOf(), entered).merge(nil)
		if len(v.Findings) != 1 || *v.Findings[0].Rank != 5 || v.Findings[0].Confidence != evidence.Ambiguous {
			t.Errorf("%+v", v.Findings)
		}
		v = withEntries(stepsOf(claimed(2, "forward", 0.2, evidence.Strong)), entered).merge(nil)
		if len(v.Findings) != 1 || *v.Findings[0].Rank != 2 {
			t.Errorf("with rank 2 late: %+v", v.Findings)
		}
	},
	"ranks that enter no call late by themselves are not late with others": func(t *testing.T) {
		together := claimed(2, "forward", 0.2, evidence.Strong)
		together.Ranks, together.Evidence = []int{2, 3}, []evidence.Observation{evidence.LateTogether{Ranks: []int{2, 3}}}
		for _, c := range []struct {
			late []Finding
			want []int
		}{{[]Finding{claimed(2, "forward", 0.2, evidence.Strong)}, nil},
			{[]Finding{claimed(2, "forward", 0.2, evidence.Strong), claimed(3, "forward", 0.2, evidence.Strong)}, []int{2, 3}}} {
			claims, _ := withEntries(stepsOf(together), arrivals.Result{}, c.late...).merged()
			if f := ofRank(t, claims, 2); !slices.Equal(f.Ranks, c.want) {
				t.Errorf("%d ranks enter late: late together are %v", len(c.late), f.Ranks)
			}
		}
	},
	"behind messages that nobody recorded no rank is named": func(t *testing.T) {
		claims, open := withEntries(stepsOf(claimed(2, "forward", 0.2, evidence.Strong)), arrivals.Result{Step: 100e6, Silent: []string{"pp"}}).merged()
		if claims[0].Confidence != evidence.Insufficient || !asks(open, answer.MessagesNotRecorded) {
			t.Errorf("%v, open %v", claims[0].Confidence, open)
		}
	},
	"a call that a rank never entered, or that ranks entered differently, is a claim": func(t *testing.T) {
		few := arrivals.Mismatch{Difference: arrivals.DifferentOperation, Sides: []arrivals.Side{{Ranks: []int{0, 1, 2}, Op: "nccl:all_reduce"}, {Ranks: []int{3}, Op: "nccl:broadcast"}}}
		v := withEntries(stepsOf(claimed(2, "forward", 0.4, evidence.Strong)), arrivals.Result{Mismatches: []arrivals.Mismatch{few}}).merge(nil)
		if f := v.Findings[0]; f.Cause != CauseDesync || *f.Rank != 3 || f.Op != "broadcast" || v.Status != answer.Hang {
			t.Errorf("%v of rank %v at %s, %v", f.Cause, f.Rank, f.Op, v.Status)
		}
	},
	"certain claims that are worth acting on together count": func(t *testing.T) {
		three := func(part float64) []Finding {
			return []Finding{claimed(1, "data", part, evidence.Strong), claimed(3, "forward", part, evidence.Strong), claimed(5, "forward", part, evidence.Supported)}
		}
		spread := append(three(0.06), claimed(0, "data", 0.06, evidence.Strong))
		for name, c := range map[string]struct {
			claims []Finding
			joint  float64
			want   answer.Status
		}{
			"three of eight, together enough":          {three(0.06), 0.16, answer.Straggler},
			"three of eight, together too little":      {three(0.06), 0.09, answer.UndecidedRun},
			"delays under 2 %":                         {three(0.019), 0.16, answer.UndecidedRun},
			"half of the ranks":                        {spread, 0.2, answer.UndecidedRun},
			"two of them uncertain":                    {append(three(0.06)[:1], claimed(3, "data", 0.06, evidence.Ambiguous)), 0.05, answer.UndecidedRun},
			"one that counts alone, one that does not": {append(three(0.06)[:1], claimed(3, "data", 0.12, evidence.Strong)), 0.18, answer.Straggler},
		} {
			j := stepsOf(c.claims...)
			for range c.claims {
				j.modelled.Claims = append(j.modelled.Claims, claim.Claim{Cause: claim.Late, Certainty: claim.Strong})
			}
			j.modelled.Joint = c.joint
			for _, f := range j.found {
				f.modelled = true
			}
			v := j.merge(nil)
			if got := v.Status == answer.Straggler; got != (c.want == answer.Straggler) {
				t.Errorf("%s: %v", name, v.Status)
			}
			if counts := v.Findings[len(v.Findings)-1].IsFlagged(); c.want == answer.Straggler && !counts {
				t.Errorf("%s: the last does not count", name)
			}
		}
	},
	"what may be acted on comes first, then the larger saving": func(t *testing.T) {
		operator := claimed(4, "forward", 0.29, evidence.Strong)
		operator.Kind, operator.Cause = KindOp, CauseOperator
		larger := claimed(4, "forward", 0.3, evidence.Strong)
		want := []Finding{larger, operator, claimed(1, "data", 0.2, evidence.Strong), allRanks(CauseSlowSteps, "backward", 0.15), claimed(3, "data", 0.5, evidence.Ambiguous), claimed(5, "data", 0.09, evidence.Strong)}
		for seed := range uint64(20) {
			in := slices.Clone(want)
			rand.New(rand.NewPCG(seed, 1)).Shuffle(len(in), func(a, b int) { in[a], in[b] = in[b], in[a] })
			claims, _ := stepsOf(in...).merged()
			for i := range want {
				if f := claims[i]; f.Cause != want[i].Cause || f.RunGain != want[i].RunGain {
					t.Fatalf("order %d: claim %d is %v of %v, expected %v of %v", seed, i, f.Cause, f.RunGain, want[i].Cause, want[i].RunGain)
				}
			}
		}
	},
	"the operators and the line that a rank is late in, and its probes, are evidence": func(t *testing.T) {
		w := slowForward(t)
		compared, err := opnames.Compare(launched(w, 3, 8, 3, 90e6), opnames.Alpha)
		if err != nil {
			t.Fatal(err)
		}
		j := withEntries(stepsOf(), arrivals.Result{}, claimed(3, simulate.StageForward, 0.3, evidence.Strong))
		j.launched = []*opnames.Result{compared}
		claims, _ := j.merged()
		if _, ok := evidence.Find[evidence.LaunchedOperators](claims[0].Evidence); !ok {
			t.Errorf("evidence %+v", claims[0].Evidence)
		}
	},

	"who is late in a stage is known where operators or kernels name the first claim, or kernels find nobody": func(t *testing.T) {
		for name, c := range map[string]struct {
			j    *judge
			open bool
		}{
			"steps alone":                  {hiding(stepsOf()), true},
			"operators name a rank":        {withOperators(hiding(stepsOf()), replayedClaim(2)), false},
			"operators find nobody":        {withOperators(hiding(stepsOf())), true},
			"kernels compared find nobody": {comparedKernels(withKernels(hiding(stepsOf()))), false},
			"nothing to compare":           {withKernels(hiding(stepsOf())), true},
		} {
			if _, open := c.j.merged(); asks(open, answer.RankHidden) != c.open {
				t.Errorf("%s: open %v", name, open)
			}
		}
	},
	"entries show who is late in a stage, unless the ranks that entered it last have no record": func(t *testing.T) {
		sees := arrivals.Result{Step: 100e6, Places: []arrivals.Place{{Stage: "backward", Repeats: true, Limit: 5e6}}, Transfers: []arrivals.Transfer{{Stage: "backward", Time: 2e6}}}
		missing, slow := sees, sees
		missing.Missing, slow.Transfers = []int{7}, []arrivals.Transfer{{Stage: "backward", Time: 20e6}}
		missing.Transfers = []arrivals.Transfer{{Stage: "backward", Time: 1e6, Wait: 2e6}}
		for name, c := range map[string]struct {
			r     arrivals.Result
			open  answer.Question
			hides int64
		}{"a short transfer": {sees, "", 0}, "a long transfer": {slow, answer.TransferHidden, 20e6}, "a rank without a record": {missing, answer.RanksNotRecorded, 20e6}} {
			v := withEntries(hiding(stepsOf()), c.r).merge(nil)
			if asks(v.Undecided, answer.RankHidden) || c.open != "" && (len(v.Undecided) == 0 || v.Undecided[0].Question != c.open || v.Undecided[0].Hides != c.hides) || c.open == "" && asks(v.Undecided, answer.TransferHidden) {
				t.Errorf("%s: %+v", name, v.Undecided)
			}
			want := int64(0)
			if c.open == answer.RanksNotRecorded {
				want = 2e6 // what the others may wait for it
			}
			if hides := v.Limits[0].MayHide; hides != want {
				t.Errorf("%s: backward hides %d", name, hides)
			}
		}
	},
	"a rank without a record may be late by a whole step": func(t *testing.T) {
		alone := &judge{run: &run{}, minGain: 0.1}
		for late, want := range map[float64]bool{0: true, 0.2: false} {
			withEntries(alone, arrivals.Result{Step: 100e6, Missing: []int{3}})
			if late > 0 {
				withEntries(alone, *alone.entered, claimed(1, "", late, evidence.Strong))
			}
			if _, open := alone.merged(); asks(open, answer.RanksNotRecorded) != want {
				t.Errorf("a rank late by %v: open %v", late, open)
			}
		}
	},
	"what follows the last entry may be a slow transfer": func(t *testing.T) {
		for name, c := range map[string]struct {
			j    *judge
			want bool
		}{"entries alone": {&judge{run: &run{}, minGain: 0.1}, true}, "beside steps": {stepsOf(), false}} {
			if _, open := withEntries(c.j, arrivals.Result{Step: 100e6}).merged(); asks(open, answer.TransferHidden) != c.want {
				t.Errorf("%s: %v", name, open)
			}
		}
	},
	"what looks late may be a clock that is off": func(t *testing.T) {
		for delay, want := range map[int64]bool{8e6: false, 12e6: true} {
			if _, open := withEntries(stepsOf(), arrivals.Result{Step: 100e6, MayHide: arrivals.Hidden{Delay: delay}}).merged(); asks(open, answer.ClockOrDelay) != want {
				t.Errorf("%d of 100 ms: %v", delay/1e6, open)
			}
		}
	},
	"ranks that exchange messages alone cannot be compared": func(t *testing.T) {
		messages := arrivals.Result{Step: 100e6, Places: []arrivals.Place{{Repeats: true, Unlike: true}}}
		both := arrivals.Result{Step: 100e6, Places: []arrivals.Place{{Repeats: true, Unlike: true}, {Repeats: true}}}
		for name, c := range map[string]struct {
			r    arrivals.Result
			want bool
		}{"messages alone": {messages, true}, "and a collective": {both, false}} {
			if _, open := withEntries(hiding(stepsOf()), c.r).merged(); asks(open, answer.RolesMixed) != c.want || asks(open, answer.RankHidden) == c.want {
				t.Errorf("%s: %v", name, open)
			}
		}
	},
	"who a late rank waited for has no record": func(t *testing.T) {
		r := arrivals.Result{Step: 100e6, Missing: []int{7}, Places: []arrivals.Place{{Stage: "forward", Repeats: true, Ranks: []arrivals.RankAt{{Rank: 2}}}}}
		_, open := withEntries(stepsOf(claimed(2, "forward", 0.2, evidence.Strong)), r).merged()
		if at := slices.IndexFunc(open, func(u answer.Undecided) bool { return u.Question == answer.RanksNotRecorded }); at < 0 || open[at].Stage != "forward" || open[at].Hides != 20e6 {
			t.Errorf("open %+v", open)
		}
	},
	"the distributions and waits of the same steps are evidence, or name another rank instead": func(t *testing.T) {
		strong := claimed(3, "data", 0.2, evidence.Strong)
		strong.Struck.Pattern = PatternConstant
		entered := strong
		entered.source = evidence.FromArrivals
		sometimes := strong
		sometimes.Struck.Pattern = PatternIntermittent
		for _, c := range []struct {
			name   string
			j      *judge
			want   evidence.Confidence
			stage  string // of the evidence; "": there is none
			denies bool
		}{
			{"the same rank", withDifference(stepsOf(strong), 3, 20e6), evidence.Strong, "data", false},
			{"another one", withDifference(stepsOf(strong), 5, 3e6), evidence.Supported, "", true},
			{"another one, of what entries claim", withDifference(stepsOf(entered), 5, 3e6), evidence.Strong, "", false},
			{"another one, of what is late now and then", withDifference(stepsOf(sometimes), 5, 3e6), evidence.Strong, "", false},
			{"another one that is claimed too", withDifference(stepsOf(strong, claimed(5, "data", 0.03, evidence.Supported)), 5, 3e6), evidence.Strong, "", false},
			{"nobody", withDifference(stepsOf(strong), 5, 0), evidence.Strong, "", false},
			{"nothing tested", stepsOf(strong), evidence.Strong, "", false},
		} {
			claims, _ := c.j.merged()
			f := &claims[0]
			e, agrees := evidence.Find[evidence.Distribution](f.Evidence)
			l, denies := evidence.FindIf(f.Evidence, func(l evidence.Lack) bool { return l.Reason == evidence.SourcesDisagree })
			if f.Confidence != c.want || agrees != (c.stage != "") || e.Stage != c.stage || denies != c.denies || denies && *l.Rank != 5 {
				t.Errorf("%s: %v, %+v, want %v", c.name, f.Confidence, f.Evidence, c.want)
			}
		}
	},
	"waits in messages that nobody recorded are not known": func(t *testing.T) {
		_, open := withEntries(hiding(stepsOf()), arrivals.Result{Step: 100e6, Silent: []string{"pp"}}).merged()
		if len(open) != 1 || open[0].Question != answer.MessagesNotRecorded || open[0].Hides != 100e6 {
			t.Errorf("open %+v", open)
		}
	},
	"a stage in which all ranks synchronise may hide all of its time": func(t *testing.T) {
		_, open := hiding(stepsOf()).merged()
		if len(open) != 1 || open[0].Hides != 40e6 || open[0].Hides != open[0].Time {
			t.Errorf("open %+v", open)
		}
	},
}

// withDifference adds a second stage of 60 steps in which a rank works longer in data, ns a step.
func withDifference(j *judge, rank int, by int64) *judge {
	w := latent.Work{Ranks: 8, Pieces: []latent.Piece{{Stage: 0}, {Stage: 1}}, Points: 1, Step: 100e6}
	for range w.Pieces {
		own := make([]int64, 60*w.Ranks)
		random := rand.New(rand.NewPCG(1, 2))
		for i := range own {
			if own[i] = 20e6 + random.Int64N(1e6); i%w.Ranks == rank && len(w.Own) == 0 {
				own[i] += by
			}
		}
		w.Own = append(w.Own, own)
	}
	var err error
	if j.differs, err = latent.Test(&w, latent.Options{}); err != nil {
		panic(err)
	}
	j.placed.ranks, j.placed.host = []int{0, 1, 2, 3, 4, 5, 6, 7}, slices.Repeat([]int{-1}, 8)
	return j
}

// hiding returns the judge with 40 of 100 ms hidden in backward, of which a pass needs 20.
func hiding(j *judge) *judge {
	j.modelled.Limits = []delay.Limit{{Stage: 2, MayHide: 40e6, Known: true}}
	j.modelled.Stages = []points.Stage{points.StageOf("data"), points.StageOf("forward"), points.StageOf("backward")}
	j.modelled.Typical = []int64{10e6, 10e6, 40e6}
	return j
}

func replayedClaim(rank int) Finding {
	f := claimed(rank, "", 0.3, evidence.Strong)
	f.Evidence = []evidence.Observation{evidence.StepReplay{}}
	return f
}

func comparedKernels(j *judge) *judge {
	j.traffic.Speed.Compared = 3
	return j
}

// TestRules: every rule of the merge table has a test that names it.
func TestRules(t *testing.T) {
	tested := map[string]bool{}
	check := func(says string) {
		tested[says] = true
		test := ruleTests[says]
		if test == nil {
			t.Errorf("no test of the rule %q", says)
			return
		}
		t.Run(says, test)
	}
	for _, r := range claimRules {
		check(r.says)
	}
	for _, r := range questionRules {
		check(r.says)
	}
	for says := range ruleTests {
		if !tested[says] {
			t.Errorf("a test of %q, which is no rule", says)
		}
	}
}

// TestOrderOfRecordings: a verdict is the same in whatever order the recordings of a run were read.
func TestOrderOfRecordings(t *testing.T) {
	for _, path := range []string{"../fixtures/kineto/ddp4", "../fixtures/flightrecorder/late"} {
		r, err := auto.Open([]string{path}, auto.Options{Joined: true})
		if err != nil {
			t.Fatal(err)
		}
		var all []trace.Recording
		for j, err := range r.Jobs() {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, j.Recordings()...)
		}
		if len(all) < 2 {
			t.Fatalf("%s is %d recordings: nothing to order", path, len(all))
		}
		verdict := func() *Verdict {
			s := New(Options{})
			for _, x := range all {
				if err := s.Add(x); err != nil {
					t.Fatal(err)
				}
			}
			return s.Verdict()
		}
		want := verdict()
		for seed := range uint64(4) {
			rand.New(rand.NewPCG(seed, 2)).Shuffle(len(all), func(a, b int) { all[a], all[b] = all[b], all[a] })
			if got := verdict(); got.Status != want.Status || !reflect.DeepEqual(got.Findings, want.Findings) || !reflect.DeepEqual(got.Undecided, want.Undecided) || !reflect.DeepEqual(got.Next, want.Next) {
				t.Errorf("%s, order %d: %v with %d findings, expected %v with %d", path, seed, got.Status, len(got.Findings), want.Status, len(want.Findings))
			}
		}
	}
}
