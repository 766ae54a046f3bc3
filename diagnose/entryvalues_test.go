package diagnose

import (
	"math"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/engine/delay"
	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/nccl"
	"github.com/sfstat/sfstat/trace/stagename"
)

// enteredJudge returns a judge of entries alone.
func enteredJudge(r arrivals.Result) *judge {
	return &judge{run: &run{}, minGain: 0.1, entered: &r}
}

// TestLateNoMoreThanSpent: a rank that is late in a stage by its times costs no more there than it spends in it, whatever it
// enters calls late by: these may go on beside the steps.
func TestLateNoMoreThanSpent(t *testing.T) {
	r := arrivals.Result{End: 50 * 100e6, Places: []arrivals.Place{{Op: "all_reduce"}}}
	for name, c := range map[string]struct {
		divided     bool
		rank        int
		spent       int64 // of 5 s in forward, by rank 1
		gain        float64
		below       bool
		excess, all int64
	}{
		"all that it spends": {true, 1, 2e9, 0.4, false, 320e6, 1600e6},
		"hardly anything":    {true, 1, 4e8, 0.08, true, 64e6, 320e6},
		"it spends more":     {true, 1, 4e9, 0.5, false, 400e6, 2000e6},
		"in no stage":        {false, 1, 2e9, 0.5, false, 400e6, 2000e6},
		"another rank":       {true, 9, 2e9, 0.5, false, 400e6, 2000e6},
		"not known":          {true, 1, 0, 0.5, false, 400e6, 2000e6},
	} {
		j := withEntries(stepsOf(), r)
		j.placed.ranks, j.modelled.Whole, j.modelled.Spent = []int{0, 1}, 5e9, []int64{1, 1, 1, c.spent, 1, 1}
		j.entries.AddWindow(&trace.Window{Epochs: []int64{1}, Ranks: []trace.Rank{{ID: 0}}})
		f := j.enteredLate(&r, []claim.Claim{{Ranks: []int{c.rank}, Certainty: claim.Strong, Size: 400e6, Length: 800e6, Saves: claim.Exact(0.5), Parts: []claim.Part{{Charged: 2000e6}},
			Steps: claim.Struck{Count: 5, Of: 50}, Entered: &claim.Entered{Divided: c.divided, Stage: "forward", Recorded: [2]int64{-1, -1}}}})[0]
		if math.Abs(f.RunGain-c.gain) > 1e-9 || f.BelowMinGain != c.below || f.Excess != c.excess || f.Explained != c.all {
			t.Errorf("%s: saves %v, below %v, %d of a step, %d in all; want %+v", name, f.RunGain, f.BelowMinGain, f.Excess, f.Explained, c)
		}
	}
}

// TestLateWhereThereIsRoom: a stage in which a rank spends less than half of what it loses is not where it loses most of it, as clocks that
// are off and rounded times have it: the stage of the call is, where there is room, or, where recorders do not say when steps began, none is known.
func TestLateWhereThereIsRoom(t *testing.T) {
	r := arrivals.Result{End: 50 * 100e6, Places: []arrivals.Place{{Op: "all_reduce", Stage: "backward"}}}
	for spent, want := range map[[2]int64]string{{1.2e9, 1.3e9}: "backward", {1.3e9, 4e9}: "forward", {4e8, 1.2e9}: "forward"} { // there and in backward, of 5 s, half of which it loses
		late := []claim.Claim{{Ranks: []int{1}, Certainty: claim.Strong, Size: 400e6, Length: 800e6, Saves: claim.Exact(0.5), Parts: []claim.Part{{Charged: 2000e6}},
			Steps: claim.Struck{Count: 5, Of: 50}, Entered: &claim.Entered{Divided: true, Stage: "forward", Recorded: [2]int64{-1, -1}}}}
		j := withEntries(stepsOf(), r)
		j.placed.ranks, j.modelled.Whole, j.modelled.Spent = []int{0, 1}, 5e9, []int64{1, 1, 1, spent[0], 1, spent[1]}
		if f := j.enteredLate(&r, late)[0]; spent[0] < 1e9 && (f.Stage != "" || f.RunGain != 0.5) {
			t.Errorf("%d ns there and in backward, of steps that began at an unknown time: %s, saves %v; want it in no stage", spent, f.Stage, f.RunGain)
		}
		j.entries.AddWindow(&trace.Window{Epochs: []int64{1}, Ranks: []trace.Rank{{ID: 0}}})
		f := j.enteredLate(&r, late)[0]
		if saves := map[string]int64{"backward": spent[1], "forward": spent[0]}[want]; f.Stage != want || f.RunGain != float64(saves)/5e9 {
			t.Errorf("%d ns there and in backward: %s, saves %v; want it in %s", spent, f.Stage, f.RunGain, want)
		}
	}
}

// TestSpendsBetweenSteps: a rank spends in no stage what its stages leave of the run, whether within steps or between them.
func TestSpendsBetweenSteps(t *testing.T) {
	j := withEntries(stepsOf(), arrivals.Result{Begin: 1e9, End: 11e9})
	j.placed.ranks, j.modelled.Whole = []int{0, 1}, 5e9
	j.modelled.Stages = append(j.modelled.Stages, points.Stage{Name: "rest", Role: points.Rest})
	j.modelled.Spent = []int64{9, 1e9, 9, 2e9, 9, 1e9, 9, 5e8}
	for stage, want := range map[string]float64{"data": 0.1, "forward": 0.2, stagename.Residual: 0.6} {
		if got := j.spends(1, stage); math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: %v of the run, want %v", stage, got, want)
		}
	}
	j.windows[0].Main.Makespan, j.windows[0].Main.Quality.Missing = 100, trace.RankSet{{0, 0}}
	if got := j.spends(1, "data"); got != 0 {
		t.Errorf("where steps lack a rank: %v, want that it is not known", got)
	}
}

