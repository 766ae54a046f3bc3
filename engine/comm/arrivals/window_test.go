package arrivals

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// windowsOf are windows of ten steps on three ranks. In backward each enters one
// collective a step that all wait in, after work of 70 ms; rank 1 after 100 ms.
func windowsOf(count int) (out []*trace.Window) {
	rng := rand.New(rand.NewPCG(1, 1))
	release := int64(0)
	for n := range count {
		first := int64(10 * n)
		w := &trace.Window{Run: "job", FirstStep: first, WorldSize: 3, Schema: trace.Schema{Stages: []string{"data", "backward"}},
			Durations: slices.Repeat([]int64{50 * ms}, 10*2*3)}
		for r := range 3 {
			w.Ranks = append(w.Ranks, trace.Rank{ID: r, Host: "n0"})
			w.Arrivals = append(w.Arrivals, &comms.Record{Sources: []comms.Source{{Kind: comms.SourcePacket}},
				Processes: []comms.Process{{Rank: r, Host: "n0"}}, Groups: []comms.Group{{Name: "0", Size: 3, Members: []int{0, 1, 2}}},
				Stacks: [][]comms.Frame{{{File: "train.py", Line: 66}}}})
		}
		for step := first; step < first+10; step++ {
			last := release
			for r, c := range w.Arrivals {
				x := comms.UnknownCall(0)
				x.Group, x.Op, x.Name, x.Seq, x.Step, x.Stage, x.Stack = 0, nccl.AllReduce, "gloo:all_reduce", step+1, step, "backward", 0
				x.Enter, x.HasEnter = release+70*ms+int64(ms*rng.Float64()), true
				if r == 1 {
					x.Enter += 30 * ms
				}
				last = max(last, x.Enter)
				c.Calls = append(c.Calls, x)
			}
			release = last
		}
		out = append(out, w)
	}
	return out
}

// What a recorder wrote window by window is one record, and its stages count.
func TestArrivalsOfWindows(t *testing.T) {
	var j Job
	for _, w := range windowsOf(4) {
		j.AddWindow(w)
	}
	r := j.Analyze(Options{})
	if r.Calls != 120 || len(r.Late) != 1 {
		t.Fatalf("%d calls and %d late ranks, want 120 and 1", r.Calls, len(r.Late))
	}
	late := r.Late[0]
	at := r.Places[late.Entered.Place]
	if late.Rank() != 1 || !slices.Equal(late.Hosts, []string{"n0"}) || at.Stage != "backward" || at.Line.Line != 66 {
		t.Errorf("rank %d of %s in %s at %+v", late.Rank(), late.Hosts, at.Stage, at.Line)
	}
}

// Windows that end apart say nothing of what their ranks did next.
func TestWindowsDoNotHang(t *testing.T) {
	var j Job
	for _, w := range windowsOf(4) {
		last := w.Arrivals[2]
		if w.FirstStep == 30 {
			last.Calls = last.Calls[:len(last.Calls)-3]
		}
		j.AddWindow(w)
	}
	if r := j.Analyze(Options{}); r.Hang != nil {
		t.Errorf("a hang in %+v", r.Hang.Groups)
	}
}

// TestRestOfAWindow: the rest of a window, whose beginning is not recorded by itself, goes on where the steps before it
// end: by the wall time, or the stages; what begins later does not.
func TestRestOfAWindow(t *testing.T) {
	for _, c := range []struct {
		wall        bool
		first, want int64
	}{{true, 3, 1260}, {false, 3, 1200}, {true, 4, 0}} {
		l := timeline{stages: []string{"a", "b"}}
		w := &trace.Window{WorldSize: 1, FirstStep: 1, Schema: trace.Schema{Stages: l.stages}, Ranks: []trace.Rank{{ID: 0}}, Durations: []int64{40, 60, 30, 70}, Epochs: []int64{1000}}
		rest := &trace.Window{WorldSize: 1, FirstStep: c.first, Schema: w.Schema, Ranks: w.Ranks, Durations: []int64{10, 20}}
		if c.wall {
			w.Wall, rest.Wall = []int64{130, 130}, []int64{50}
		}
		l.add(w, 0)
		if l.add(rest, 0); len(l.began) != 3 || l.began[2] != c.want {
			t.Errorf("%+v: began at %v", c, l.began)
		}
	}
}

// TestTimelineHasWall: of windows some of which have wall times the timeline of a rank has these, whichever comes first, and all where none has.
func TestTimelineHasWall(t *testing.T) {
	window := func(first int64, wall []int64) *trace.Window {
		return &trace.Window{FirstStep: first, Schema: trace.Schema{Stages: []string{"a"}}, Ranks: []trace.Rank{{ID: 0}}, Durations: []int64{5}, Wall: wall, Epochs: []int64{1000 * first}}
	}
	for name, c := range map[string]struct {
		walls [][]int64 // of windows of a step
		steps []int64
	}{
		"all":              {[][]int64{{7}, {7}}, []int64{1, 2}},
		"none":             {[][]int64{nil, nil}, []int64{1, 2}},
		"not the first":    {[][]int64{nil, {7}, {7}}, []int64{2, 3}},
		"not one between":  {[][]int64{{7}, nil, {7}}, []int64{1, 3}},
		"not two at first": {[][]int64{nil, nil, {7}, nil}, []int64{3}},
	} {
		var l timelines
		for i, wall := range c.walls {
			l.add(window(int64(i+1), wall))
		}
		if got := l.list[0]; !slices.Equal(got.steps, c.steps) || len(got.durations) != len(c.steps) || len(got.began) != len(c.steps) || got.wall != nil && len(got.wall) != len(c.steps) {
			t.Errorf("%s: %+v, want steps %v", name, got, c.steps)
		}
	}
}
