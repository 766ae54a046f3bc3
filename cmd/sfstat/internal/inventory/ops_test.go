package inventory

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/operator"
)

// opTrace is two replicas of two stages that send forward once, in two steps
// that are five apart: workers 0 to 3 are (dp, pp) = (0, 0), (0, 1), (1, 0),
// (1, 1).
func opTrace(t *testing.T) *operator.Trace {
	t.Helper()
	o := &operator.Trace{Run: "a", Layout: operator.Layout{DP: 2, PP: 2, TP: 4, DSP: 1, VPP: 1, World: 16}, Steps: []int64{10, 15},
		Names: []string{"forward-send", "forward-compute", "forward-recv", "optimizer"}, Resolution: 1, Units: "nanoseconds"}
	for id := range 4 {
		role, err := trace.NewRole(trace.Coord{Axis: "dp", Index: id / 2}, trace.Coord{Axis: "pp", Index: id % 2})
		if err != nil {
			t.Fatal(err)
		}
		o.Ranks = append(o.Ranks, trace.Rank{ID: id, Role: role})
	}
	for step := range int32(2) {
		for rank := range int32(4) {
			for _, op := range [][]int32{{1, 100, -1}, {rank % 2 * 2, 7, step*2 + rank/2}, {3, 1, -1}} {
				o.Rank, o.Step, o.Name, o.Group = append(o.Rank, rank), append(o.Step, step), append(o.Name, op[0]), append(o.Group, op[2])
				o.Dur, o.Start = append(o.Dur, int64(op[1])), append(o.Start, 0)
				o.Microbatch = append(o.Microbatch, 0)
			}
		}
	}
	return o
}

func summed(o *operator.Trace) *Trace {
	var inv Inventory
	inv.AddTrace("trace-a.csv", o)
	return inv.Traces[0]
}

func TestTraceIsSummed(t *testing.T) {
	o := summed(opTrace(t))
	if o.Workers != 4 || o.Missing != "" || o.Steps != 2 || o.FirstStep != 10 || o.LastStep != 15 {
		t.Errorf("workers and steps: %+v", o)
	}
	if o.Operators != 24 || o.Groups != 4 || o.Joined != 8 {
		t.Errorf("operators: %+v", o)
	}
	want := []OpName{{"forward-compute", Compute, 8, 800}, {"forward-recv", Transfer, 4, 28}, {"forward-send", Transfer, 4, 28}, {"optimizer", Other, 8, 8}}
	if !slices.Equal(o.Names, want) {
		t.Errorf("names %v, expected %v", o.Names, want)
	}
	if b, err := json.Marshal(o.Names[0]); err != nil || string(b) != `{"name":"forward-compute","kind":"compute","count":8,"total_ns":800}` {
		t.Errorf("JSON %s, %v", b, err)
	}
}

func TestMissingWorkersAreNamed(t *testing.T) {
	o := opTrace(t)
	o.Ranks = slices.Delete(o.Ranks, 1, 3)
	if got, want := summed(o).Missing, "dp=0,pp=1 dp=1,pp=0"; got != want {
		t.Errorf("missing %q, expected %q", got, want)
	}
	o = opTrace(t)
	o.Layout.DP = 9
	if got, want := summed(o).Missing, "dp=5,pp=0 dp=5,pp=1 and 6 more"; !strings.HasSuffix(got, want) {
		t.Errorf("missing %q, expected %q at its end", got, want)
	}
}
