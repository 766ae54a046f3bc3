package diagnose

import (
	"slices"
	"testing"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/trace"
)

// TestShown: the window of a run is that with the evidence for its first finding, else the first of the longest.
func TestShown(t *testing.T) {
	v := &RunVerdict{}
	if v.MainWindow() != nil {
		t.Error("a window of a run without any")
	}
	for _, steps := range []int{5, 9, 9, 3} {
		v.Windows = append(v.Windows, Window{Main: &frontier.Result{Steps: steps}})
	}
	at := func() int {
		return slices.IndexFunc(v.Windows, func(w Window) bool { return w.Main == v.MainWindow().Main })
	}
	if got := at(); got != 1 {
		t.Errorf("without findings window %d, want 1", got)
	}
	for detail, want := range map[int]int{-1: 1, 0: 0, 3: 3, 4: 1} {
		if v.Findings = []Finding{{Detail: detail}, {Detail: 2}}; at() != want {
			t.Errorf("evidence from window %d: %d, want %d", detail, at(), want)
		}
	}
}

// TestAccount: the account of the role group that the first finding is in, else of all ranks.
func TestAccount(t *testing.T) {
	w := &Window{Main: &frontier.Result{}, Groups: []*frontier.Result{{Group: "pp=0"}, {Group: "pp=1"}}}
	v := &RunVerdict{}
	if v.Account(w) != w.Main {
		t.Error("without findings not that of all ranks")
	}
	for group, want := range map[string]*frontier.Result{"": w.Main, "pp=1": w.Groups[1], "pp=0": w.Groups[0], "pp=7": w.Main} {
		if v.Findings = []Finding{{Place: Place{Group: group}}}; v.Account(w) != want {
			t.Errorf("a finding of group %q: not its account", group)
		}
	}
}

// inStage returns a finding that rank 3 is late in forward by 40 ns a step, for certain.
func inStage(change func(f *Finding)) Finding {
	rank := 3
	f := Finding{Kind: KindRank, Cause: CauseLate, Place: Place{Rank: &rank, Host: "a", Stage: "forward"}, Confidence: evidence.Strong, Windows: []int64{7},
		Cost: Cost{Excess: 40, Struck: Struck{Count: 5, Of: 20, First: 100, Last: 119, Pattern: PatternConstant}}}
	change(&f)
	return f
}

// TestInStage: what a row of a stage shows of the findings of a run, and by how much its steps would be shorter.
func TestInStage(t *testing.T) {
	nothing := func(*Finding) {}
	small := func(f *Finding) { f.BelowMinGain = true }
	seldom := func(f *Finding) { f.Struck.Pattern = PatternIntermittent }
	m := &frontier.Result{Window: 7, Steps: 10, Stages: []frontier.Stage{{Name: "data", Advance: 990}, {Name: "forward", Advance: 1000}}}
	charged := *m
	charged.Culprits = []claim.Claim{{Kind: claim.Rank, Ranks: []int{4}, Parts: []claim.Part{{Stage: 1, Charged: 70}}}, {Kind: claim.Rank, Ranks: []int{3}, Parts: []claim.Part{{Stage: 0, Charged: 80}}},
		{Kind: claim.Rank, Ranks: []int{3}, Parts: []claim.Part{{Stage: 1, Charged: 90}}}, {Kind: claim.Rank, Ranks: []int{3}, Parts: []claim.Part{{Stage: 1, Charged: 60}}}}
	brief := *m
	brief.Stages = []frontier.Stage{{Name: "forward", Advance: 60}}
	none := *m
	none.Steps, none.Stages = 0, nil
	for name, c := range map[string]struct {
		findings    []Finding
		w           *frontier.Result
		n           int
		recoverable float64
	}{
		"all the time":                    {[]Finding{inStage(nothing)}, m, 1, 40},
		"of the run":                      {[]Finding{inStage(func(f *Finding) { f.Windows = nil })}, m, 1, 40},
		"in another window":               {[]Finding{inStage(func(f *Finding) { f.Windows = []int64{6, 8} })}, m, 0, 0},
		"in another stage":                {[]Finding{inStage(func(f *Finding) { f.Stage = "data" })}, m, 0, 0},
		"certain and small":               {[]Finding{inStage(small)}, m, 1, 40},
		"small, behind another":           {[]Finding{inStage(nothing), inStage(small)}, m, 1, 40},
		"small, together with another":    {[]Finding{inStage(nothing), inStage(func(f *Finding) { f.BelowMinGain, f.Jointly, f.Excess = true, true, 50 })}, m, 2, 50},
		"small and uncertain":             {[]Finding{inStage(func(f *Finding) { f.BelowMinGain, f.Confidence = true, evidence.Ambiguous })}, m, 0, 0},
		"uncertain":                       {[]Finding{inStage(func(f *Finding) { f.Confidence = evidence.Ambiguous })}, m, 1, 40},
		"refuted":                         {[]Finding{inStage(func(f *Finding) { f.Confidence = evidence.Insufficient })}, m, 0, 0},
		"the operator behind it":          {[]Finding{inStage(func(f *Finding) { f.Cause = CauseOperator })}, m, 0, 0},
		"two":                             {[]Finding{inStage(nothing), inStage(func(f *Finding) { f.Excess = 30 })}, m, 2, 40},
		"in a quarter of the steps":       {[]Finding{inStage(seldom)}, m, 1, 10},
		"at every fourth step":            {[]Finding{inStage(func(f *Finding) { f.Struck.Pattern = PatternPeriodic })}, m, 1, 10},
		"in a stretch":                    {[]Finding{inStage(func(f *Finding) { f.Struck.Pattern = PatternWindow })}, m, 1, 40},
		"as often as this window shows":   {[]Finding{inStage(seldom)}, &charged, 1, 9},
		"no more than the stage takes":    {[]Finding{inStage(seldom)}, &brief, 1, 6},
		"in a window without whole steps": {[]Finding{inStage(seldom)}, &none, 1, 10},
	} {
		v := &RunVerdict{Findings: c.findings}
		if list, recoverable := v.StageFindings("forward", c.w); len(list) != c.n || recoverable != c.recoverable {
			t.Errorf("%s: %d findings, %v ns, want %d and %v", name, len(list), recoverable, c.n, c.recoverable)
		}
	}
}

