package inventory

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
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

func TestNeedsOfTraces(t *testing.T) {
	cases := []struct {
		name string
		less func(*operator.Trace)
		want string
	}{
		{"one worker", func(o *operator.Trace) { o.Ranks = o.Ranks[:1] }, "one worker recorded"},
		{"missing workers", func(o *operator.Trace) { o.Ranks = slices.Delete(o.Ranks, 1, 3) }, "workers are missing: dp=0,pp=1 dp=1,pp=0"},
		{"many missing workers", func(o *operator.Trace) { o.Layout.DP = 9 }, "dp=5,pp=0 dp=5,pp=1 and 6 more"},
		{"not joined", func(o *operator.Trace) { o.Notes = []input.Note{{Kind: input.NoteUnjoined, Text: "x"}} }, "waiting cannot be told from work"},
		{"an unknown name", func(o *operator.Trace) { o.Names[3] = "attention" }, "no place in the schedule is known for attention"},
		{"one replica", func(o *operator.Trace) { o.Layout.DP = 1 }, "no two workers do the same work"},
		{"one step", func(o *operator.Trace) { o.Steps = o.Steps[:1] }, "one step"},
		{"no microbatches", func(o *operator.Trace) {
			for i := range o.Microbatch {
				o.Microbatch[i] = -1
			}
		}, "do not tell their microbatch"},
		{"step clock", func(o *operator.Trace) { o.StepClock = true }, "its own zero"},
		{"coarse times", func(o *operator.Trace) { o.Resolution = 3815 }, "good to 3815 ns"},
		{"two axes within", func(o *operator.Trace) { o.Layout.DSP = 2 }, "8 ranks are recorded as one worker"},
	}
	all := func(o *Trace) string {
		var lines []string
		for _, n := range o.Needs {
			lines = append(lines, n.Lacks)
		}
		return strings.Join(lines, "\n")
	}
	whole := all(summed(opTrace(t)))
	for _, c := range cases {
		o := opTrace(t)
		c.less(o)
		if got := all(summed(o)); !strings.Contains(got, c.want) || strings.Contains(whole, c.want) {
			t.Errorf("%s: %q, expected %q, which a complete trace does not lack: %q", c.name, got, c.want, whole)
		}
	}
}