// TestLateClaims: what a claim of entries says, number by number.
func TestLateClaims(t *testing.T) {
	line := arrivals.Line{File: "train.py", Line: 7, Function: "step", Call: "all_reduce"}
	after := arrivals.Line{File: "train.py", Line: 5, Function: "step"}
	r := arrivals.Result{Begin: 1000, End: 1000 + 40*400e6, Places: []arrivals.Place{{}, {Op: "nccl:all_reduce", Line: line, AfterAt: after, Stage: "backward"}}}
	c := claim.Claim{Kind: claim.Rank, Ranks: []int{3}, Hosts: []string{"a"}, Group: "0", Together: []int{3, 5}, P: 1e-6, Certainty: claim.Strong, Size: 60e6, Length: 400e6,
		Saves: claim.Saving{Alone: 0.12, AtMost: 0.15, After: 0.14, Low: 0.11}, Parts: []claim.Part{{Charged: 900e6}, {Charged: 100e6}}, Steps: claim.Struck{Count: 30, Of: 40, First: 2, Last: 38, Pattern: claim.Irregular},
		Entered: &claim.Entered{Place: 1, Desc: "default_pg", Last: 28, Points: 39, Delay: 55e6, Strikes: 30, Recorded: [2]int64{102, 138}}}
	source := evidence.SourceLine{File: "train.py", Line: 7, Function: "step", Call: "all_reduce"}
	want := Finding{source: evidence.FromArrivals, Kind: KindRank, Cause: CauseLate, Confidence: evidence.Strong,
		Place: Place{Rank: &c.Ranks[0], Host: "a", Stage: "backward", Op: "all_reduce", Group: "default_pg", Ranks: []int{3, 5}, Source: &source},
		Cost: Cost{Excess: 60e6, Step: 400e6, Explained: 1000e6, Gain: 0.12 * 40 / 30, RunGain: 0.12, RunLow: 0.11, RunAtMost: 0.15, After: 0.14, Score: 0.15,
			Struck: Struck{Count: 30, Of: 40, First: 102, Last: 138, Pattern: PatternIntermittent}},
		Evidence: []evidence.Observation{
			evidence.LastToEnter{Source: evidence.FromArrivals, Rank: 3, N: 28, Of: 39, Op: "all_reduce", Group: "default_pg", Delay: 55e6, Strikes: 30, P: 1e-6, Line: &source, After: &evidence.SourceLine{File: "train.py", Line: 5, Function: "step"}},
			evidence.Replay{Ranks: []int{3, 5}, Saves: 0.12, Charged: 0.15}, evidence.LateTogether{Ranks: []int{3, 5}, Gain: 0.15, RunGain: 0.15}}}
	lacks := func(l ...evidence.Lack) func(f *Finding) {
		return func(f *Finding) {
			f.Evidence = slices.Clone(f.Evidence)
			for _, x := range l {
				f.Evidence = append(f.Evidence, x)
				f.Confidence = min(f.Confidence, x.AtMost)
			}
		}
	}
	for name, x := range map[string]struct {
		change func(r *arrivals.Result, c *claim.Claim)
		want   func(f *Finding)
	}{
		"certain": {nil, lacks()},
		"an event": {func(_ *arrivals.Result, c *claim.Claim) { c.Certainty = claim.Event },
			lacks(evidence.Lack{Reason: evidence.ChanceNotExcluded, AtMost: evidence.Ambiguous, N: 30, P: 0.05})},
		"supported": {func(_ *arrivals.Result, c *claim.Claim) { c.Certainty = claim.Supported },
			lacks(evidence.Lack{Reason: evidence.Unconfirmed, AtMost: evidence.Supported})},
		"apart": {func(r *arrivals.Result, _ *claim.Claim) { r.Apart = true }, lacks(evidence.Lack{Reason: evidence.WaitNotRecorded, AtMost: evidence.Supported})},
		"a clock": {func(_ *arrivals.Result, c *claim.Claim) { e := *c.Entered; e.Clock = true; c.Entered = &e },
			lacks(evidence.Lack{Reason: evidence.ClockOffset, AtMost: evidence.Supported})},
		"alone": {func(_ *arrivals.Result, c *claim.Claim) { c.Together = []int{3} }, func(f *Finding) {
			f.Ranks, f.Evidence = nil, []evidence.Observation{f.Evidence[0], evidence.Replay{Ranks: []int{3}, Saves: 0.12, Charged: 0.15}}
		}},
		"divided over stages": {func(_ *arrivals.Result, c *claim.Claim) {
			e := *c.Entered
			e.Divided, e.Stage = true, "forward"
			c.Entered = &e
		}, func(f *Finding) { f.Stage = "forward" }},
		"little": {func(_ *arrivals.Result, c *claim.Claim) { c.Saves = claim.Exact(0.09) }, func(f *Finding) {
			f.Cost.Gain, f.RunGain, f.RunLow, f.RunAtMost, f.After, f.Score, f.BelowMinGain = 0.09*40/30, 0.09, 0.09, 0.09, 0.09, 0.09, true
			f.Evidence = []evidence.Observation{f.Evidence[0], evidence.Replay{Ranks: []int{3, 5}, Saves: 0.09, Charged: 0.09}, evidence.LateTogether{Ranks: []int{3, 5}, Gain: 0.09, RunGain: 0.09}}
		}},
		"behind the same line": {func(r *arrivals.Result, _ *claim.Claim) {
			r.Places = slices.Clone(r.Places)
			r.Places[1].AfterAt = line
		}, func(f *Finding) {
			e := f.Evidence[0].(evidence.LastToEnter)
			e.After = nil
			f.Evidence = []evidence.Observation{e, f.Evidence[1], f.Evidence[2]}
		}},
	} {
		r, c, want := r, c, want
		if x.change != nil {
			x.change(&r, &c)
		}
		x.want(&want)
		got := enteredJudge(arrivals.Result{}).lateArrivals(&arrivals.Result{Begin: r.Begin, End: r.End, Apart: r.Apart, Places: r.Places, Late: []claim.Claim{c}})
		if diff := gocmp.Diff([]Finding{want}, got, gocmp.AllowUnexported(Finding{})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestPlacesOfCalls: the stage, operation and group that a call is known by.
func TestPlacesOfCalls(t *testing.T) {
	backward, forward := arrivals.Line{Phase: arrivals.PhaseBackward}, arrivals.Line{Phase: arrivals.PhaseForward}
	for name, c := range map[string]struct {
		p    arrivals.Place
		want string
	}{
		"by packets":                      {arrivals.Place{Stage: "x", Line: backward}, "x"},
		"nothing known":                   {arrivals.Place{}, ""},
		"by its frames":                   {arrivals.Place{Line: forward}, forward.Phase.String()},
		"behind a wait in backward":       {arrivals.Place{Line: backward, AfterAt: backward, Waits: 1, Kind: nccl.AllReduce}, ""},
		"behind no wait":                  {arrivals.Place{Line: backward, AfterAt: backward, Kind: nccl.AllReduce}, backward.Phase.String()},
		"behind a wait in forward":        {arrivals.Place{Line: backward, AfterAt: forward, Waits: 1, Kind: nccl.AllReduce}, backward.Phase.String()},
		"a broadcast":                     {arrivals.Place{Line: backward, AfterAt: backward, Waits: 1, Kind: nccl.Broadcast}, backward.Phase.String()},
		"in forward, behind one backward": {arrivals.Place{Line: forward, AfterAt: backward, Waits: 1, Kind: nccl.AllReduce}, forward.Phase.String()},
	} {
		if got := stageOf(&c.p); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	for in, want := range map[string]string{"nccl:all_reduce": "all_reduce", "barrier": "barrier", "gloo:a:b": "a:b"} {
		if got := operation(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	for in, want := range map[[2]string]string{{"0", "default_pg"}: "default_pg", {"0", ""}: "0", {"0", "undefined"}: "0"} {
		if got := groupOf(in[0], in[1]); got != want {
			t.Errorf("%v: %q, want %q", in, got, want)
		}
	}
	at := func(file string, line int) arrivals.Line { return arrivals.Line{File: file, Line: line} }
	for _, c := range []struct{ line, after, want arrivals.Line }{{at("a", 3), at("a", 3), at("", 0)}, {at("a", 3), at("a", 2), at("a", 2)}, {at("a", 3), at("b", 3), at("b", 3)}} {
		if got := previousLine(&arrivals.Place{Line: c.line, AfterAt: c.after}); got != c.want {
			t.Errorf("%+v behind %+v: %+v", c.line, c.after, got)
		}
	}
	if sourceOf(at("", 9)) != nil || stackLine(nil) != nil || stackLine(&arrivals.Stack{Line: at("c", 4)}).Line != 4 {
		t.Error("a line without a file, or a stack")
	}
}

// TestMissingRanks: what is said of ranks that never entered a call, and how certain that is.
func TestMissingRanks(t *testing.T) {
	line := arrivals.Line{File: "train.py", Line: 70, Function: "step"}
	source := &evidence.SourceLine{File: "train.py", Line: 70, Function: "step"}
	last := arrivals.Line{File: "train.py", Line: 60}
	absent := func(rank int, change func(a *arrivals.Absent)) arrivals.Absent {
		a := arrivals.Absent{Rank: rank, Host: "a", Seq: 18, Op: "nccl:broadcast", Line: last}
		if change != nil {
			change(&a)
		}
		return a
	}
	hang := func(dumped int64, missing ...arrivals.Absent) *arrivals.Hang {
		return &arrivals.Hang{Dumped: dumped, Groups: []arrivals.Blocked{{Group: "0", Desc: "default_pg", Op: "nccl:all_reduce", Seq: 19, Line: line, Waiting: []int{0, 1}, Since: 5000, Missing: missing, Unknown: []int{7}, WaitsFor: -1}}}
	}
	never := func(rank int, atLeast int64, change func(e *evidence.NeverEntered)) evidence.NeverEntered {
		e := evidence.NeverEntered{Rank: rank, Op: "all_reduce", N: 19, Group: "default_pg", Waiting: []int{0, 1}, Since: 5000, AtLeast: atLeast, At: source, LastOp: "broadcast", LastN: 18, Last: &evidence.SourceLine{File: "train.py", Line: 60}}
		if change != nil {
			change(&e)
		}
		return e
	}
	finding := func(rank int, ranks []int, e evidence.NeverEntered, lacks ...evidence.Lack) Finding {
		f := Finding{Kind: KindRank, Cause: CauseMissing, Confidence: evidence.Strong, Place: Place{Rank: &rank, Host: "a", Op: "all_reduce", Group: "default_pg", Ranks: ranks, Source: e.Last}, Evidence: []evidence.Observation{e}}
		for _, l := range lacks {
			f.Evidence, f.Confidence = append(f.Evidence, l), min(f.Confidence, l.AtMost)
		}
		return f
	}
	for name, c := range map[string]struct {
		r    arrivals.Result
		want []Finding
	}{
		"no hang":                   {arrivals.Result{}, nil},
		"for ten steps":             {arrivals.Result{Step: 100, Hang: hang(6000, absent(2, nil))}, []Finding{finding(2, nil, never(2, 1000, nil))}},
		"for less than ten steps":   {arrivals.Result{Step: 100, Hang: hang(5999, absent(2, nil))}, []Finding{finding(2, nil, never(2, 999, nil), evidence.Lack{Reason: evidence.DumpIncomplete, AtMost: evidence.Supported})}},
		"for ten ns, without steps": {arrivals.Result{Hang: hang(5010, absent(2, nil))}, []Finding{finding(2, nil, never(2, 10, nil))}},
		"two":                       {arrivals.Result{Step: 100, Hang: hang(9000, absent(2, nil), absent(3, nil))}, []Finding{finding(2, []int{2, 3}, never(2, 4000, nil)), finding(3, []int{2, 3}, never(3, 4000, nil))}},
		"it may be": {arrivals.Result{Step: 100, Hang: hang(9000, absent(2, func(a *arrivals.Absent) { a.May, a.Dump = true, arrivals.CutDump }))},
			[]Finding{finding(2, nil, never(2, 4000, func(e *evidence.NeverEntered) { e.Dump = "cut" }), evidence.Lack{Reason: evidence.DumpIncomplete, AtMost: evidence.Ambiguous})}},
		"it left no dump": {arrivals.Result{Step: 100, Hang: hang(9000, absent(2, func(a *arrivals.Absent) { a.May, a.Dump = true, arrivals.NoDump }))},
			[]Finding{finding(2, nil, never(2, 4000, func(e *evidence.NeverEntered) { e.NoDump = true }), evidence.Lack{Reason: evidence.DumpIncomplete, AtMost: evidence.Ambiguous})}},
		"it was looked at": {arrivals.Result{Step: 100, Stacks: []arrivals.Stack{{Ranks: []int{2}, Line: arrivals.Line{File: "data.py", Line: 9}}}, Hang: hang(9000, absent(2, nil))},
			[]Finding{finding(2, nil, never(2, 4000, func(e *evidence.NeverEntered) { e.Stack = &evidence.SourceLine{File: "data.py", Line: 9} }))}},
		"nobody knows who": {arrivals.Result{Step: 100, Hang: hang(9000)}, []Finding{{Kind: KindGroup, Cause: CauseMissing, Confidence: evidence.Ambiguous, Place: Place{Op: "all_reduce", Group: "default_pg"},
			Evidence: []evidence.Observation{evidence.NeverEntered{Rank: -1, Op: "all_reduce", N: 19, Group: "default_pg", Waiting: []int{0, 1}, Since: 5000, AtLeast: 4000, At: source, LastN: -1, Unknown: []int{7}}}}}},
	} {
		j := enteredJudge(c.r)
		if diff := gocmp.Diff(c.want, j.missingRanks(&c.r), gocmp.AllowUnexported(Finding{})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestDifferentCalls: of calls that ranks entered differently the smaller side is named.
func TestDifferentCalls(t *testing.T) {
	m := arrivals.Mismatch{Difference: arrivals.DifferentOperation, Group: "3", Desc: "tp", Seq: 8, Sides: []arrivals.Side{{Ranks: []int{0, 1, 3}, Op: "nccl:all_reduce", Sizes: "[8]", Types: "f32"},
		{Ranks: []int{2}, Op: "nccl:broadcast", Sizes: "[4]", Types: "f16", Line: arrivals.Line{File: "m.py", Line: 2}}}}
	source := &evidence.SourceLine{File: "m.py", Line: 2}
	want := Finding{Kind: KindRank, Cause: CauseDesync, Confidence: evidence.Strong, Place: Place{Rank: &m.Sides[1].Ranks[0], Ranks: []int{2}, Op: "broadcast", Group: "tp", Source: source}, Evidence: []evidence.Observation{
		evidence.EnteredDifferently{Difference: "operation", Group: "tp", N: 8, Ranks: []int{2}, Op: "broadcast", Sizes: "[4]", Types: "f16", Others: []int{0, 1, 3}, OthersOp: "all_reduce", OthersSizes: "[8]", OthersTypes: "f32", Source: source}}}
	if diff := gocmp.Diff([]Finding{want}, desync(&arrivals.Result{Mismatches: []arrivals.Mismatch{m}}), gocmp.AllowUnexported(Finding{})); diff != "" {
		t.Error(diff)
	}
	of := func(d arrivals.Difference, hangs bool, few ...int) []Finding {
		x := m
		x.Difference, x.Sides = d, []arrivals.Side{m.Sides[0], {Ranks: few, Op: "a"}}
		r := &arrivals.Result{Mismatches: []arrivals.Mismatch{x, m}}
		if hangs {
			r.Hang = &arrivals.Hang{}
		}
		return desync(r)
	}
	for _, c := range []struct {
		of    arrivals.Difference
		hangs bool
		n     int
	}{{arrivals.DifferentOperation, false, 2}, {arrivals.DifferentSizes, false, 1}, {arrivals.DifferentSizes, true, 2}, {arrivals.DifferentStates, true, 1}} {
		if got := of(c.of, c.hangs, 2, 4); len(got) != c.n || c.n == 2 && (got[0].Kind != KindGroup || got[0].Rank != nil) {
			t.Errorf("%v, hangs %v: %+v, want %d", c.of, c.hangs, got, c.n)
		}
	}
}

// TestSetBehindMessages: ranks that are late together behind messages are a claim from the least gain on.
func TestSetBehindMessages(t *testing.T) {
	r := arrivals.Result{Step: 100, Set: &arrivals.Set{Ranks: []int{4, 5}, Place: 1, Delay: 10}, Places: []arrivals.Place{{}, {Op: "nccl:barrier", Group: "0", Points: 33, Line: arrivals.Line{File: "a.py", Line: 3}}}}
	want := &Finding{source: evidence.FromArrivals, Kind: KindGroup, Cause: CauseLate, Confidence: evidence.Ambiguous, Place: Place{Ranks: []int{4, 5}, Op: "barrier", Group: "0", Source: &evidence.SourceLine{File: "a.py", Line: 3}},
		Cost: Cost{Excess: 10, Step: 100, Score: 0.1, Gain: 0.1, RunGain: 0.1, Struck: Struck{Count: 33, Of: 33, First: -1, Last: -1, Pattern: PatternConstant}}, Evidence: []evidence.Observation{evidence.LateBehindMessages{Ranks: []int{4, 5}, Delay: 10}}}
	if diff := gocmp.Diff(want, enteredJudge(r).lateSet(&r), gocmp.AllowUnexported(Finding{})); diff != "" {
		t.Error(diff)
	}
	for name, change := range map[string]func(r *arrivals.Result){"too little": func(r *arrivals.Result) { r.Set.Delay = 9 }, "no step": func(r *arrivals.Result) { r.Step = 0 }, "no set": func(r *arrivals.Result) { r.Set = nil }} {
		x, set := r, *r.Set
		x.Set = &set
		if change(&x); enteredJudge(x).lateSet(&x) != nil {
			t.Errorf("%s: a claim", name)
		}
	}
}

// TestNobodyLate: what was looked at is the place that is entered most, no more steps of it than fit into the time.
func TestNobodyLate(t *testing.T) {
	r := &arrivals.Result{Ranks: []int{0, 1, 2}, Begin: 100, End: 2200, Step: 100, Latest: arrivals.Latest{Latest: delay.Latest{Rank: 2, N: 9, Of: 20, Behind: 7, P: 0.04}},
		Places: []arrivals.Place{{Repeats: true, Skew: 5, Points: 30}, {Repeats: true, Skew: 8, Points: 12}, {Skew: 90, Points: 90}}}
	want := evidence.NobodyLate{Ranks: 3, Step: 100, Skew: 8, Steps: 21, Last: &evidence.LastMostOften{Rank: 2, N: 9, Of: 20, Behind: 7, P: 0.04, Significant: true}}
	if diff := gocmp.Diff(want, searchSummary(r)); diff != "" {
		t.Error(diff)
	}
	r.Places[0].Points, r.Latest.Rank = 13, -1
	if got := searchSummary(r); got.Steps != 13 || got.Last != nil {
		t.Errorf("%+v, want 13 steps", got)
	}
	r.Step = 0
	if got := searchSummary(r); got.Steps != 0 {
		t.Errorf("%+v of no step", got)
	}
}

// TestUntoldPlaces: a place loses time untold if a rank may be late there, or it tells none and its skew, in the steps that
// enter it, costs the least gain. Before messages that are awaited at a collective, or between neighbours, it counts elsewhere.
func TestUntoldPlaces(t *testing.T) {
	message := arrivals.Place{Repeats: true, Points: 50, Skew: 10, Kind: nccl.Recv}
	for name, c := range map[string]struct {
		p                    arrivals.Place
		messages, neighbours bool
		want                 bool
	}{
		"may be late":           {arrivals.Place{Repeats: true, Perhaps: true, Limit: 5}, false, false, true},
		"skews":                 {arrivals.Place{Repeats: true, Points: 50, Skew: 10}, false, false, true},
		"skews little":          {arrivals.Place{Repeats: true, Points: 50, Skew: 9}, false, false, false},
		"skews in a tenth":      {arrivals.Place{Repeats: true, Points: 5, Skew: 99}, false, false, false},
		"skews much in a tenth": {arrivals.Place{Repeats: true, Points: 5, Skew: 100}, false, false, true},
		"twice a step":          {arrivals.Place{Repeats: true, Points: 100, Skew: 9}, false, false, false},
		"tells":                 {arrivals.Place{Repeats: true, Points: 50, Skew: 10, Limit: 1}, false, false, false},
		"of messages":           {arrivals.Place{Repeats: true, Points: 50, Skew: 10, Unlike: true}, false, false, false},
		"a message":             {message, false, false, true},
		"an awaited message":    {message, true, false, false},
		"of neighbours":         {message, false, true, false},
		"does not repeat":       {arrivals.Place{Perhaps: true, Points: 50, Skew: 10}, false, false, false},
	} {
		j := enteredJudge(arrivals.Result{Step: 100, Begin: 1000, End: 6000, Messages: c.messages, Neighbours: c.neighbours, Places: []arrivals.Place{{}, c.p}})
		if j.losesUntold(&c.p) != c.want || j.untold() != c.want {
			t.Errorf("%s: want %v", name, c.want)
		}
	}
	j := enteredJudge(arrivals.Result{Places: []arrivals.Place{{Limit: 3}, {Limit: 9}, {Limit: 4}}})
	if got := j.arrivalLimits(); len(got) != 1 || got[0].Reported != 9 {
		t.Errorf("limits %+v, want 9", got)
	}
	if (&judge{run: &run{}}).arrivalLimits() != nil {
		t.Error("limits without entries")
	}
}

// TestMessagesAlone: ranks synchronise in messages alone where these repeat, nothing is silent, and no collective repeats.
func TestMessagesAlone(t *testing.T) {
	message, once, collective := arrivals.Place{Repeats: true, Unlike: true}, arrivals.Place{Unlike: true}, arrivals.Place{Repeats: true}
	for name, c := range map[string]struct {
		r    arrivals.Result
		want bool
	}{
		"messages":              {arrivals.Result{Places: []arrivals.Place{message}}, true},
		"and a collective":      {arrivals.Result{Places: []arrivals.Place{message, collective}}, false},
		"and one at the start":  {arrivals.Result{Places: []arrivals.Place{message, {}}}, true},
		"messages once":         {arrivals.Result{Places: []arrivals.Place{once}}, false},
		"some are not recorded": {arrivals.Result{Places: []arrivals.Place{message}, Silent: []string{"0"}}, false},
		"collectives":           {arrivals.Result{Places: []arrivals.Place{collective}}, false},
	} {
		if got := messagesAlone(&c.r); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	for name, c := range map[string]struct {
		r    arrivals.Result
		want bool
	}{
		"recorded": {arrivals.Result{}, false}, "silent": {arrivals.Result{Silent: []string{"0"}}, true}, "apart": {arrivals.Result{Apart: true}, false},
		"a set of ranks": {arrivals.Result{Set: &arrivals.Set{}}, false}, "apart, a set of ranks": {arrivals.Result{Apart: true, Set: &arrivals.Set{}}, true},
	} {
		if got := enteredJudge(c.r).hidesMessages(); got != c.want {
			t.Errorf("%s: hides messages %v", name, got)
		}
	}
}

// TestChargedWithTheRest: steps that are slow on all ranks cost what late ranks leave of them.
func TestChargedWithTheRest(t *testing.T) {
	f := Finding{Cause: CauseSlowSteps, Place: Place{Stage: "forward"}, Confidence: evidence.Supported, Cost: Cost{Gain: 0.5, RunGain: 0.4, RunLow: 0.32, RunAtMost: 0.44, After: 0.4, Score: 0.4, Excess: 100, Explained: 1000, Struck: Struck{Count: 10, Of: 20}},
		Evidence: []evidence.Observation{evidence.SlowSteps{Factor: 3, Excess: 100, N: 10}}}
	rank := 1
	late := func(excess int64) Finding {
		return Finding{Kind: KindRank, Cause: CauseLate, Place: Place{Rank: &rank, Stage: "forward"}, Confidence: evidence.Strong, Cost: Cost{Excess: excess, Struck: Struck{Count: 10, Of: 20}}}
	}
	j := &judge{run: &run{}, minGain: 0.1, late: []Finding{late(25)}}
	left := j.chargeRest([]Finding{f})
	want := Cost{Gain: 0.5 * 0.75 / (1 - 0.25*0.5), RunGain: 0.3, RunLow: 0.24, RunAtMost: 0.33, After: 0.3, Score: 0.3, Excess: 75, Explained: 750, Struck: f.Struck}
	near := gocmp.Comparer(func(a, b float64) bool { return max(a-b, b-a) < 1e-12 })
	if diff := gocmp.Diff(want, left[0].Cost, near); diff != "" {
		t.Error(diff)
	}
	if e := left[0].Evidence[0].(evidence.SlowSteps); e != (evidence.SlowSteps{Factor: 2.5, Excess: 75, N: 10}) {
		t.Errorf("%+v, want a factor of 2.5", e)
	}
	if e := f.Evidence[0].(evidence.SlowSteps); e.Factor != 3 {
		t.Errorf("the claim itself was changed: %+v", e)
	}
	for excess, n := range map[int64]int{74: 1, 76: 0} { // a quarter of 0.4 is left
		if j.late = []Finding{late(excess)}; len(j.chargeRest([]Finding{f})) != n {
			t.Errorf("a rank late by %d of 100: want %d left", excess, n)
		}
	}
	// Where calls divide the steps, only who is late by entries alone: the wait for the others is taken off.
	cut := &judge{run: &run{}, minGain: 0.1, late: []Finding{late(76)}, modelled: &delay.Result{}, placed: stepPlaces{cut: &cutPlan{clocked: true}}}
	if left := cut.chargeRest([]Finding{f}); len(left) != 0 {
		t.Errorf("late by entries alone: %d claims, want none", len(left))
	}
	if left := cut.chargeRest([]Finding{f, late(76)}); len(left) != 2 || left[0].Excess != f.Excess {
		t.Errorf("late by the steps too: %+v, want both claims as they are", left)
	}
	grown := f
	grown.Cause = CauseRegression
	for excess, n := range map[int64]int{49: 1, 50: 0} {
		if j.late = []Finding{late(excess)}; len(j.chargeRest([]Finding{grown})) != n {
			t.Errorf("grown by 100 where a rank is late by %d: want %d left", excess, n)
		}
	}
}

// TestEntryActions: what to do about a finding of entries.
func TestEntryActions(t *testing.T) {
	rank := 3
	r := &arrivals.Result{Ranks: []int{0, 1, 2, 3, 4}, Stacks: []arrivals.Stack{{Ranks: []int{4}}},
		Hang: &arrivals.Hang{Groups: []arrivals.Blocked{{Missing: []arrivals.Absent{{Rank: 3}, {Rank: 4}}, WaitsFor: -1}}}}
	of := func(cause Cause, stage string, rank *int, ranks ...int) Finding {
		return Finding{Cause: cause, Place: Place{Rank: rank, Stage: stage, Host: "a", Ranks: ranks}}
	}
	four := 4
	do := func(kind answer.ActionKind, with answer.Source, stage string, ranks, peers []int) answer.Action {
		a := answer.Action{Action: kind, With: with, Host: "a", Ranks: ranks, Peers: peers}
		if stage != "" {
			a.Stages = []string{stage}
		}
		return a
	}
	for name, c := range map[string]struct {
		f    Finding
		want []answer.Action
	}{
		"missing":            {of(CauseMissing, "", &rank), []answer.Action{do(answer.DumpStack, answer.SourcePySpy, "", []int{3, 4}, nil), do(answer.CheckKernelLog, "", "", []int{3, 4}, nil)}},
		"missing, looked at": {of(CauseMissing, "", &four), []answer.Action{do(answer.CheckKernelLog, "", "", []int{3, 4}, nil)}},
		"different calls":    {of(CauseDesync, "", &rank, 3, 4), []answer.Action{do(answer.DumpStack, answer.SourcePySpy, "", []int{3}, nil)}},
		"several":            {of(CauseLate, "backward", nil, 1, 2), []answer.Action{do(answer.Profile, answer.SourceProfiler, "backward", []int{1, 2}, nil)}},
		"late in data":       {of(CauseLate, "data.next_wait", &rank), []answer.Action{do(answer.SampleStack, answer.SourcePySpy, "data.next_wait", []int{3}, nil), do(answer.CheckLoader, answer.SourceLoader, "data.next_wait", []int{3}, nil)}},
		"late in the optimizer": {of(CauseLate, "optim.step_cpu_wall", &rank), []answer.Action{do(answer.SampleStack, answer.SourcePySpy, "optim.step_cpu_wall", []int{3}, nil),
			do(answer.Profile, answer.SourceProfiler, "optim.step_cpu_wall", []int{3}, []int{0, 2})}},
		"late in no stage": {of(CauseLate, stagename.Residual, &rank), []answer.Action{do(answer.SampleStack, answer.SourcePySpy, stagename.Residual, []int{3}, nil),
			do(answer.Profile, answer.SourceProfiler, stagename.Residual, []int{3}, []int{0, 2})}},
		"late in backward": {of(CauseLate, "model.backward_cpu_wall", &rank), []answer.Action{do(answer.Profile, answer.SourceProfiler, "model.backward_cpu_wall", []int{3}, []int{0, 2}),
			do(answer.InspectHost, answer.SourceDevice, "model.backward_cpu_wall", []int{3}, nil)}},
	} {
		if diff := gocmp.Diff(c.want, arrivalActions(&c.f, r)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestPlacedByWindows: windows that know where a rank runs say it once.
func TestPlacedByWindows(t *testing.T) {
	rank := 3
	role := trace.Role{{Axis: "pp", Index: 1}}
	f := Finding{Place: Place{Rank: &rank}}
	member := func(host string, local int) Window {
		w := Window{Main: stepsOf().windows[0].Main}
		m := *w.Main
		m.Members = []trace.Rank{{ID: 2, Host: "z", LocalRank: 7}, {ID: 3, Host: host, LocalRank: local, Role: role}}
		w.Main = &m
		return w
	}
	j := &judge{run: &run{windows: []Window{member("a", -1), member("b", 1), member("c", 2)}}}
	if j.locate(&f); f.Host != "b" || *f.LocalRank != 1 || f.Role != role.String() {
		t.Errorf("%+v", f.Place)
	}
}

// TestWorthAmongMessages: what a rank saves once others are fixed counts where ranks exchange messages only if it saves
// half of that alone.
func TestWorthAmongMessages(t *testing.T) {
	for _, c := range []struct {
		messages     bool
		alone, after float64
		below        bool
	}{{false, 0.04, 0.11, false}, {true, 0.04, 0.11, true}, {true, 0.06, 0.11, false}, {true, 0.12, 0.3, false}, {true, 0.04, 0.06, true}} {
		late := claim.Claim{Kind: claim.Rank, Cause: claim.Late, Ranks: []int{3}, Host: -1, Steps: claim.Struck{Count: 9, Of: 9}, Saves: claim.Saving{Alone: c.alone, After: c.after, AtMost: c.alone},
			Certainty: claim.Strong, Entered: &claim.Entered{}}
		got := enteredJudge(arrivals.Result{}).lateArrivals(&arrivals.Result{End: 1e9, Messages: c.messages, Places: make([]arrivals.Place, 1), Late: []claim.Claim{late}})
		if got[0].BelowMinGain != c.below {
			t.Errorf("%+v: below the least gain %v", c, got[0].BelowMinGain)
		}
	}
}

// TestInheritedThroughMessages: a rank that all others wait for in a step, by its times, has waited itself where its own
// delay at the collective is small; what is before a message that it sends counts there.
func TestInheritedThroughMessages(t *testing.T) {
	places := func(send int64) []arrivals.Place {
		at := func(kind nccl.Op, delay int64) arrivals.Place {
			return arrivals.Place{Kind: kind, Repeats: true, Ranks: []arrivals.RankAt{{Rank: 2, Delay: 45e6}, {Rank: 3, Delay: delay}}}
		}
		return []arrivals.Place{at(nccl.AllReduce, 1e6), at(nccl.Send, send)}
	}
	f := claimed(3, "rest", 0.5, evidence.Supported)
	for _, c := range []struct {
		messages bool
		send     int64
		want     bool
	}{{true, 20e6, true}, {false, 20e6, false}, {true, 0, true}, {false, 0, true}} {
		if got := f.inherits(&arrivals.Result{Messages: c.messages, Places: places(c.send)}); got != c.want {
			t.Errorf("messages %v, %d ns before one: inherits %v", c.messages, c.send, got)
		}
	}
}

// TestInheritedFromNeighbours: where ranks exchange messages with their neighbours alone, a rank that is late without working longer in a step has
// waited for a neighbour.
func TestInheritedFromNeighbours(t *testing.T) {
	f := claimed(3, "rest", 0.3, evidence.Supported)
	late := func(saves float64) []claim.Claim {
		return []claim.Claim{{Kind: claim.Rank, Ranks: []int{1}, Saves: claim.Exact(saves)}}
	}
	for _, c := range []struct {
		late []claim.Claim
		want bool
	}{{late(0.3), true}, {nil, false}, {late(0.01), false}} {
		if got := f.inherits(&arrivals.Result{Neighbours: true, Late: c.late}); got != c.want {
			t.Errorf("%+v: inherits %v", c.late, got)
		}
	}
}

// TestLateByRole: of ranks that each may have work of their own, as in a pipeline, one that takes longer in all steps may do so by
// design, and a baseline would tell; one that does in some steps, or ever longer, does not.
func TestLateByRole(t *testing.T) {
	for name, c := range map[string]struct {
		roles   bool
		pattern claim.Pattern
		grows   bool
		saves   float64
		doubted bool
		asks    bool
	}{
		"peers":            {false, claim.Constant, false, 0.2, false, false},
		"all steps":        {true, claim.Constant, false, 0.2, true, true},
		"all steps, small": {true, claim.Constant, false, 0.05, true, true},
		"growing":          {true, claim.Constant, true, 0.2, false, false},
		"every third":      {true, claim.Periodic, false, 0.2, false, false},
		"a span":           {true, claim.Span, false, 0.2, false, false},
	} {
		r := arrivals.Result{Step: 100e6, End: 5e9, Roles: c.roles, Neighbours: true, Places: []arrivals.Place{{Op: "send", Kind: nccl.Send, Repeats: true, Limit: 10e6}}}
		j := withEntries(stepsOf(), r)
		struck := 50
		if c.pattern != claim.Constant {
			struck = 17
		}
		late := claim.Claim{Kind: claim.Rank, Ranks: []int{1}, Certainty: claim.Strong, Size: 40e6, Length: 100e6, Saves: claim.Exact(c.saves), Steps: claim.Struck{Count: struck, Of: 50, Pattern: c.pattern},
			Change: claim.Change{Grows: c.grows}, Entered: &claim.Entered{Recorded: [2]int64{-1, -1}}}
		claims := j.enteredLate(&r, []claim.Claim{late})
		want := evidence.Strong
		if c.doubted {
			want = evidence.Ambiguous
		}
		if claims[0].Confidence != want {
			t.Errorf("%s: %v, want %v", name, claims[0].Confidence, want)
		}
		asks := slices.ContainsFunc(j.askRoles(claims, nil), func(u answer.Undecided) bool {
			return u.Question == answer.RolesMixed && u.Needs == answer.SourceBaseline
		})
		if asks != c.asks {
			t.Errorf("%s: asks for a baseline: %v, want %v", name, asks, c.asks)
		}
	}
}

// TestRolesAlone: where each rank may have work of its own and none is named, one that is late may have less to do than the others, unless calls
// divide the steps, which show all that each works.
func TestRolesAlone(t *testing.T) {
	for _, roles := range []bool{false, true} {
		j := withEntries(stepsOf(), arrivals.Result{Step: 100e6, Roles: roles, Neighbours: true, Places: []arrivals.Place{{Kind: nccl.Send, Repeats: true, Limit: 10e6}}})
		if got := len(j.askRoles(nil, nil)) > 0; got != roles {
			t.Errorf("roles %v: asks for a baseline: %v", roles, got)
		}
		j.placed.cut = &cutPlan{clocked: true}
		open := []answer.Undecided{{Question: answer.RolesMixed}, {Question: answer.MicrostepOrder}}
		if got := j.askRoles(nil, open); len(got) != map[bool]int{false: 2, true: 1}[roles] {
			t.Errorf("roles %v, divided by calls: %+v", roles, got)
		}
	}
}

// TestMayBeDesign: a delay in all steps, or in nearly all, may be work that a rank has by design; one in every other step, from some step on,
// or growing is none.
func TestMayBeDesign(t *testing.T) {
	for name, c := range map[string]struct {
		claim claim.Claim
		want  bool
	}{
		"in all steps":     {claim.Claim{Steps: claim.Struck{Pattern: claim.Constant, Count: 47, Of: 47}}, true},
		"in nearly all":    {claim.Claim{Steps: claim.Struck{Pattern: claim.Irregular, Count: 46, Of: 60}}, true},
		"in three of four": {claim.Claim{Steps: claim.Struck{Pattern: claim.Irregular, Count: 45, Of: 60}}, false},
		"from a step on":   {claim.Claim{Steps: claim.Struck{Pattern: claim.Span, Count: 30, Of: 60}}, false},
		"every other step": {claim.Claim{Steps: claim.Struck{Pattern: claim.Periodic, Count: 50, Of: 60}}, false},
		"growing":          {claim.Claim{Change: claim.Change{Grows: true}, Steps: claim.Struck{Pattern: claim.Constant, Count: 47, Of: 47}}, false},
	} {
		if got := mayBeDesign(&c.claim); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestRolesByTimes: where each rank may have work of its own, stage times by themselves name nobody.
func TestRolesByTimes(t *testing.T) {
	for _, roles := range []bool{false, true} {
		j := withEntries(stepsOf(), arrivals.Result{Roles: roles, Neighbours: true})
		rank := 1
		got := j.doubtBehindMessages([]Finding{{modelled: true, Kind: KindRank, Cause: CauseLate, Place: Place{Rank: &rank}, Confidence: evidence.Strong}})[0].Confidence
		if want := map[bool]evidence.Confidence{false: evidence.Strong, true: evidence.Insufficient}[roles]; got != want {
			t.Errorf("roles %v: %v, want %v", roles, got, want)
		}
		j.placed.cut = &cutPlan{clocked: true} // then they are not by themselves
		if got := j.doubtBehindMessages([]Finding{{modelled: true, Kind: KindRank, Cause: CauseLate, Place: Place{Rank: &rank}, Confidence: evidence.Strong}})[0].Confidence; got != evidence.Strong {
			t.Errorf("roles %v, divided by calls: %v", roles, got)
		}
	}
}
