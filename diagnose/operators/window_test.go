package operators

import (
	"fmt"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/engine/whatif"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/operator"
	"github.com/sfstat/sfstat/trace/stagename"
)

// small is two ranks, three steps, and the stages data, model.backward and
// optim; the ranks synchronise in model.backward.
func small() (*trace.Window, *frontier.Analysis) {
	w := &trace.Window{Run: "small", FirstStep: 7, WorldSize: 2, Ranks: []trace.Rank{{ID: 0}, {ID: 1}},
		Schema: trace.Schema{Stages: []string{"data", "model.backward", "optim"}}}
	for step := range int64(3) {
		w.Durations = append(w.Durations, 10, 30+step, 40, 20, 5, 5+step)
		w.Wall = append(w.Wall, 60, 60+2*step)
	}
	return w, &frontier.Analysis{Main: &frontier.Result{SyncPoint: frontier.SyncPoint{At: 1,
		Boundaries: []frontier.Boundary{{Point: points.Point{Stage: 1}, Name: "model.backward", Syncs: true}}}}}
}

func TestFromWindow(t *testing.T) {
	w, a := small()
	traces, err := WindowTraces(w, a)
	if err != nil || len(traces) != 1 {
		t.Fatal(traces, err)
	}
	got := traces[0]
	type op struct {
		rank       int
		step       int64
		name       string
		start, dur int64
	}
	var ops []op
	for i := range got.Start {
		ops = append(ops, op{got.Ranks[got.Rank[i]].ID, got.Steps[got.Step[i]], got.Names[got.Name[i]], got.Start[i], got.Dur[i]})
	}
	// A step begins behind the synchronisation point of the one before: with
	// optim, what is left of the wall time, then data of the next.
	want := []op{
		{0, 7, "optim", 0, 5}, {0, 7, stagename.Residual, 5, 5}, {0, 7, "data", 10, 10}, {0, 7, "model.backward", 20, 40},
		{0, 8, "optim", 0, 5}, {0, 8, stagename.Residual, 5, 5}, {0, 8, "data", 10, 10}, {0, 8, "model.backward", 20, 40},
		{1, 7, "optim", 0, 5}, {1, 7, stagename.Residual, 5, 5}, {1, 7, "data", 10, 31}, {1, 7, "model.backward", 41, 20},
		{1, 8, "optim", 0, 6}, {1, 8, stagename.Residual, 6, 5}, {1, 8, "data", 11, 32}, {1, 8, "model.backward", 43, 20},
	}
	if !slices.Equal(ops, want) {
		t.Fatalf("got\n%v, want\n%v", ops, want)
	}
	v, err := Observe(got)
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range got.Name {
		wait := int64(0)
		if got.Names[name] == "model.backward" && got.Rank[i] == 0 {
			wait = 21 + int64(got.Step[i])*2
		}
		if v.wait[i] != wait {
			t.Errorf("operator %d (%s of rank %d) waits %d ns, want %d", i, got.Names[name], got.Rank[i], v.wait[i], wait)
		}
	}
	// Without rank 1's longer data stage, a step is that of rank 0.
	effect, err := v.Model.Price(whatif.Selection{{Ranks: []int{1}}})
	if err != nil || v.Model.Analyze().Recorded.Mean != 62 || effect[0].Removed >= effect[0].Now {
		t.Errorf("recorded %v, %+v, %v", v.Model.Analyze().Recorded.Mean, effect, err)
	}
}

// TestFromWindowLayouts: groups that synchronise among themselves, or differ in
// size, are a trace each; equal ones that all synchronise are one.
func TestFromWindowLayouts(t *testing.T) {
	layouts := func(pp ...int) *trace.Window {
		w := &trace.Window{FirstStep: 0, WorldSize: len(pp), Schema: trace.Schema{Stages: []string{"a", "wait.b", "b@0", "b@1"}}}
		for i, p := range pp {
			w.Ranks = append(w.Ranks, trace.Rank{ID: i, Role: trace.Role{{Axis: trace.DataParallel, Index: i}, {Axis: trace.PipelineParallel, Index: p}}})
		}
		w.Durations = slices.Repeat([]int64{3}, 2*4*len(pp))
		return w
	}
	open := frontier.SyncPoint{At: -1}
	for _, c := range []struct {
		name  string
		w     *trace.Window
		a     *frontier.Analysis
		sizes []operator.Layout
	}{
		{"one group", layouts(0, 0, 0), &frontier.Analysis{Main: &frontier.Result{SyncPoint: open}}, []operator.Layout{{DP: 3, PP: 1, World: 3}}},
		{"equal groups", layouts(0, 1, 0, 1), &frontier.Analysis{Main: &frontier.Result{SyncPoint: open}}, []operator.Layout{{DP: 2, PP: 2, World: 4}}},
		{"unequal groups", layouts(0, 1, 1), &frontier.Analysis{Main: &frontier.Result{SyncPoint: open}}, []operator.Layout{{DP: 1, PP: 1, World: 3}, {DP: 2, PP: 1, World: 3}}},
		{"within groups", layouts(0, 1, 0, 1), &frontier.Analysis{Main: &frontier.Result{SyncPoint: frontier.SyncPoint{At: -1, WithinPeers: true}},
			Groups: []*frontier.Result{{SyncPoint: open}, {SyncPoint: open}}}, []operator.Layout{{DP: 2, PP: 1, World: 4}, {DP: 2, PP: 1, World: 4}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			traces, err := WindowTraces(c.w, c.a)
			if err != nil {
				t.Fatal(err)
			}
			var sizes []operator.Layout
			for _, x := range traces {
				sizes = append(sizes, x.Layout)
				if !slices.Equal(x.Names, []string{"a", "b"}) { // nobody works in wait.b
					t.Errorf("operators %v", x.Names)
				}
				if _, err := Observe(x); err != nil {
					t.Error(err)
				}
			}
			if !slices.Equal(sizes, c.sizes) {
				t.Errorf("layouts %+v, want %+v", sizes, c.sizes)
			}
		})
	}
}

func TestContiguous(t *testing.T) {
	w, _ := small()
	at := func(first int64) *trace.Window {
		next := *w
		next.FirstStep = first
		return &next
	}
	var lengths []string
	for _, x := range Contiguous([]*trace.Window{at(7), at(10), at(13), at(20)}) {
		lengths = append(lengths, fmt.Sprint(x.FirstStep, "+", x.Steps(), " ", len(x.Wall)))
	}
	if want := []string{"7+9 18", "20+3 6"}; !slices.Equal(lengths, want) || w.Steps() != 3 {
		t.Errorf("%q, want %q", lengths, want)
	}
}
