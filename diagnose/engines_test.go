package diagnose

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/trace"
)

// TestFindingsAlone: what the fastest engines leave out changes no finding, no
// status, and nothing that is left open.
func TestFindingsAlone(t *testing.T) {
	faults := map[string]simulate.Fault{
		"none":      {},
		"callback":  {Family: simulate.CallbackHost, Delay: 40, Ranks: []int{5}},
		"data":      {Family: simulate.Data, Delay: 60, Ranks: []int{2}},
		"backward":  {Family: simulate.Backward, Delay: 60, Ranks: []int{3}},
		"optimizer": {Family: simulate.OptimizerHost, Delay: 15, Ranks: []int{1, 6}},
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			spec := simulate.DefaultSpec()
			spec.Schedule.Windows, spec.Schedule.Steps, spec.Seed = 3, 40, 7
			if fault.Delay > 0 {
				spec.Faults = []simulate.Fault{fault}
			}
			windows := generated(t, spec)
			want, got := contract(t, AllEngines, windows), contract(t, FindingsAlone, windows)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func generated(t *testing.T, spec simulate.Spec) (all []*trace.Window) {
	t.Helper()
	g, err := simulate.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	for range spec.Schedule.Windows {
		w, err := g.Next()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, w)
	}
	return all
}

// contract is what a verdict says, without the accounts behind it.
func contract(t *testing.T, engines Engines, windows []*trace.Window) string {
	t.Helper()
	s := New(Options{Engines: engines})
	for _, w := range windows {
		if err := s.Add(w); err != nil {
			t.Fatal(err)
		}
	}
	v := s.Verdict().Runs[0]
	v.Windows = nil
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
