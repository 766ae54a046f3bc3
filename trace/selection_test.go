package trace

import (
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/input"
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
			if !slices.Equal(durations, c.durations) || got.FirstStep != c.first || got.Missing().Len() != c.missing || samples != c.sidechecks {
				t.Errorf("%v from step %d, %d missing, %d samples", durations, got.FirstStep, got.Missing().Len(), samples)
			}
			if got.Has(input.NoteMissingRanks) != (c.missing > 0) {
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

// TestSelectedCalls: of the calls beside a window those of the selected steps are left, also where all of its steps are: it may hold calls of
// earlier ones.
func TestSelectedCalls(t *testing.T) {
	var calls []comms.Call
	for _, step := range []int64{-1, 3, 10, 11, 12} {
		c := comms.UnknownCall(0)
		c.Step = step
		calls = append(calls, c)
	}
	w := &Window{FirstStep: 10, Schema: Schema{Stages: []string{"data"}}, Ranks: []Rank{{ID: 0}}, Durations: []int64{1, 2, 3}, Arrivals: []*comms.Record{{Calls: calls}}}
	for _, c := range []struct {
		steps StepRange
		want  []int64
	}{{StepRange{10, 12}, []int64{10, 11, 12}}, {StepRange{11, 20}, []int64{11, 12}}, {StepRange{0, 10}, []int64{3, 10}}} {
		s := Selection{Steps: &c.steps}
		var got []int64
		for _, call := range s.Window(w).Arrivals[0].Calls {
			got = append(got, call.Step)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("steps %v: calls of steps %v, want %v", c.steps, got, c.want)
		}
	}
	if all := (&Selection{}).Window(w); len(all.Arrivals[0].Calls) != len(calls) {
		t.Errorf("of all steps %d calls are left", len(all.Arrivals[0].Calls))
	}
}
