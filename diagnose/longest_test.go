package diagnose

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/operator"
)

// TestLongestOperators: of what one rank launched in two steps the three that take most are listed, a step, with the stage
// where there is one; of several ranks, and where nothing takes time, none are.
func TestLongestOperators(t *testing.T) {
	one := func() *operator.Totals {
		return &operator.Totals{Run: "r", Ranks: []trace.Rank{{ID: 3}}, Steps: []int64{7, 8}, Stages: []string{"forward", "backward", ""}, Names: []string{"relu", "gemm", "copy", "reduce", "never"},
			Rows: []operator.Total{
				{Step: 0, Stage: 0, Name: 0, Count: 1, Dur: 10}, {Step: 1, Stage: 0, Name: 0, Count: 1, Dur: 12},
				{Step: 0, Stage: 0, Name: 1, Count: 4, Dur: 300}, {Step: 1, Stage: 1, Name: 1, Count: 5, Dur: 500},
				{Step: 1, Stage: 2, Name: 2, Count: 1, Dur: 40}, {Step: 0, Stage: 1, Name: 3, Count: 2, Dur: 90}, {Step: 1, Stage: 1, Name: 3, Count: 2, Dur: 94},
			}}
	}
	want := evidence.LongestOperators{Names: 4, Time: 523, Operators: []evidence.OperatorTime{
		{Op: "gemm", Time: 400, Count: 4.5}, {Op: "reduce", Stage: "backward", Time: 92, Count: 2}, {Op: "copy", Time: 20, Count: 0.5}}}
	got, ok := longestOperators(one())
	if diff := gocmp.Diff(want, got); diff != "" || !ok {
		t.Error(diff)
	}
	functions := one()
	functions.Functions = true
	if got, ok := longestOperators(functions); !got.Functions || !ok {
		t.Errorf("%+v of functions", got)
	}
	for name, change := range map[string]func(*operator.Totals){
		"two ranks": func(t *operator.Totals) { t.Ranks = append(t.Ranks, trace.Rank{ID: 4}) },
		"no steps":  func(t *operator.Totals) { t.Steps, t.Rows = nil, nil },
		"no rows":   func(t *operator.Totals) { t.Rows = nil },
		"no time":   func(t *operator.Totals) { t.Rows = t.Rows[:1]; t.Rows[0].Dur = 0 },
	} {
		totals := one()
		change(totals)
		if got, ok := longestOperators(totals); ok {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestLongestOfOnlyRank: what takes longest is said of the only rank, and not where ranks are compared.
func TestLongestOfOnlyRank(t *testing.T) {
	for _, ranks := range []int{1, 2} {
		w := &trace.Window{Run: "r", WorldSize: ranks, Schema: trace.Schema{Stages: []string{"forward", "backward"}}, Ranks: []trace.Rank{{ID: 0}, {ID: 1}}[:ranks]}
		for range 20 * ranks * 2 {
			w.Durations = append(w.Durations, 1e6)
		}
		s := New(Options{})
		for _, r := range []trace.Recording{w, &operator.Totals{Run: "r", Ranks: w.Ranks[:1], Steps: []int64{0}, Stages: []string{"forward"}, Names: []string{"gemm"}, Rows: []operator.Total{{Count: 1, Dur: 5}}}} {
			if err := s.Add(r); err != nil {
				t.Fatal(err)
			}
		}
		e, _ := evidence.Find[evidence.OneRank](s.Verdict().Observed)
		if (len(e.Longest) == 1) != (ranks == 1) {
			t.Errorf("%d ranks: %+v", ranks, e)
		}
	}
}
