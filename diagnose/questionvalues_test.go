package diagnose

import (
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/diagnose/opnames"
	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/engine/compare"
	"github.com/sfstat/sfstat/engine/delay"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/engine/frontier/labels"
	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/engine/whatif"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/stagename"
)

// TestStatusOfClaims: what a claim makes of a run: to be acted on, or large and uncertain; else what the data can exclude.
func TestStatusOfClaims(t *testing.T) {
	modelled := func(part float64, c evidence.Confidence, change func(f *Finding)) Finding {
		f := claimed(1, "data", part, c)
		f.modelled, f.Struck.Pattern, f.P, f.Incidents = true, PatternConstant, 0.2, 3
		if change != nil {
			change(&f)
		}
		return f
	}
	stage := func(cause Cause, c evidence.Confidence, pattern Pattern) Finding {
		f := allRanks(cause, "forward", 0.2)
		f.Confidence, f.Struck.Pattern = c, pattern
		return f
	}
	cause := func(c Cause) Finding { return Finding{Cause: c, Confidence: evidence.Supported} }
	for name, c := range map[string]struct {
		claim Finding
		can   exclusion
		want  answer.Status
	}{
		"certain":                          {modelled(0.2, evidence.Supported, nil), excludesNothing, answer.Straggler},
		"certain and small":                {modelled(0.05, evidence.Strong, nil), excludesAll, answer.NoStraggler},
		"may be chance":                    {modelled(0.2, evidence.Ambiguous, nil), excludesAll, answer.UndecidedRun},
		"may be chance, of little":         {modelled(0.2, evidence.Ambiguous, nil), excludesNothing, answer.TooLittleData},
		"likely chance, in every step":     {modelled(0.2, evidence.Ambiguous, func(f *Finding) { f.P = 0.26 }), excludesAll, answer.UndecidedRun},
		"likely chance, now and then":      {modelled(0.2, evidence.Ambiguous, func(f *Finding) { f.P, f.Struck.Pattern = 0.26, PatternIntermittent }), excludesAll, answer.NoStraggler},
		"may be chance, now and then":      {modelled(0.2, evidence.Ambiguous, func(f *Finding) { f.Struck.Pattern = PatternIntermittent }), excludesSeen, answer.UndecidedRun},
		"in two stretches":                 {modelled(0.2, evidence.Ambiguous, func(f *Finding) { f.Incidents, f.Struck.Pattern = 2, PatternIntermittent }), excludesSeen, answer.UndecidedRun},
		"in one stretch":                   {modelled(0.2, evidence.Ambiguous, func(f *Finding) { f.Incidents, f.Struck = 1, Struck{Pattern: PatternWindow, Count: 19, Of: 60} }), excludesSeen, answer.Unseen},
		"in one stretch, a third of them":  {modelled(0.2, evidence.Ambiguous, func(f *Finding) { f.Incidents, f.Struck = 1, Struck{Pattern: PatternWindow, Count: 20, Of: 60} }), excludesSeen, answer.UndecidedRun},
		"refuted":                          {modelled(0.2, evidence.Insufficient, nil), excludesAll, answer.NoStraggler},
		"by entries, not for certain":      {claimed(1, "data", 0.2, evidence.Ambiguous), excludesAll, answer.UndecidedRun},
		"by entries, small":                {claimed(1, "data", 0.05, evidence.Ambiguous), excludesAll, answer.NoStraggler},
		"by entries of few":                {claimed(1, "data", 0.2, evidence.Ambiguous), excludesNothing, answer.TooLittleData},
		"all ranks, always":                {stage(CauseSlowSteps, evidence.Ambiguous, PatternConstant), excludesAll, answer.SlowEverywhere},
		"all ranks, once":                  {stage(CauseSlowSteps, evidence.Ambiguous, PatternIntermittent), excludesAll, answer.NoStraggler},
		"all ranks, for certain":           {stage(CauseSlowSteps, evidence.Supported, PatternIntermittent), excludesAll, answer.SlowEverywhere},
		"uneven work, not for certain":     {Finding{Cause: CauseMoreWork, Confidence: evidence.Ambiguous}, excludesAll, answer.ImbalanceRun},
		"a rank is missing":                {cause(CauseMissing), excludesAll, answer.Hang},
		"ranks are in different calls":     {cause(CauseDesync), excludesNothing, answer.Hang},
		"the first steps":                  {cause(CauseStartUp), excludesAll, answer.NoStraggler},
		"a regression":                     {cause(CauseRegression), excludesAll, answer.SlowEverywhere},
		"at every n-th step":               {cause(CausePeriodic), excludesAll, answer.SlowEverywhere},
		"the hosts of all":                 {cause(CauseHost), excludesAll, answer.SlowEverywhere},
		"by turns":                         {cause(CauseTurns), excludesAll, answer.ImbalanceRun},
		"a heavy stage":                    {cause(CauseHeavy), excludesAll, answer.ImbalanceRun},
		"a link":                           {cause(CauseLink), excludesAll, answer.Straggler},
		"nothing that is seen":             {cause(CauseStartUp), excludesSeen, answer.Unseen},
		"nothing, and something is untold": {cause(CauseStartUp), excludesSome, answer.UndecidedRun},
	} {
		if got := statusOf([]Finding{c.claim, modelled(0.05, evidence.Ambiguous, nil)}, nil, c.can); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	for name, c := range map[string]struct {
		open answer.Undecided
		want answer.Status
	}{
		"a rank where all wait":       {answer.Undecided{Question: answer.RankHidden, Hides: 50, Step: 100}, answer.NoStraggler},
		"a rank without a record":     {answer.Undecided{Question: answer.RanksNotRecorded, Hides: 50, Step: 100}, answer.UndecidedRun},
		"one that hides nothing":      {answer.Undecided{Question: answer.RanksNotRecorded, Step: 100}, answer.NoStraggler},
		"one that hardly hides":       {answer.Undecided{Question: answer.RanksNotRecorded, Hides: 50, Step: 100, Unlikely: true}, answer.NoStraggler},
		"a transfer of a quarter":     {answer.Undecided{Question: answer.TransferHidden, Hides: 25, Step: 100}, answer.UndecidedRun},
		"a transfer of less":          {answer.Undecided{Question: answer.TransferHidden, Hides: 24, Step: 100}, answer.NoStraggler},
		"a transfer of unknown times": {answer.Undecided{Question: answer.TransferHidden}, answer.NoStraggler},
	} {
		if got := statusOf(nil, []answer.Undecided{c.open}, excludesAll); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestHiddenStages: a stage in which all wait asks who is late there, from the least gain on. What a backward pass needs beyond a forward pass
// twice is a delay; beside a baseline, only what it has grown by.
func TestHiddenStages(t *testing.T) {
	for name, c := range map[string]struct {
		hides, forward int64
		change         func(j *judge)
		want           []answer.Undecided
	}{
		"beyond what a pass needs": {40e6, 10e6, nil, []answer.Undecided{{Question: answer.RankHidden, Stage: "backward", Time: 40e6, Hides: 20e6, Step: 100e6, Needs: answer.SourceArrivals}}},
		"what a pass needs":        {40e6, 16e6, nil, []answer.Undecided{{Question: answer.RankHidden, Stage: "backward", Time: 40e6, Hides: 40e6, Step: 100e6, Needs: answer.SourceArrivals, Unlikely: true}}},
		"just enough":              {10e6, 0, nil, []answer.Undecided{{Question: answer.RankHidden, Stage: "backward", Time: 10e6, Hides: 10e6, Step: 100e6, Needs: answer.SourceArrivals}}},
		"too little":               {9e6, 0, nil, nil},
		"with operators":           {40e6, 10e6, func(j *judge) { j.launched = []*opnames.Result{{}} }, []answer.Undecided{{Question: answer.RankHidden, Stage: "backward", Time: 40e6, Hides: 20e6, Step: 100e6, Needs: answer.SourceOperators}}},
		"of mixed roles":           {40e6, 10e6, func(j *judge) { j.placed.mixed = true }, nil},
		"as in a healthy run":      {40e6, 10e6, func(j *judge) { j.differences = map[string]compare.Difference{"backward": {High: 9e6}} }, nil},
		"grown since":              {40e6, 16e6, func(j *judge) { j.differences = map[string]compare.Difference{"backward": {High: 10e6}} }, []answer.Undecided{{Question: answer.RankHidden, Stage: "backward", Time: 40e6, Hides: 40e6, Step: 100e6, Needs: answer.SourceArrivals}}},
	} {
		j := hiding(stepsOf())
		j.modelled.Limits[0].MayHide, j.modelled.Typical[1] = c.hides, c.forward
		if c.change != nil {
			c.change(j)
		}
		if diff := gocmp.Diff(c.want, j.hiddenDelays(j.stepLimits())); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if got := hiding(stepsOf()).minStageTime("forward"); got != 0 {
		t.Errorf("a forward pass needs %d", got)
	}
}

// TestLargestHidden: of what may hide the largest is told: of ranks where that is likely, or of transfers.
func TestLargestHidden(t *testing.T) {
	q := func(question answer.Question, hides int64, unlikely bool) answer.Undecided {
		return answer.Undecided{Question: question, Hides: hides, Unlikely: unlikely}
	}
	for name, c := range map[string]struct {
		open []answer.Undecided
		want int
	}{
		"none":              {nil, -1},
		"the larger":        {[]answer.Undecided{q(answer.RankHidden, 5, false), q(answer.TransferHidden, 7, false), q(answer.RankHidden, 6, false)}, 1},
		"the first":         {[]answer.Undecided{q(answer.RankHidden, 5, false), q(answer.RankHidden, 5, false)}, 0},
		"not unlikely":      {[]answer.Undecided{q(answer.RankHidden, 9, true), q(answer.RankHidden, 1, false)}, 1},
		"nothing hides":     {[]answer.Undecided{q(answer.TransferHidden, 0, false)}, -1},
		"another question":  {[]answer.Undecided{q(answer.RanksNotRecorded, 9, false)}, -1},
		"a transfer, so so": {[]answer.Undecided{q(answer.TransferHidden, 9, true)}, 0},
	} {
		got, ok := largestHidden(c.open)
		if ok != (c.want >= 0) || ok && !gocmp.Equal(got, c.open[c.want]) {
			t.Errorf("%s: %+v, %v", name, got, ok)
		}
	}
}

// TestOpenQuestion: what leaves a run undecided: ranks or roles before any stage, clocks and messages where no stage hides anything.
func TestOpenQuestion(t *testing.T) {
	hidden := answer.Undecided{Question: answer.RankHidden, Stage: "backward", Hides: 5}
	of := func(q answer.Question, hides int64) answer.Undecided {
		return answer.Undecided{Question: q, Hides: hides}
	}
	for name, c := range map[string]struct {
		open []answer.Undecided
		want answer.Question
	}{
		"nothing":               {nil, answer.SyncPointUnknown},
		"a stage":               {[]answer.Undecided{hidden}, answer.RankHidden},
		"ranks before a stage":  {[]answer.Undecided{hidden, of(answer.RanksNotRecorded, 1)}, answer.RanksNotRecorded},
		"ranks that hide none":  {[]answer.Undecided{of(answer.RanksNotRecorded, 0)}, answer.SyncPointUnknown},
		"roles before a stage":  {[]answer.Undecided{hidden, of(answer.RolesMixed, 1)}, answer.RolesMixed},
		"ranks before roles":    {[]answer.Undecided{of(answer.RolesMixed, 1), of(answer.RanksNotRecorded, 1)}, answer.RanksNotRecorded},
		"a stage before clocks": {[]answer.Undecided{of(answer.ClockOrDelay, 9), hidden}, answer.RankHidden},
		"a clock":               {[]answer.Undecided{of(answer.MessagesNotRecorded, 9), of(answer.ClockOrDelay, 1)}, answer.ClockOrDelay},
		"messages":              {[]answer.Undecided{of(answer.MessagesNotRecorded, 9)}, answer.MessagesNotRecorded},
		"a stage, messages too": {[]answer.Undecided{of(answer.MessagesNotRecorded, 9), hidden}, answer.RankHidden},
	} {
		if got := (&RunVerdict{Undecided: c.open}).openQuestion(); got.Question != c.want {
			t.Errorf("%s: %v, want %v", name, got.Question, c.want)
		}
	}
}

// TestShortage: what a recording is too short of.
func TestShortage(t *testing.T) {
	window := func(ranks, steps int, change func(r *frontier.Result)) Window {
		r := &frontier.Result{Ranks: make([]int, ranks), Steps: steps, Makespan: int64(steps) * 1e9, WorldSize: 8}
		if change != nil {
			change(r)
		}
		return Window{Main: r}
	}
	limited := func(reason labels.Reason, missing ...int) func(r *frontier.Result) {
		return func(r *frontier.Result) {
			r.Labels, r.Reasons, r.Quality.Missing = []labels.Label{labels.TelemetryLimited}, []labels.Reason{reason}, trace.RankSetOf(missing)
		}
	}
	shares := evidence.DeviceShares{Compute: 0.5}
	for name, c := range map[string]struct {
		v    RunVerdict
		want Shortage
	}{
		"few steps":     {RunVerdict{Windows: []Window{window(4, 2, nil), window(3, 1, nil)}}, Shortage{Of: TooFewSteps, Ranks: 4, Steps: 3, Time: 3e9}},
		"no steps":      {RunVerdict{Windows: []Window{window(4, 0, nil)}}, Shortage{Of: NoSteps, Ranks: 4}},
		"one rank":      {RunVerdict{Windows: []Window{window(1, 9, nil)}, Observed: []evidence.Observation{shares}}, Shortage{Of: NoPeers, Ranks: 1, Steps: 9, Time: 9e9, Device: &shares}},
		"ranks missing": {RunVerdict{Windows: []Window{window(4, 9, limited(labels.MissingRanks, 5, 6)), window(4, 9, limited(labels.MissingRanks, 5)), window(4, 9, nil)}}, Shortage{Of: RanksMissing, Ranks: 4, Steps: 27, Time: 27e9, Missing: 2, All: 8}},
		"incomplete":    {RunVerdict{Windows: []Window{window(4, 9, limited(labels.VectorUnusable))}}, Shortage{Of: IncompleteSteps, Ranks: 4, Steps: 9, Time: 9e9}},
		"nested": {RunVerdict{Windows: []Window{window(4, 9, limited(labels.MissingRanks, 5))}, Problems: []answer.Problem{{Problem: answer.StagesDisordered, Text: "order"}, {Problem: answer.StageContains, Text: "around"}}},
			Shortage{Of: NestedStages, Ranks: 4, Steps: 9, Time: 9e9, Missing: 1, All: 8, Says: "around"}},
		"operators": {RunVerdict{Operators: &Operators{Workers: make([]trace.Rank, 6), Steps: []int64{1, 2, 3}, Replay: &whatif.Result{Recorded: whatif.StepTimes{Mean: 2e9}}}}, Shortage{Of: TooFewSteps, Ranks: 6, Steps: 3, Time: 6e9}},
	} {
		if diff := gocmp.Diff(c.want, c.v.shortage()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestHealthyRun: what is known of a run without a straggler: where a delay would have been found, what is not seen, what happened all the same.
func TestHealthyRun(t *testing.T) {
	small, event, periodic, start := claimed(1, "data", 0.05, evidence.Strong), claimed(2, "data", 0.3, evidence.Ambiguous), allRanks(CausePeriodic, stagename.Residual, 0.3), allRanks(CauseStartUp, "data", 0)
	event.Struck.Pattern, periodic.Confidence, start.Confidence = PatternIntermittent, evidence.Ambiguous, evidence.Supported
	looked := evidence.NobodyLate{Ranks: 8, Step: 77}
	v := &RunVerdict{Findings: []Finding{small, event, event, periodic, start}, Observed: []evidence.Observation{looked},
		Coverage:  []answer.Coverage{{Stage: "data", Seen: true, Least: 5}, {Stage: "forward", Seen: true, Least: 8}, {Stage: stagename.Residual, Seen: true, Least: 90}, {Stage: "backward", Hides: 20}, {Stage: "callbacks", Hides: 30}, {Stage: "x"}},
		Undecided: []answer.Undecided{{Question: answer.RankHidden, Stage: "a", Hides: 5}, {Question: answer.RankHidden, Stage: "b", Hides: 6, Unlikely: true}, {Question: answer.TransferHidden, Stage: "c", Hides: 9}}}
	want := &Healthy{Searched: &looked, Stages: []string{"data", "forward"}, Least: 8, Blind: []answer.Coverage{{Stage: "callbacks", Hides: 30}, {Stage: "backward", Hides: 20}}, Step: 77,
		Small: &v.Findings[0], Once: &v.Findings[1], Periodic: &v.Findings[3], StartUp: &v.Findings[4], Inside: &v.Undecided[1], Transfer: &v.Undecided[2]}
	if diff := gocmp.Diff(want, v.healthy(), gocmp.AllowUnexported(Finding{})); diff != "" {
		t.Error(diff)
	}
	v.Observed, v.Operators = nil, &Operators{Replay: &whatif.Result{Recorded: whatif.StepTimes{Mean: 55.9}}}
	v.Findings, v.Undecided = []Finding{allRanks(CauseSlowSteps, "data", 0.05), small}, v.Undecided[:1]
	if h := v.healthy(); h.Step != 55 || h.Small != nil || h.Once != nil || h.StartUp != nil || h.Inside != nil || h.Transfer != nil {
		t.Errorf("%+v", h)
	}
	for name, c := range map[string]struct {
		first Finding
		want  bool
	}{"certain": {small, true}, "not certain": {claimed(1, "", 0.05, evidence.Ambiguous), false}, "a start-up of a rank": {func() Finding { f := small; f.Cause = CauseStartUp; return f }(), false}} {
		if got := (&RunVerdict{Findings: []Finding{c.first}}).small() != nil; got != c.want {
			t.Errorf("%s: small %v", name, got)
		}
	}
	if got := allRanks(CauseSlowSteps, "", 0.2); got.isEvent() {
		t.Error("a certain finding is an event")
	}
}

// TestBasesOfAnswers: what an answer rests on, beside those of other tests, and what stands behind an open question.
func TestBasesOfAnswers(t *testing.T) {
	late, replayed := claimed(3, "data", 0.2, evidence.Strong), replayedClaim(2)
	heard := claimed(4, "", 0.2, evidence.Strong)
	heard.Evidence = []evidence.Observation{evidence.LastToEnter{Source: evidence.FromNCCL}}
	both := heard
	both.Evidence = append(slices.Clone(heard.Evidence), evidence.LastToArrive{})
	elsewhere := Finding{Kind: KindStage, Confidence: evidence.Strong, Evidence: []evidence.Observation{evidence.SlowLink{Elsewhere: true}}}
	small := late
	small.BelowMinGain = true
	uncertain := claimed(3, "data", 0.2, evidence.Insufficient)
	for name, c := range map[string]struct {
		v    RunVerdict
		want Basis
	}{
		"operators, not seen":          {RunVerdict{Status: answer.Unseen, Operators: &Operators{Replay: &whatif.Result{}}}, OnUnseen},
		"operators, too little":        {RunVerdict{Status: answer.TooLittleData, Operators: &Operators{Replay: &whatif.Result{}}}, OnTooLittle},
		"operators, nobody":            {RunVerdict{Status: answer.NoStraggler, Operators: &Operators{}}, OnOperators},
		"operators beside windows":     {RunVerdict{Status: answer.Straggler, Operators: &Operators{}, Windows: make([]Window, 1), Findings: []Finding{replayed}}, OnOperators},
		"windows beside operators":     {RunVerdict{Status: answer.Straggler, Operators: &Operators{}, Windows: make([]Window, 1), Findings: []Finding{late}}, OnFinding},
		"kernels name a rank":          {RunVerdict{Status: answer.Straggler, Findings: []Finding{heard}}, OnCommunication},
		"kernels and stages name it":   {RunVerdict{Status: answer.Straggler, Findings: []Finding{both}}, OnFinding},
		"a victim of a link":           {RunVerdict{Status: answer.Straggler, Findings: []Finding{elsewhere}}, OnFinding},
		"not seen":                     {RunVerdict{Status: answer.Unseen, Findings: []Finding{small}}, OnUnseen},
		"undecided beside a small one": {RunVerdict{Status: answer.UndecidedRun, Findings: []Finding{small}}, OnOpenQuestion},
		"undecided by a refuted one":   {RunVerdict{Status: answer.UndecidedRun, Findings: []Finding{uncertain}}, OnOpenQuestion},
		"undecided by nothing":         {RunVerdict{Status: answer.UndecidedRun}, OnOpenQuestion},
		"slow, and nothing found":      {RunVerdict{Status: answer.SlowEverywhere}, OnStatus},
	} {
		if got := c.v.Answer().Basis; got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	messages := []answer.Undecided{{Question: answer.MessagesNotRecorded, Hides: 5}}
	for name, c := range map[string]struct {
		f    Finding
		open []answer.Undecided
		want bool
	}{"behind messages": {uncertain, messages, true}, "in no stage": {claimed(3, "", 0.2, evidence.Insufficient), messages, false}, "of all ranks": {allRanks(CauseSlowSteps, "data", 0), messages, false}, "another question": {uncertain, nil, false}} {
		v := RunVerdict{Status: answer.UndecidedRun, Findings: []Finding{c.f}, Undecided: c.open}
		v.Findings[0].Confidence = evidence.Insufficient
		if a := v.Answer(); (a.Behind != nil) != c.want || a.First != nil {
			t.Errorf("%s: behind %v", name, a.Behind)
		}
	}
	v := RunVerdict{Status: answer.Straggler, Findings: []Finding{late}, Next: []answer.Action{{Action: answer.Profile}, {Action: answer.InspectHost}, {Action: answer.TurnOn}}}
	if a := v.Answer(); len(a.Next) != 2 || a.First != &v.Findings[0] || a.Certainty != evidence.Strong || a.Who.Kind != OneRank {
		t.Errorf("%+v", a)
	}
}

// TestWhoAndWhere: whom a finding is about, and where: a late rank is before the operation that it is awaited at.
func TestWhoAndWhere(t *testing.T) {
	rank := 1
	line := &evidence.SourceLine{File: "a.py"}
	for name, c := range map[string]struct {
		f     Finding
		who   WhoKind
		where Where
	}{
		"a rank":                     {Finding{Place: Place{Rank: &rank, Stage: "data"}, Cause: CauseLate}, OneRank, Where{Stage: "data"}},
		"a rank at an operation":     {Finding{Place: Place{Rank: &rank, Op: "x"}, Cause: CauseLate}, OneRank, Where{Op: "x", Before: true}},
		"a rank at a line":           {Finding{Place: Place{Rank: &rank, Source: line}, Cause: CauseLate}, OneRank, Where{Line: line, Before: true}},
		"by stages, at an operation": {Finding{Place: Place{Rank: &rank, Op: "x"}, Cause: CauseLate, Evidence: []evidence.Observation{evidence.LastToArrive{}}}, OneRank, Where{Op: "x"}},
		"in a stage, awaited at one": {Finding{Place: Place{Rank: &rank, Stage: "data", Op: "x"}, Cause: CauseLate}, OneRank, Where{Stage: "data"}},
		"computes longer in one":     {Finding{Place: Place{Rank: &rank, Stage: "pp=1", Op: "x"}, Cause: CauseCompute}, OneRank, Where{Stage: "pp=1", Op: "x"}},
		"on the device":              {Finding{Place: Place{Rank: &rank, Stage: "f"}, Cause: CauseDevice}, OneRank, Where{Stage: "f", OnDevice: true}},
		"one of several":             {Finding{Place: Place{Rank: &rank, Ranks: []int{1, 2}}, Cause: CauseLate}, SomeRanks, Where{}},
		"one alone, listed":          {Finding{Place: Place{Rank: &rank, Ranks: []int{1}}, Cause: CauseLate}, OneRank, Where{}},
		"a host":                     {Finding{Kind: KindHost, Place: Place{Ranks: []int{1, 2}}}, HostRanks, Where{}},
		"a group":                    {Finding{Kind: KindGroup, Place: Place{Ranks: []int{1, 2}}}, GroupRanks, Where{}},
		"a group behind messages":    {Finding{Kind: KindGroup, Place: Place{Ranks: []int{1, 2}}, Evidence: []evidence.Observation{evidence.LateBehindMessages{}}}, SomeRanks, Where{}},
		"a group with more work":     {Finding{Kind: KindGroup, Cause: CauseMoreWork, Place: Place{Ranks: []int{1, 2}}}, HeavyGroup, Where{}},
		"a group of nobody":          {Finding{Kind: KindGroup}, AllRanks, Where{}},
		"all":                        {Finding{Kind: KindStage, Place: Place{Stage: "f"}}, AllRanks, Where{Stage: "f"}},
	} {
		if got := c.f.Who().Kind; got != c.who {
			t.Errorf("%s: %q, want %q", name, got, c.who)
		}
		if got := c.f.Where(); got != c.where {
			t.Errorf("%s: %+v, want %+v", name, got, c.where)
		}
	}
}

// TestStepLimits: a stage in each microstep is found if it is in the worse of them, and hides in all; windows alone, operators and entries have
// limits of their own.
func TestStepLimits(t *testing.T) {
	j := stepsOf()
	j.modelled.Stages = []points.Stage{points.StageOf("data"), points.StageOf("forward#0"), points.StageOf("forward#1"), {Name: "rest", Role: points.Rest}}
	j.modelled.Limits = []delay.Limit{{Stage: 0, Reported: 4}, {Stage: 1, Reported: 5, MayHide: 10}, {Stage: 2, Reported: 7, MayHide: 20}, {Stage: 3, Reported: 1}}
	names := []string{j.stageName(1), j.stageName(3)}
	want := []answer.Limit{{Stage: "data", Reported: 4}, {Stage: names[0], Reported: 5, MayHide: 10}, {Stage: j.stageName(2), Reported: 7, MayHide: 20}, {Stage: stagename.Residual, Reported: 1}}
	if j.stageName(2) == names[0] {
		want = slices.Delete(want, 2, 3)
		want[1] = answer.Limit{Stage: names[0], Reported: 7, MayHide: 30}
	}
	if diff := gocmp.Diff(want, j.stepLimits()); diff != "" {
		t.Error(diff)
	}
	alone := &judge{run: &run{operators: &RunVerdict{Coverage: []answer.Coverage{{Stage: "pp=0", Least: 9}, {Stage: "pp=1"}}}}}
	if diff := gocmp.Diff([]answer.Limit{{Stage: "pp=0", Reported: 9}, {Stage: "pp=1"}}, alone.limitsLeft()); diff != "" {
		t.Error(diff)
	}
	if got := enteredJudge(arrivals.Result{Places: []arrivals.Place{{Limit: 6}}}).limitsLeft(); len(got) != 1 || got[0].Reported != 6 {
		t.Errorf("of entries %+v", got)
	}
	if j.modelled = nil; j.limitsLeft() != nil {
		t.Error("limits of windows that were not judged as a series")
	}
}

// TestWindowQuestions: what the labels of windows leave open, each once.
func TestWindowQuestions(t *testing.T) {
	window := func(ranks int, wall bool, stages []string, l ...labels.Label) Window {
		r := &frontier.Result{Ranks: make([]int, ranks)}
		r.Labels, r.Quality.Wall = l, wall
		return Window{Main: r, Stages: stages}
	}
	for name, c := range map[string]struct {
		windows []Window
		want    []answer.Undecided
	}{
		"nothing":       {[]Window{window(4, true, nil)}, nil},
		"roles, twice":  {[]Window{window(4, true, nil, labels.RoleAwareNeeded), window(4, true, nil, labels.RoleAwareNeeded)}, []answer.Undecided{{Question: answer.RolesMixed, Needs: answer.SourceRoles}}},
		"microsteps":    {[]Window{window(4, true, nil, labels.GradientAccumulationAmbiguous)}, []answer.Undecided{{Question: answer.MicrostepOrder, Needs: answer.SourceMicrosteps}}},
		"device events": {[]Window{window(4, true, nil, labels.ForwardEventScopeLimited)}, []answer.Undecided{{Question: answer.DeviceOrHost, Needs: answer.SourceEvents}}},
		"one rank":      {[]Window{window(1, false, nil)}, []answer.Undecided{{Question: answer.RanksNotRecorded, Needs: answer.SourceAllRanks}}},
		"no wall time":  {[]Window{window(4, true, nil), window(4, false, []string{"a"})}, []answer.Undecided{{Question: answer.UnrecordedTime, Needs: answer.SourceWall}}},
		"whole steps":   {[]Window{window(4, false, []string{stagename.Whole})}, nil},
	} {
		if diff := gocmp.Diff(c.want, (&judge{run: &run{windows: c.windows}}).windowQuestions()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	j := stepsOf()
	j.modelled.Points = nil
	if got := j.stepQuestions(); !gocmp.Equal(got, []answer.Undecided{{Question: answer.SyncPointUnknown, Needs: answer.SourceMoreSteps, N: 50}}) {
		t.Errorf("without a synchronisation point %+v", got)
	}
}

// TestTransferAfterEntries: what hides in a stage may be its transfer, as long as that is; beside a healthy run nothing is, unless that is too short.
func TestTransferAfterEntries(t *testing.T) {
	u := &answer.Undecided{Stage: "backward", Hides: 40}
	for name, c := range map[string]struct {
		transfers []arrivals.Transfer
		sample    bool
		noted     answer.ProblemKind
		want      float64
	}{
		"shorter":                {[]arrivals.Transfer{{Stage: "x", Time: 1}, {Stage: "backward", Time: 30}}, false, "", 30},
		"longer":                 {[]arrivals.Transfer{{Stage: "backward", Time: 50}}, false, "", 40},
		"not known":              {nil, false, "", 40},
		"beside a healthy run":   {[]arrivals.Transfer{{Stage: "backward", Time: 30}}, true, "", 0},
		"beside one too short":   {[]arrivals.Transfer{{Stage: "backward", Time: 30}}, true, answer.BaselineTooShort, 30},
		"beside one, and a note": {[]arrivals.Transfer{{Stage: "backward", Time: 30}}, true, answer.CallsRefused, 0},
	} {
		j := enteredJudge(arrivals.Result{Transfers: c.transfers})
		if c.sample {
			j.sample = new(frontier.Sample)
		}
		if c.noted != "" {
			j.noted = []answer.Problem{{Problem: c.noted}}
		}
		if got := j.transfer(u); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
