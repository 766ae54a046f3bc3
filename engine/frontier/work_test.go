package frontier

import (
	"slices"
	"testing"

	"github.com/sfstat/sfstat/trace"
)

// TestMeasuredWait: time in a stage that is measured waiting is no rank's work,
// whether or not the ranks are found to synchronise there.
func TestMeasuredWait(t *testing.T) {
	w := &trace.Window{WorldSize: 2, Schema: trace.Schema{Stages: []string{"model.fwd_loss_device", "wait.ranks", "optim.step_device"}},
		Ranks: []trace.Rank{{ID: 0}, {ID: 1}}}
	for range 4 {
		w.Durations = append(w.Durations, 30e6, 10e6, 0, 20e6, 5e6, 5e6)
	}
	a, err := Analyze(w, Options{})
	if err != nil {
		t.Fatal(err)
	}
	per := func(i int) int64 { return a.Main.Work[i] / int64(a.Main.Steps) }
	if got, want := []int64{per(0), per(1)}, []int64{35e6, 15e6}; !slices.Equal(got, want) {
		t.Errorf("work of %v ns a step, want %v", got, want)
	}
}
