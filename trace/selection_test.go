package trace

import (
	"slices"
	"testing"
)

// selectable has 3 stages, ranks 1, 4 and 6 of 8, and steps 10 to 13; the value
// of a duration tells its place.
func selectable() *Window {
	w := &Window{Run: "job", Index: 2, FirstStep: 10, WorldSize: 8, Schema: Schema{Stages: []string{"a", "b", "c"}},
		Ranks: []Rank{{ID: 1}, {ID: 4}, {ID: 6}}, Epochs: []int64{1000, 0, 3000},
		Side: []SideChannel{{Name: "x", Samples: []Sample{{Step: 10, Rank: 0}, {Step: 12, Rank: 2}}}}}
	w.NoteMissing()
	for t := range int64(4) {
		for s := range int64(3) {
			for _, r := range w.Ranks {
				w.Durations = append(w.Durations, 100*(10+t)+10*s+int64(r.ID))
			}
		}
		for range w.Ranks {
			w.Wall = append(w.Wall, 10*(t+1))
		}
	}
	return w
}

func TestSelectionOfAWindow(t *testing.T) {
	w := selectable()
	for _, c := range []struct {
		name       string
		s          Selection
		durations  []int64 // of the first stage; nil: nothing is selected
		first      int64
		missing    int
		sidechecks int
	}{
		{"all", Selection{}, []int64{1001, 1004, 1006, 1101, 1104, 1106, 1201, 1204, 1206, 1301, 1304, 1306}, 10, 5, 2},
		{"another run", Selection{Runs: []string{"other"}}, nil, 0, 0, 0},
		{"its run and window", Selection{Runs: []string{"x", "job"}, Windows: []int64{2}, Steps: &StepRange{13, 99}}, []int64{1301, 1304, 1306}, 13, 5, 0},
		{"another window", Selection{Windows: []int64{0, 1}}, nil, 0, 0, 0},
		{"steps within", Selection{Steps: &StepRange{11, 12}}, []int64{1101, 1104, 1106, 1201, 1204, 1206}, 11, 5, 1},
		{"steps before", Selection{Steps: &StepRange{0, 9}}, nil, 0, 0, 0},
		{"ranks", Selection{Ranks: []int{6, 1}, Steps: &StepRange{0, 10}}, []int64{1001, 1006}, 10, 0, 1},
		{"a rank that did not report too", Selection{Ranks: []int{4, 5}, Steps: &StepRange{12, 12}}, []int64{1204}, 12, 1, 0},
		{"no rank of it", Selection{Ranks: []int{0}}, nil, 0, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := c.s.Window(w)
			if got == nil || c.durations == nil {
				if (got == nil) != (c.durations == nil) {
					t.Fatalf("%+v", got)
				}
				return
			}
			if err := got.Validate(); err != nil {
				t.Fatal(err)
			}
			var durations []int64
			for i := range got.Steps() {
				durations = append(durations, got.Step(i)[:len(got.Ranks)]...)
			}
			samples := len(got.Side[0].Samples)
			if !slices.Equal(durations, c.durations) || got.FirstStep != c.first || len(got.Missing()) != c.missing || samples != c.sidechecks {
				t.Errorf("%v from step %d, %d missing, %d samples", durations, got.FirstStep, len(got.Missing()), samples)
			}
			if got.Has(NoteMissingRanks) != (c.missing > 0) {
				t.Errorf("%d missing, and the notes are %v", c.missing, got.Notes)
			}
		})
	}
	if got := (&Selection{Steps: &StepRange{12, 12}}).Window(w).Epochs; !slices.Equal(got, []int64{1030, 0, 3030}) {
		t.Errorf("step 12 began at %v", got)
	}
	if !slices.Equal(w.Durations, selectable().Durations) {
		t.Error("the window was changed")
	}
}

func TestSelectionOfOperators(t *testing.T) {
	ops := &OpTrace{Run: "job", Ranks: []Rank{{ID: 0}, {ID: 3}}, Steps: []int64{5, 7}, Names: []string{"f", "g"}}
	for r := range int32(2) {
		for s := range int32(2) {
			for n := range int32(2) {
				if n == 1 && s == 1 {
					continue // g is in step 5 alone
				}
				for _, c := range []struct {
					column *[]int32
					value  int32
				}{{&ops.Rank, r}, {&ops.Step, s}, {&ops.Name, n}, {&ops.Lane, 0}, {&ops.Seq, 0}, {&ops.Chunk, -1}, {&ops.GlobalChunk, -1}, {&ops.Microbatch, -1}, {&ops.Group, -1}} {
					*c.column = append(*c.column, c.value)
				}
				ops.Start, ops.Dur = append(ops.Start, int64(100*r+10*s+n)), append(ops.Dur, 1)
			}
		}
	}
	if (&Selection{}).Ops(ops) != ops || (&Selection{Runs: []string{"x"}}).Ops(ops) != nil || (&Selection{Steps: &StepRange{6, 6}}).Ops(ops) != nil {
		t.Error("all, another run, no step")
	}
	got := (&Selection{Steps: &StepRange{6, 9}, Ranks: []int{3}}).Ops(ops)
	if err := got.Arrange(nil); err != nil {
		t.Fatal(err)
	}
	if got.Len() != 1 || got.Start[0] != 110 || got.Ranks[0].ID != 3 || got.Steps[0] != 7 || len(got.Names) != 1 || got.Names[0] != "f" {
		t.Errorf("%+v", got)
	}
	totals := &OpTotals{Run: "job", Ranks: ops.Ranks, Steps: ops.Steps, Rows: []OpTotal{{Rank: 0, Step: 0}, {Rank: 1, Step: 1, Count: 9}}}
	if got := (&Selection{Ranks: []int{3}}).Totals(totals); len(got.Rows) != 1 || got.Rows[0] != (OpTotal{Count: 9}) && got.Rows[0] != (OpTotal{Step: 1, Count: 9}) {
		t.Errorf("%+v", got)
	}
	device := &DeviceRun{Run: "job", Ranks: []DeviceRank{{Rank: Rank{ID: 0}, Steps: []DeviceStep{{Step: 5}}}, {Rank: Rank{ID: 3}, Steps: []DeviceStep{{Step: 5}, {Step: 7}}}}}
	if got := (&Selection{Steps: &StepRange{7, 7}}).Device(device); len(got.Ranks) != 1 || len(got.Ranks[0].Steps) != 1 || len(device.Ranks[1].Steps) != 2 {
		t.Errorf("%+v", got)
	}
}
