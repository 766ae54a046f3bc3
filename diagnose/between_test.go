package diagnose

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/stagename"
)

// evaluated are windows of ten steps of 100 each on ranks that evaluate for so long after each.
func evaluated(n int, after []int64) (list []*trace.Window) {
	epochs := make([]int64, len(after))
	for i := range n {
		w := &trace.Window{FirstStep: int64(10 * i), Wall: make([]int64, 10*len(after)), Epochs: make([]int64, len(after))}
		for r := range after {
			w.Ranks = append(w.Ranks, trace.Rank{ID: r})
			w.Epochs[r] = 1_000_000 + int64(r)*777 + epochs[r] // every rank has a clock of its own
			epochs[r] += 1000 + after[r]
		}
		for i := range w.Wall {
			w.Wall[i] = 100
		}
		w.Schema.Stages = []string{"a"}
		w.Durations = w.Wall
		list = append(list, w)
	}
	return list
}

func TestBetweenSteps(t *testing.T) {
	for _, tt := range []struct {
		name  string
		after []int64
		drop  int // window that is missing, 0: none
		want  []evidence.Observation
	}{
		{"one window follows the other", []int64{0, 0, 0}, 0, nil},
		{"little", []int64{10, 10, 10}, 0, nil},
		{"all evaluate alike", []int64{250, 250, 250}, 0, []evidence.Observation{evidence.BetweenSteps{Time: 1000, Share: 1. / 6, Rank: 0}}},
		{"one takes longer", []int64{250, 750, 250}, 0, []evidence.Observation{evidence.BetweenSteps{Time: 1000, Share: 1. / 6, Rank: 1, Excess: 2000}}},
		{"steps that are missing are none", []int64{250, 250, 250}, 2, []evidence.Observation{evidence.BetweenSteps{Time: 500, Share: 500. / 4500, Rank: 0}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b windowGaps
			for i, w := range evaluated(5, tt.after) {
				if i == 0 || i != tt.drop {
					b.add(w)
				}
			}
			if d := cmp.Diff(tt.want, b.evidence(nil)); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestToldOnce: what a rank takes between the steps is no second answer beside the claim that it loses time in no stage;
// that of another rank, in a stage, or that may be chance is.
func TestToldOnce(t *testing.T) {
	more, all := evidence.BetweenSteps{Rank: 2, Excess: 500}, evidence.BetweenSteps{Rank: 2, Excess: 500, Time: 100, Share: 0.1}
	other := evidence.NobodyLate{Ranks: 4}
	for name, c := range map[string]struct {
		claim Finding
		seen  evidence.BetweenSteps
		want  []evidence.Observation
	}{
		"the same rank":         {claimed(2, stagename.Residual, 0.3, evidence.Strong), more, []evidence.Observation{other}},
		"all are there besides": {claimed(2, stagename.Residual, 0.3, evidence.Strong), all, []evidence.Observation{other, evidence.BetweenSteps{Rank: 2, Time: 100, Share: 0.1}}},
		"another rank":          {claimed(1, stagename.Residual, 0.3, evidence.Strong), more, []evidence.Observation{other, more}},
		"in a stage":            {claimed(2, "forward", 0.3, evidence.Strong), more, []evidence.Observation{other, more}},
		"perhaps chance":        {claimed(2, stagename.Residual, 0.3, evidence.Ambiguous), more, []evidence.Observation{other, more}},
	} {
		if d := cmp.Diff(c.want, dropClaimed([]evidence.Observation{other, c.seen}, []Finding{c.claim})); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}