// TestLateIn: in a window the first rank is late that its own stage times show late by enough; else who enters calls late in its
// steps, all the time.
func TestLateIn(t *testing.T) {
	culprit := func(rank int, alone float64) claim.Claim {
		return claim.Claim{Kind: claim.Rank, Ranks: []int{rank}, Saves: claim.Saving{Alone: alone}, Parts: []claim.Part{{Stage: 1, Charged: 300}, {Stage: 0, Charged: 20}}}
	}
	m := func(culprits ...claim.Claim) *Window {
		return &Window{Main: &frontier.Result{Window: 7, FirstStep: 100, Steps: 10, Stages: []frontier.Stage{{Name: "data"}, {Name: "forward"}}, Culprits: culprits,
			Members: []trace.Rank{{ID: 2, Host: "a"}, {ID: 5, Host: "b"}, {ID: 6}}}}
	}
	arrives := func(change func(f *Finding)) Finding {
		return inStage(func(f *Finding) {
			f.Evidence = []evidence.Observation{evidence.LastToEnter{Source: evidence.FromArrivals}}
			change(f)
		})
	}
	steps := func(first, last int64) func(f *Finding) {
		return func(f *Finding) { f.Struck.First, f.Struck.Last = first, last }
	}
	entered := Lateness{Rank: 3, Host: "a", Stage: "forward", Excess: 40}
	for name, c := range map[string]struct {
		w        *Window
		findings []Finding
		want     Lateness
		ok       bool
	}{
		"nobody":                     {m(), nil, Lateness{}, false},
		"by its own times":           {m(culprit(5, 0.1)), []Finding{arrives(func(*Finding) {})}, Lateness{Rank: 5, Host: "b", Stage: "forward", Excess: 32}, true},
		"the first of two":           {m(culprit(6, 0.05), culprit(2, 0.2), culprit(5, 0.3)), nil, Lateness{Rank: 2, Host: "a", Stage: "forward", Excess: 32}, true},
		"by too little":              {m(culprit(5, 0.09)), nil, Lateness{}, false},
		"by entries":                 {m(), []Finding{inStage(func(*Finding) {}), arrives(func(*Finding) {})}, entered, true},
		"by entries, beside little":  {m(culprit(5, 0.09)), []Finding{arrives(func(*Finding) {})}, entered, true},
		"in its last step":           {m(), []Finding{arrives(steps(109, 500))}, entered, true},
		"behind it":                  {m(), []Finding{arrives(steps(110, 500))}, Lateness{}, false},
		"in its first step":          {m(), []Finding{arrives(steps(0, 100))}, entered, true},
		"before it":                  {m(), []Finding{arrives(steps(0, 99))}, Lateness{}, false},
		"in some steps":              {m(), []Finding{arrives(func(f *Finding) { f.Struck.Pattern = PatternIntermittent })}, Lateness{}, false},
		"at every n-th step":         {m(), []Finding{arrives(func(f *Finding) { f.Struck.Pattern = PatternPeriodic })}, Lateness{}, false},
		"for certain, by too little": {m(), []Finding{arrives(func(f *Finding) { f.BelowMinGain = true })}, Lateness{}, false},
		"several ranks":              {m(), []Finding{arrives(func(f *Finding) { f.Rank = nil })}, Lateness{}, false},
	} {
		v := &RunVerdict{MinGain: 0.1, Findings: c.findings}
		if got, ok := v.LateIn(c.w); got != c.want || ok != c.ok {
			t.Errorf("%s: %+v, %v, want %+v, %v", name, got, ok, c.want, c.ok)
		}
	}
	without := m(culprit(5, 0.1))
	without.Main.Steps = 0
	if got, _ := (&RunVerdict{MinGain: 0.1}).LateIn(without); got.Excess != 320 {
		t.Errorf("in a window of no whole step: %+v, want 320 ns", got)
	}
}
