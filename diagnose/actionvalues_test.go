package diagnose

import (
	"fmt"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/diagnose/opnames"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/operator"
)

// handOperators returns the operators behind the forward stage of a job by hand: four kernels that take 10 ms each on every rank, and longer on rank
// 2 by so many ms; and a collective of 20 ms in which the others wait for it.
func handOperators(by ...int64) *operator.Totals {
	t := &operator.Totals{Run: "hand", Stages: []string{handStages[1], "comm"}, Names: []string{"all_reduce"}}
	for k := range by {
		t.Names = append(t.Names, fmt.Sprintf("kernel_%d", k))
	}
	wait := int64(0)
	for _, ms := range by {
		wait += ms * msec
	}
	for r := range handRanks {
		t.Ranks = append(t.Ranks, trace.Rank{ID: r, Host: fmt.Sprintf("host%d", r/2), LocalRank: r % 2})
	}
	for step := range handSteps {
		t.Steps = append(t.Steps, int64(handFirst+step))
		for r := range int32(handRanks) {
			for k, ms := range by {
				row := operator.Total{Rank: r, Step: int32(step), Name: int32(k + 1), Count: 3, Dur: 10 * msec}
				if r == 2 {
					row.Dur += ms * msec
				}
				t.Rows = append(t.Rows, row)
			}
			row := operator.Total{Rank: r, Step: int32(step), Stage: 1, Count: 1, Communicates: 1, Joined: 1, Dur: 20*msec + wait, Wait: wait}
			if r == 2 {
				row.Dur, row.Wait = 20*msec, 0
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// TestHandOperators: what a late rank launched, by hand: in all, the operators that take longer, and the one that explains most of it.
func TestHandOperators(t *testing.T) {
	two := 2
	all := func(n int, own, excess int64) evidence.LaunchedOperators {
		return evidence.LaunchedOperators{Rank: &two, Stage: handStages[1], N: n, Of: 4, Own: own * msec, Peers: 40 * msec, Excess: excess * msec, Tested: true, Late: true}
	}
	wide := all(4, 80, 40)
	wide.DeviceWide, wide.Low, wide.High = true, 2, 2
	one := func(k int, by, all int64) evidence.OperatorDifference {
		return evidence.OperatorDifference{Op: fmt.Sprintf("kernel_%d", k), Own: (10 + by) * msec, Peers: 10 * msec, Steps: handSteps, Of: handSteps, Count: 3, PeerCount: 3, Excess: by * msec, All: all * msec}
	}
	for name, c := range map[string]struct {
		by    []int64
		want  []evidence.Observation
		chief float64 // part of the rank's delay that one operator explains; 0: none is named
	}{
		"two operators":     {[]int64{0, 30, 10, 0}, []evidence.Observation{all(2, 80, 40), one(1, 30, 40), one(2, 10, 40)}, 0.75},
		"one with all":      {[]int64{40, 0, 0, 0}, []evidence.Observation{all(1, 80, 40), one(0, 40, 40)}, 1},
		"all by one factor": {[]int64{10, 10, 10, 10}, []evidence.Observation{wide, one(0, 10, 40), one(1, 10, 40), one(2, 10, 40)}, 0},
		"none with a half":  {[]int64{0, 19, 18, 3}, []evidence.Observation{all(3, 80, 40), one(1, 19, 40), one(2, 18, 40), one(3, 3, 40)}, 0},
	} {
		v := judged(t, Options{Frontier: frontier.Options{SyncAfter: handStages[2]}}, append(handJob(40, longer{[]int{2}, 1, 40, nil}), handOperators(c.by...))...)
		rank := v.Findings[0]
		var got []evidence.Observation
		for _, e := range rank.Evidence {
			switch e.(type) {
			case evidence.LaunchedOperators, evidence.OperatorDifference:
				got = append(got, e)
			}
		}
		if diff := gocmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if e, ok := evidence.Find[evidence.CollectiveWait](rank.Evidence); !ok || e != (evidence.CollectiveWait{Rank: 2, Own: 20 * msec, Peers: 60 * msec, PeersWaited: 40 * msec}) {
			t.Errorf("%s: %v, %+v", name, ok, e)
		}
		if named := len(v.Findings) > 1 && v.Findings[1].Cause == CauseOperator; named != (c.chief > 0) {
			t.Errorf("%s: %q", name, inShort(v))
		} else if named {
			op := v.Findings[1]
			near := gocmp.Comparer(func(a, b float64) bool { return max(a-b, b-a) < 1e-12 })
			want := rank.Cost
			want.Gain, want.RunGain, want.After, want.Score = c.chief*want.Gain, c.chief*want.RunGain, c.chief*want.After, c.chief*want.Score
			want.RunLow, want.RunAtMost = c.chief*want.RunLow, c.chief*want.RunAtMost
			want.Excess, want.Explained = int64(c.chief*float64(want.Excess)), int64(c.chief*float64(want.Explained))
			if diff := gocmp.Diff(want, op.Cost, near); diff != "" || *op.Rank != 2 || op.Stage != rank.Stage || op.Confidence != rank.Confidence || op.Kind != KindOp || v.MainOperator(&rank) != op.Op || !slices.Equal(op.Windows, rank.Windows) {
				t.Errorf("%s: %s %s", name, findingInShort(&op), diff)
			}
		}
	}
}

// TestHarmlessOperators: where nobody is late the ranks are listed whose operators take longer for certain, each once.
func TestHarmlessOperators(t *testing.T) {
	v := judged(t, Options{Frontier: frontier.Options{SyncAfter: handStages[2]}}, append(handJob(40), handOperators(0, 3, 1, 0))...)
	var got []string
	for _, e := range v.Observed {
		switch e := e.(type) {
		case evidence.LaunchedOperators:
			got = append(got, fmt.Sprintf("%d of %d on %d by %d, late %v", e.N, e.Of, *e.Rank, e.Excess/msec, e.Late))
		case evidence.OperatorDifference:
			got = append(got, fmt.Sprintf("%s by %d of %d", e.Op, e.Excess/msec, e.All/msec))
		}
	}
	if want := []string{"2 of 4 on 2 by 4, late false", "kernel_1 by 3 of 4"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestVaryingWork: operators vary where they are longer by half of the delay or more, shorter in some step by a quarter of their mean, and not longer
// on average beyond chance.
func TestVaryingWork(t *testing.T) {
	course := func(ns ...int64) *launchedSuspect {
		return &launchedSuspect{Result: &opnames.Result{Steps: make([]int64, len(ns))}, sure: []opnames.Difference{{Course: ns}}}
	}
	for name, c := range map[string]struct {
		in    *launchedSuspect
		delay int64
		want  bool
	}{
		"to and fro":              {course(100, -100, 100, -100, 100, -100), 50, true},
		"for a delay of more":     {course(100, -100, 100, -100, 100, -100), 101, false},
		"for one of just that":    {course(100, -100, 100, -100, 100, -100), 100, true},
		"longer in all":           {course(100, 110, 90, 100, 100, 105), 50, false},
		"longer on average":       {course(100, 100, 100, 100, 100, -30), 50, false},
		"shorter by little":       {course(100, -2, -2, -2, -2, -2), 10, false},
		"shorter by enough":       {course(100, -4, -4, -4, -4, -4), 10, true},
		"two steps":               {course(100, -100), 10, false},
		"never longer":            {course(-5, -6, -7, 0), 0, false},
		"in two of its operators": {&launchedSuspect{Result: &opnames.Result{Steps: make([]int64, 4)}, sure: []opnames.Difference{{Course: []int64{60, -60, 60, -60}}, {Course: []int64{40, -40, 40, -40}}}}, 100, true},
	} {
		if got := c.in.varies(c.delay); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestOneFactor: a device is slow where three operators or more, half of all, take longer by factors that differ by less than half of the least excess.
func TestOneFactor(t *testing.T) {
	of := func(all int, factors ...float64) *launchedSuspect {
		in := &launchedSuspect{all: make([]opnames.Difference, all)}
		for _, f := range factors {
			in.sure = append(in.sure, opnames.Difference{Means: opnames.Means{Own: 100 * f, Peers: 100}})
		}
		return in
	}
	for name, c := range map[string]struct {
		in   *launchedSuspect
		want bool
	}{
		"three alike": {of(6, 1.5, 1.5, 1.5), true}, "two alike": {of(2, 1.5, 1.5), false}, "three of seven": {of(7, 1.5, 1.5, 1.5), false}, "near": {of(3, 1.4, 1.5, 1.59), true}, "apart": {of(3, 1.4, 1.5, 1.61), false},
	} {
		if got := c.in.deviceWide(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestGroupOperators: a role group that does more work takes longer for what the other launches as often too, if that is half of it.
func TestGroupOperators(t *testing.T) {
	group := func() Finding {
		return Finding{Kind: KindGroup, Cause: CauseMoreWork, Confidence: evidence.Ambiguous, Place: Place{Group: "pp=1", Ranks: []int{3, 2}}, Cost: Cost{Explained: 4000, Struck: Struck{Of: 40}}}
	}
	across := func(by float64, sure bool) *opnames.Result {
		d := opnames.Difference{Rank: 2, Operator: opnames.Operator{Stage: "forward", Name: "gemm"}, Means: opnames.Means{Own: 100 + by, Peers: 100, Count: 3, PeerCount: 3}, Whole: opnames.Means{Own: 100 + by, Peers: 100}, Steps: make([]int64, 40), Tested: true, Sure: sure}
		other := d
		other.Name, other.Sure, other.Whole = "copy", false, opnames.Means{Own: 7, Peers: 6}
		return &opnames.Result{Steps: make([]int64, 40), Differences: []opnames.Difference{d, other}}
	}
	first := evidence.OperatorDifference{Op: "gemm", Own: 150, Peers: 100, Steps: 40, Of: 40, Count: 3, PeerCount: 3, Excess: 50, All: 51}
	for name, c := range map[string]struct {
		by   float64
		sure bool
		want bool
	}{"half of it": {50, true, true}, "less": {49, true, false}, "not for certain": {50, false, false}} {
		f := group()
		(&judge{run: &run{across: []*opnames.Result{{}, across(c.by, c.sure)}}}).compareGroups(&f)
		want := group()
		if c.want {
			want.Confidence = evidence.Supported
			want.Evidence = []evidence.Observation{evidence.LaunchedOperators{Group: "pp=1", N: 1, Of: 2, Excess: 50, Tested: true, First: &first}, evidence.Lack{Reason: evidence.WorkUnknown, AtMost: evidence.Supported}}
		}
		if diff := gocmp.Diff(want, f, gocmp.AllowUnexported(Finding{})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	sure := group()
	sure.Confidence = evidence.Strong
	(&judge{run: &run{across: []*opnames.Result{across(50, true)}}}).compareGroups(&sure)
	if len(sure.Evidence) != 1 || sure.Confidence != evidence.Strong {
		t.Errorf("of a certain one %+v", sure)
	}
	sure.Cause, sure.Evidence = CauseLate, nil
	if (&judge{run: &run{across: []*opnames.Result{across(50, true)}}}).compareGroups(&sure); len(sure.Evidence) != 0 {
		t.Errorf("of a late group %+v", sure)
	}
}

// TestActions: what to do about a finding of windows, by what it is about.
func TestActions(t *testing.T) {
	rank, steps, window := 3, [2]int64{100, 119}, int64(7)
	in := func(kind answer.ActionKind, with answer.Source, stage string, ranks, peers []int) answer.Action {
		a := answer.Action{Action: kind, With: with, Ranks: ranks, Peers: peers, Steps: &steps, Window: &window}
		if stage != "" {
			a.Stages = []string{stage}
		}
		return a
	}
	const forward, data, optimizer = "model.fwd_loss_cpu_wall", "data.next_wait", "optim.step_cpu_wall"
	late := func(stage string, e ...evidence.Observation) Finding {
		return Finding{Kind: KindRank, Cause: CauseLate, Place: Place{Rank: &rank, Stage: stage}, Evidence: e}
	}
	of := func(kind Kind, cause Cause, stage string, ranks ...int) Finding {
		return Finding{Kind: kind, Cause: cause, Place: Place{Stage: stage, Ranks: ranks}}
	}
	turns := of(KindWorkload, CauseTurns, forward)
	turns.Evidence = []evidence.Observation{evidence.LateIntermittently{Late: []int{6, 2, 5, 1, 0}}}
	evenly := turns
	evenly.Evidence = []evidence.Observation{evidence.LateIntermittently{Late: []int{6, 2, 5, 1, 0}, Even: true}}
	device := late(forward)
	device.Cause = CauseDevice
	together := late(forward)
	together.Ranks = []int{0, 3}
	for name, c := range map[string]struct {
		f        Finding
		launched bool
		want     []answer.Action
	}{
		"late in forward":            {late(forward), false, []answer.Action{in(answer.Profile, answer.SourceProfiler, forward, []int{3}, []int{0, 4}), in(answer.InspectHost, answer.SourceDevice, forward, []int{3}, nil)}},
		"late with another":          {together, false, []answer.Action{in(answer.Profile, answer.SourceProfiler, forward, []int{3}, []int{1, 5}), in(answer.InspectHost, answer.SourceDevice, forward, []int{3}, nil)}},
		"late in data":               {late(data), false, []answer.Action{in(answer.SampleStack, answer.SourcePySpy, data, []int{3}, nil), in(answer.CheckLoader, answer.SourceLoader, data, []int{3}, nil)}},
		"late in the optimizer":      {late(optimizer), false, []answer.Action{in(answer.SampleStack, answer.SourcePySpy, optimizer, []int{3}, nil), in(answer.Profile, answer.SourceProfiler, optimizer, []int{3}, []int{0, 4})}},
		"late all over":              {late(""), false, []answer.Action{in(answer.InspectHost, answer.SourceDevice, "", []int{3}, nil), in(answer.Profile, answer.SourceProfiler, "", []int{3}, []int{0, 4})}},
		"slow on the device":         {device, false, []answer.Action{in(answer.InspectHost, answer.SourceDevice, forward, []int{3}, nil), in(answer.Profile, answer.SourceProfiler, forward, []int{3}, []int{0, 4})}},
		"its operators say why":      {late(forward, evidence.LaunchedOperators{N: 1, Of: 4, Tested: true}), false, []answer.Action{in(answer.InspectHost, answer.SourceDevice, forward, []int{3}, nil)}},
		"its operators may say why":  {late(forward, evidence.LaunchedOperators{Of: 4}), false, []answer.Action{in(answer.InspectHost, answer.SourceDevice, forward, []int{3}, nil)}},
		"its operators take as long": {late(forward, evidence.LaunchedOperators{Of: 4, Tested: true}), false, []answer.Action{in(answer.SampleStack, answer.SourceStacks, forward, []int{3}, nil)}},
		"it launched nothing":        {late(forward, evidence.LaunchedOperators{}), false, []answer.Action{in(answer.SampleStack, answer.SourceStacks, forward, []int{3}, nil)}},
		"the host of all":            {of(KindStage, CauseHost, forward), false, []answer.Action{in(answer.Profile, answer.SourceStacks, forward, []int{0}, nil)}},
		"a host":                     {of(KindHost, CauseLate, forward, 4, 5), false, []answer.Action{in(answer.InspectHost, answer.SourceDevice, forward, nil, nil), in(answer.Profile, answer.SourceProfiler, forward, []int{4}, []int{0})}},
		"a group that is late":       {of(KindGroup, CauseLate, forward, 4, 5, 6), false, []answer.Action{in(answer.Profile, answer.SourceProfiler, forward, []int{4, 5}, []int{0, 2})}},
		"a group with more work":     {of(KindGroup, CauseMoreWork, "", 4, 5, 6), false, []answer.Action{in(answer.Profile, answer.SourceProfiler, "", []int{0, 2, 4, 6}, nil)}},
		"data on all":                {of(KindStage, CauseRegression, data), false, []answer.Action{in(answer.CheckLoader, answer.SourceLoader, data, nil, nil), in(answer.SampleStack, answer.SourcePySpy, data, []int{0, 4}, nil)}},
		"the optimizer on all":       {of(KindStage, CauseRegression, optimizer), false, []answer.Action{in(answer.SampleStack, answer.SourcePySpy, optimizer, []int{0, 4}, nil)}},
		"slow steps":                 {of(KindStage, CauseSlowSteps, forward), false, []answer.Action{in(answer.SampleStack, answer.SourcePySpy, forward, []int{0, 4}, nil)}},
		"a regression":               {of(KindStage, CauseRegression, forward), false, []answer.Action{in(answer.Profile, answer.SourceProfiler, forward, []int{0, 2, 4, 6}, nil)}},
		"a regression, recorded":     {of(KindStage, CauseRegression, forward), true, []answer.Action{{Action: answer.Compare, With: answer.SourceOperators, Stages: []string{forward}}}},
		"by turns":                   {turns, false, []answer.Action{in(answer.Profile, answer.SourceProfiler, forward, []int{1, 2, 5, 6}, nil)}},
		"by turns, each alike":       {evenly, false, []answer.Action{in(answer.Profile, answer.SourceProfiler, forward, []int{0, 2, 4, 6}, nil)}},
	} {
		j := &judge{run: &run{windows: []Window{{Main: &frontier.Result{}}, {Main: &frontier.Result{Window: 7, FirstStep: 100, Steps: 20, Ranks: []int{0, 1, 2, 3, 4, 5, 6, 7}}}}}}
		if c.launched {
			j.launched = []*opnames.Result{{}}
		}
		c.f.Windows, c.f.Detail = []int64{7}, 1
		if diff := gocmp.Diff(c.want, j.actions(&c.f)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if c.f.Windows = nil; j.actions(&c.f) != nil {
			t.Errorf("%s: actions without windows", name)
		}
	}
	one := &judge{run: &run{windows: []Window{{Main: &frontier.Result{Window: 7, FirstStep: 100, Ranks: []int{0, 3}}}}}}
	f := late(data)
	if f.Windows = []int64{7}; one.actions(&f)[0].Window != nil || *one.actions(&f)[0].Steps != [2]int64{100, 100} {
		t.Errorf("of one window without whole steps: %+v", one.actions(&f)[0])
	}
	for _, c := range []struct {
		n       int
		without []int
		want    []int
	}{{2, nil, []int{10, 13}}, {3, nil, []int{10, 12, 14}}, {9, []int{10}, []int{11, 12, 13, 14, 15}}, {2, []int{10, 11}, []int{12, 14}}, {1, nil, []int{10}}} {
		if got := sample([]int{10, 11, 12, 13, 14, 15}, c.n, c.without); !slices.Equal(got, c.want) {
			t.Errorf("%d of six without %v: %v, want %v", c.n, c.without, got, c.want)
		}
	}
}

// TestNext: what makes a recording whole comes alone; what corrects a table before all; what answers open questions behind what is to be done
// about the first claim, unless that waits for messages; and nothing twice.
func TestNext(t *testing.T) {
	note := func(k input.NoteKind) answer.Problem {
		return answer.Problem{Problem: answer.ProblemKind(k.String()), Text: "x"}
	}
	open := func(q answer.Question, needs answer.Source, stage string, hides int64) answer.Undecided {
		return answer.Undecided{Question: q, Needs: needs, Stage: stage, Hides: hides}
	}
	turn := func(with answer.Source, stages ...string) answer.Action {
		return answer.Action{Action: answer.TurnOn, With: with, Stages: stages}
	}
	for name, c := range map[string]struct {
		status   answer.Status
		claims   []Finding
		open     []answer.Undecided
		problems []answer.Problem
		want     []answer.Action
	}{
		"nothing":                    {answer.NoStraggler, nil, nil, nil, nil},
		"ranks are missing":          {answer.TooLittleData, nil, []answer.Undecided{open(answer.FewSteps, answer.SourceSteps, "", 0)}, []answer.Problem{{Problem: answer.RanksMissing, Ranks: trace.RankSetOf([]int{3})}}, []answer.Action{{Action: answer.TurnOn, With: answer.SourceAllRanks, Ranks: []int{3}}}},
		"nested stages first":        {answer.TooLittleData, nil, nil, []answer.Problem{{Problem: answer.RanksMissing}, {Problem: answer.StageContains}}, []answer.Action{turn(answer.SourceFlatStages)}},
		"ranks are missing, no harm": {answer.NoStraggler, nil, nil, []answer.Problem{{Problem: answer.RanksMissing}}, nil},
		"units":                      {answer.NoStraggler, nil, nil, []answer.Problem{note(input.NoteUnitDoubt)}, []answer.Action{turn(answer.SourceUnits)}},
		"order before units":         {answer.NoStraggler, nil, nil, []answer.Problem{note(input.NoteUnitDoubt), {Problem: answer.StagesDisordered, Text: "y"}}, []answer.Action{turn(answer.SourceStageOrder)}},
		"open":                       {answer.UndecidedRun, nil, []answer.Undecided{open(answer.RankHidden, answer.SourceArrivals, "backward", 5), open(answer.UnrecordedTime, answer.SourceWall, "", 0)}, nil, []answer.Action{turn(answer.SourceArrivals, "backward"), turn(answer.SourceWall)}},
		"open twice":                 {answer.Unseen, nil, []answer.Undecided{open(answer.RankHidden, answer.SourceArrivals, "backward", 5), open(answer.RankHidden, answer.SourceArrivals, "callbacks", 5)}, nil, []answer.Action{turn(answer.SourceArrivals, "backward")}},
		"open, of a healthy run":     {answer.NoStraggler, nil, []answer.Undecided{open(answer.RankHidden, answer.SourceArrivals, "backward", 5)}, nil, nil},
		"open, and nothing tells":    {answer.UndecidedRun, nil, []answer.Undecided{open(answer.RankOfWorker, "", "", 0)}, nil, nil},
	} {
		if diff := gocmp.Diff(c.want, (&judge{run: &run{}, minGain: 0.1}).next(c.status, c.claims, c.open, c.problems)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	a, b := turn(answer.SourceWall, "x"), turn(answer.SourceWall, "y")
	if got := dedupeActions([]answer.Action{a, b, a, {Action: answer.TurnOn, With: answer.SourceWall, Stages: []string{"x"}, Ranks: []int{1}}}); len(got) != 3 {
		t.Errorf("%+v, want three", got)
	}
	for hides, want := range map[int64]bool{0: false, 5: true} {
		if got := messagesHide([]answer.Undecided{open(answer.MessagesNotRecorded, answer.SourceMessages, "", hides)}); got != want {
			t.Errorf("messages that hide %d: %v", hides, got)
		}
	}
	// Who is late comes before why: of a rank that may have waited for messages.
	j := &judge{run: &run{windows: []Window{{Main: &frontier.Result{Window: 1, Ranks: []int{0, 1, 2, 3}}}}}, minGain: 0.1}
	f := claimed(2, "model.fwd_loss_cpu_wall", 0.3, evidence.Insufficient)
	f.Windows = []int64{1}
	for hides, want := range map[int64]answer.ActionKind{5: answer.TurnOn, 0: answer.Profile} {
		if got := j.next(answer.UndecidedRun, []Finding{f}, []answer.Undecided{open(answer.MessagesNotRecorded, answer.SourceMessages, "", hides)}, nil); got[0].Action != want || len(got) != 3 {
			t.Errorf("messages that hide %d: %+v, want first %s", hides, got, want)
		}
	}
}

// TestRead: of a rank whose line is known the line is read, in place of a profile and of stacks.
func TestRead(t *testing.T) {
	f := claimed(2, "forward", 0.3, evidence.Strong)
	f.Host = "a"
	all := []answer.Action{{Action: answer.Profile}, {Action: answer.InspectHost}, {Action: answer.SampleStack}, {Action: answer.CheckLoader}}
	if got := reading(&f, all); len(got) != 4 {
		t.Errorf("%+v without a line", got)
	}
	line := evidence.SourceLine{File: "a.py", Line: 3}
	f.Evidence = []evidence.Observation{evidence.SpentIn{Rank: 5, Source: line}}
	want := []answer.Action{{Action: answer.ReadLine, Host: "a", Ranks: []int{5}, Stages: []string{"forward"}, Line: &line}, {Action: answer.InspectHost}, {Action: answer.CheckLoader}}
	if diff := gocmp.Diff(want, reading(&f, all)); diff != "" {
		t.Error(diff)
	}
	for name, want := range map[string]evidence.SourceLine{"sleep at train.py:40": {File: "train.py", Line: 40, Call: "sleep"}, "x at C:\\a.py:7": {File: "C:\\a.py", Line: 7, Call: "x"}, "nn.Module: x": {}, "f at x": {}, "f at :3": {}, "f at a:b": {}} {
		if got, ok := sourceOfFunction(name); ok != (want.Line > 0) || ok && got != want {
			t.Errorf("%q: %+v, %v", name, got, ok)
		}
	}
	stacks := []answer.Action{{Action: answer.Profile, With: answer.SourceProfiler, Ranks: []int{1}, Peers: []int{2}}, {Action: answer.Profile, With: answer.SourceStacks, Ranks: []int{1}}, {Action: answer.InspectHost, With: answer.SourceProfiler}}
	want = []answer.Action{{Action: answer.SampleStack, With: answer.SourceStacks, Ranks: []int{9}}, stacks[1], stacks[2]}
	if diff := gocmp.Diff(want, stacksFor(stacks, 9)); diff != "" || stacks[0].Action != answer.Profile {
		t.Error(diff)
	}
}
