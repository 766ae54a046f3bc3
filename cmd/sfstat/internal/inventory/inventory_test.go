package inventory

import (
	"slices"
	"testing"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

func ranks(t *testing.T, ids ...int) []trace.Rank {
	t.Helper()
	var out []trace.Rank
	for _, id := range ids {
		role, err := trace.NewRole(trace.Coord{Axis: "dp", Index: id}, trace.Coord{Axis: "pp", Index: id % 2})
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, trace.Rank{ID: id, Host: "n" + string(rune('0'+id/2)), Role: role})
	}
	return out
}

func TestRunIsSummedOverItsWindows(t *testing.T) {
	first := &trace.Window{Run: "a", FirstStep: 10, WorldSize: 4, Schema: trace.Schema{Stages: []string{"x_cpu_wall", "y"}},
		Ranks: ranks(t, 0, 1, 2, 3), Durations: []int64{1, 1, 1, 1, 2, 2, 2, 2}, Wall: []int64{4, 4, 4, 4},
		Side: []trace.SideChannel{{Name: "x_cuda_event_ms", Samples: []trace.Sample{{Step: 10, Ready: true}, {Step: 10, Rank: 1}}}}}
	second := &trace.Window{Run: "a", FirstStep: 4, WorldSize: 4, Schema: trace.Schema{Stages: []string{"z"}},
		Ranks: ranks(t, 0, 3), Durations: []int64{5, 5, 5, 5}, Accumulation: 4,
		Notes: []input.Note{{Kind: input.NoteMissingRanks, Text: "two are missing"}}, GatherFailed: []int{3}}
	var inv Inventory
	for _, w := range []*trace.Window{first, second, {Run: "b", WorldSize: 1, Schema: second.Schema, Ranks: ranks(t, 0), Durations: []int64{7}}} {
		inv.Add(w)
	}
	inv.Finish()
	if len(inv.Runs) != 2 || inv.Runs[0].Run != "a" || inv.Runs[1].Run != "b" {
		t.Fatalf("runs %+v", inv.Runs)
	}
	r := inv.Runs[0]
	if r.Windows != 2 || r.Steps != 3 || r.FirstStep != 4 || r.LastStep != 10 {
		t.Errorf("sums: %+v", r)
	}
	if r.Reporting != [2]int{2, 4} || r.Missing != "1-2" || r.Hosts != 2 || r.Wall != 1 {
		t.Errorf("ranks: %+v", r)
	}
	if want := []Group{{"pp=0", "0,2"}, {"pp=1", "1,3"}}; !slices.Equal(r.Groups, want) {
		t.Errorf("groups %v, expected %v", r.Groups, want)
	}
	if len(r.StageLists) != 2 || r.StageLists[0].Hash != first.Schema.Hash() || r.StageLists[1].Windows != 1 {
		t.Errorf("stage lists %+v", r.StageLists)
	}
	if c := r.Side[0]; c.Samples != 2 || c.Ready != 1 || !slices.Equal(c.Times, []string{"x_cpu_wall"}) {
		t.Errorf("side channel %+v", c)
	}
	if n := r.Notes; len(n) != 1 || n[0].Kind != "missing_ranks" || n[0].Windows != 1 {
		t.Errorf("notes %+v", n)
	}
}

// TestMissingStepsAreSummed: the steps that ranks did not report are those of all windows.
func TestMissingStepsAreSummed(t *testing.T) {
	var inv Inventory
	first := int64(0)
	for _, lacking := range []bool{false, true, false, true} {
		w := &trace.Window{Run: "a", FirstStep: first, WorldSize: 2, Schema: trace.Schema{Stages: []string{"x"}}, Ranks: ranks(t, 0, 1), Durations: []int64{1, 1, 1, 1}}
		if lacking {
			w.Ranks, w.Durations = ranks(t, 0), []int64{1, 1, 1}
			w.NoteMissing()
		}
		first += int64(w.Steps())
		inv.Add(w)
	}
	inv.Finish()
	if n := inv.Runs[0].Notes; len(n) != 1 || n[0].Windows != 2 || n[0].Text != "of 10 steps rank 1 did not report 6" {
		t.Errorf("notes %+v", n)
	}
}
