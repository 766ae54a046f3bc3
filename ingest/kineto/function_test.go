package kineto

import (
	"fmt"
	"strings"
	"testing"
)

func TestFunctionNames(t *testing.T) {
	for _, tt := range []struct{ name, args, want string }{
		{"train.py(19): lose_time", `{}`, "lose_time at train.py:19"},
		{"a (copy)/train.py(19): <lambda>", `{}`, "<lambda> at a (copy)/train.py:19"},
		{"<built-in function sleep>", `{"CallFrom": "train.py:21", "Ev Idx": 3}`, "sleep at train.py:21"},
		{"<built-in method run_backward of torch._C._EngineBase object at 0x7f>", `{"CallFrom":"torch/autograd/graph.py:1104"}`, "run_backward at torch/autograd/graph.py:1104"},
		{"<built-in function sleep>", `{"Ev Idx": 3}`, ""},
		{"<built-in function sleep>", `{"CallFrom":`, ""},
		{"<built-in function sleep>", `{"CallFrom": 3}`, ""},
		{"nn.Module: Linear_0", `{}`, "nn.Module: Linear_0"},
		{"", `{}`, ""},
	} {
		if got := string(appendFunction(nil, []byte(tt.name), []byte(tt.args))); got != tt.want {
			t.Errorf("%s %s: %q, want %q", tt.name, tt.args, got, tt.want)
		}
	}
}

// TestFunctions: each nanosecond of a step belongs to the innermost function, calls
// under 10 µs and those of other threads apart, in the stage that the host is in.
func TestFunctions(t *testing.T) {
	call := func(name, from string, tid int, ts, dur int64) string {
		return fmt.Sprintf(`{"ph":"X","cat":"python_function","name":"%s","pid":7,"tid":%d,"ts":%d,"dur":%d,"args":{"CallFrom":"%s"}}`, name, tid, ts, dur, from)
	}
	r := must(t, doc(
		x("user_annotation", "ProfilerStep#4", 1000, 1000), x("user_annotation", "forward", 1000, 400), x("user_annotation", "backward", 1500, 500),
		call("t.py(1): main", "", 7, 1000, 1000),
		call("t.py(9): work", "t.py:3", 7, 1100, 200), call("<built-in function sleep>", "t.py:10", 7, 1150, 100), call("t.py(30): tiny", "t.py:11", 7, 1260, 9),
		call("<built-in function sleep>", "t.py:20", 7, 1350, 250), call("t.py(9): work", "x.py:1", 8, 1100, 200)))
	got := map[string]int64{}
	for _, tally := range r.Tallies {
		stage := "-"
		if tally.Stage >= 0 {
			stage = strings.Split(r.Stages[tally.Stage], "_")[0]
		}
		got[r.Names[tally.Name]+" "+stage] = tally.Dur / 1000
	}
	want := map[string]int64{"main at t.py:1 model.fwd": 150, "work at t.py:9 model.fwd": 100, "sleep at t.py:10 model.fwd": 100,
		"sleep at t.py:20 model.fwd": 50, "sleep at t.py:20 -": 100, "sleep at t.py:20 model.backward": 100, "main at t.py:1 model.backward": 400}
	if !r.Functions || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("functions %v: %v, want %v", r.Functions, got, want)
	}
}
