package tables

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/eval/campaign"
	"github.com/sfstat/sfstat/eval/simulate"
)

// TestSettings: under each setting the same run is answered anew: τ sizes the candidate set, the cut routes, the gain
// calls, and steps divide its windows, of which those of a removed fault stay as they are.
func TestSettings(t *testing.T) {
	g := campaign.Group{Name: "a", Families: []simulate.Family{simulate.OptimizerHost}, Ranks: []int{8}, Seeds: []uint64{0}, Delays: []simulate.Millis{120}, Windows: 3, Steps: 40}
	g.FaultWindows = []int{1}
	dir := t.TempDir()
	execute(t, dir, &campaign.Spec{Name: "c", Groups: []campaign.Group{g}, Settings: []campaign.Setting{
		{Name: "tau", Tau: 0.3}, {Name: "sync", Cut: "sync"}, {Name: "gain", MinGain: 0.9}, {Name: "steps", Steps: 15}}})
	e, err := Open(nil, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	type answers struct {
		Windows, Faulty, Candidates int
		Tau                         float64
		First, Named                bool
	}
	got := map[string]answers{}
	for _, s := range append([]settingScore{{unchanged, e.score}}, e.settings...) {
		r := s.Runs[0]
		a := answers{Windows: len(r.Windows), Tau: s.Tau, Named: r.Verdict.Named}
		for _, w := range r.Windows {
			if w.Fault {
				a.Faulty, a.Candidates, a.First = a.Faulty+1, w.Routing.Candidates, w.Routing.Top(1)
			}
		}
		got[s.name] = a
	}
	want := map[string]answers{unchanged: {3, 1, 2, 0.8, false, true}, "tau": {3, 1, 1, 0.3, false, true}, "sync": {3, 1, 3, 0.8, true, true},
		"gain": {3, 1, 2, 0.8, false, false}, "steps": {9, 3, 2, 0.8, false, true}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
