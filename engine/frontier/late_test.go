package frontier

import (
	"math"
	"testing"

	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/trace"
)

// TestCulprits: of four ranks that wait for one another at the end of backward, rank 2 takes 20 ms longer for its
// data in every step of 120 ms, and rank 0 60 ms longer for its forward pass in every fourth. In such a step
// rank 0 arrives 40 ms after rank 2; without rank 0 the step would be those 40 ms shorter. The others wait
// 20 ms for rank 2 in every step, and its own 20 ms go nowhere else.
func TestCulprits(t *testing.T) {
	const ms, steps = int64(1e6), 40
	w := &trace.Window{WorldSize: 4, Schema: trace.Schema{Stages: []string{"data.next_wait", "model.fwd_loss_cpu_wall", "model.backward_cpu_wall"}},
		Ranks: []trace.Rank{{ID: 4}, {ID: 5}, {ID: 6}, {ID: 7}}}
	for step := range steps {
		data, forward := [4]int64{10, 10, 30, 10}, [4]int64{50, 50, 50, 50}
		if step%4 == 1 {
			forward[0] += 60
		}
		last := int64(0)
		for r := range data {
			last = max(last, data[r]+forward[r])
		}
		var backward [4]int64
		for r := range backward {
			backward[r] = last - data[r] - forward[r] + 40
		}
		for _, row := range [][4]int64{data, forward, backward} {
			for _, x := range row {
				w.Durations = append(w.Durations, x*ms)
			}
		}
	}
	r := mustAnalyze(t, w, Options{SyncAfter: "model.backward_cpu_wall"}).Main
	whole := 30*120*ms + 10*160*ms
	if r.Makespan != whole {
		t.Fatalf("makespan %d, want %d", r.Makespan, whole)
	}
	want := []struct {
		rank, struck int
		part         claim.Part
		gain         float64
	}{
		{6, 40, claim.Part{Stage: 0, Size: 20 * ms, Charged: 40 * 20 * ms}, float64(30*20*ms) / float64(whole)},
		{4, 10, claim.Part{Stage: 1, Size: 60 * ms, Charged: 10 * 60 * ms}, float64(10*40*ms) / float64(whole)},
	}
	if len(r.Culprits) != len(want) {
		t.Fatalf("charged %+v, want ranks 6 and 4", r.Culprits)
	}
	for i, c := range r.Culprits {
		if w := want[i]; c.Validate() != nil || c.P > 0.05 || math.Abs(c.Saves.Alone-w.gain) > 1e-6 {
			t.Errorf("%+v, want P ≤ 0.05 and a gain of %v", c, w.gain)
		}
		if w := want[i]; c.Rank() != w.rank || len(c.Parts) != 1 || c.Parts[0] != w.part || c.Steps.Count != w.struck || c.Steps.Of != 40 {
			t.Errorf("%+v, want %+v", c, w)
		}
	}
	// Without both every step takes 100 ms.
	if saves := 1 - float64(steps*100*ms)/float64(whole); r.Saves == nil || math.Abs(*r.Saves-saves) > 1e-6 {
		t.Errorf("fixing both saves %v, want %v", r.Saves, saves)
	}
}
