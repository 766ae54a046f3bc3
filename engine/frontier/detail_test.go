package frontier

import (
	"slices"
	"testing"

	"github.com/sfstat/sfstat/ingest/ingesttest"
	"github.com/sfstat/sfstat/trace"
)

// TestDetail holds the detail to the account: every sum that the account gives
// follows from the detail's steps.
func TestDetail(t *testing.T) {
	for name, o := range map[string]Options{"auto": {}, "step": {Cut: CutStep, ModelFit: FitNone}, "carried": {Cut: CutCarried}} {
		t.Run(name, func(t *testing.T) {
			for _, w := range ingesttest.Windows(7, 4, ingesttest.Shape{Ranks: 4, Steps: 9, Stages: 3}) {
				a, d, err := NewSeries(o).AddDetailed(w)
				if err != nil {
					t.Fatal(err)
				}
				if len(d.Prefix) != d.Steps*len(d.Boundaries)*len(d.Ranks) {
					t.Fatalf("%d prefixes of %d steps, %d boundaries, %d ranks", len(d.Prefix), d.Steps, len(d.Boundaries), len(d.Ranks))
				}
				if d.Cut == CutCarried {
					return // its steps begin apart: advances are not those of one step
				}
				for s := range d.Stages {
					sum := int64(0)
					for step := range d.Steps {
						sum += d.Advance(step, s)
					}
					if sum != a.Main.Stages[s].Advance {
						t.Errorf("%s advances by %d, the steps by %d", d.Stages[s].Name, a.Main.Stages[s].Advance, sum)
					}
				}
			}
		})
	}
}

// TestDetailByHand: three ranks, two steps, the second rank 7 late into the
// stage in which all wait.
func TestDetailByHand(t *testing.T) {
	w := &trace.Window{Run: "hand", WorldSize: 3, Ranks: []trace.Rank{{ID: 0}, {ID: 1}, {ID: 2}}, Schema: trace.Schema{Stages: []string{"a", "b"}},
		Durations: []int64{10, 17, 10, 9, 2, 9, 10, 17, 10, 9, 2, 9}}
	_, d, err := NewSeries(Options{Cut: CutStep}).AddDetailed(w)
	if err != nil {
		t.Fatal(err)
	}
	d.Sync = 1
	for rank, want := range []int64{0, 7, 0} {
		if got := d.Lateness(1)[rank]; got != want {
			t.Errorf("rank %d is late by %d, want %d", rank, got, want)
		}
	}
	if got := d.Waits(1, 1); !slices.Equal(got, []int64{7, 0, 7}) {
		t.Errorf("waits %v, want [7 0 7]", got)
	}
	if got := d.Waits(1, 0); slices.Max(got) > 0 {
		t.Errorf("waits %v where nobody synchronises", got)
	}
	if got := d.Slack(0)[0]; got != 14 {
		t.Errorf("slack %d, want 14", got)
	}
	if got := [2]int64{d.Advance(0, 0), d.Advance(0, 1)}; got != [2]int64{17, 2} {
		t.Errorf("advances %v, want [17 2]", got)
	}
}
