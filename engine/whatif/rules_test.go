package whatif

import (
	"slices"
	"testing"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/operator"
)

// The worst 3 % are rounded up; ties go to the lower rank.
func TestTopRanks(t *testing.T) {
	workers := make([]Worker, 34)
	for i := range workers {
		workers[i] = Worker{Rank: 40 - i, Score: 1}
	}
	workers[20].Score = 1.5
	if got, want := topRanks(workers), []int{20, 7}; !slices.Equal(got, want) { // 1.02 workers
		t.Errorf("the worst are %v, expected %v", got, want)
	}
	if got, want := topRanks(workers[:1]), []int{40}; !slices.Equal(got, want) {
		t.Errorf("of one worker, %v", got)
	}
	if got := topRanks(make([]Worker, 100)); len(got) != 3 { // exactly 3, whatever 0.03·100 is in binary
		t.Errorf("%d of 100 workers", len(got))
	}
}

func TestBeginsStep(t *testing.T) {
	for _, c := range []struct {
		n    Node
		want bool
	}{
		{Node{Op: "forward-compute"}, true},
		{Node{Op: "forward-compute", Seq: 1}, false},
		{Node{Op: "forward-compute", Stage: 1}, false},
		{Node{Op: "forward-recv", Stage: 1}, true},
		{Node{Op: "forward-recv", Stage: 1, Seq: 10}, false},
		{Node{Op: "forward-recv"}, false},
		{Node{Op: "params-all-gather"}, false},
	} {
		if got := c.n.beginsStep(); got != c.want {
			t.Errorf("%v: %v", c.n, got)
		}
	}
}

// Of several gatherings of a chunk the last comes before the first forward
// pass of the chunk; of several reductions the first comes after its last
// backward pass. All run one after the other.
func TestReplicaStream(t *testing.T) {
	names := []string{"params-all-gather", "forward-compute", "backward-compute", "grads-reduce-scatter", "gc", "layernorm-grads-all-reduce",
		"embedding-grads-all-reduce", "separate-grads-all-reduce", "optimizer-clip-main-grad", "optimizer"}
	o := &operator.Trace{Names: names, Steps: []int64{0}, Ranks: []trace.Rank{{Role: trace.Role{{Axis: "dp"}, {Axis: "pp"}}}}}
	at := int64(0)
	add := func(name, seq, chunk int32) {
		o.Rank, o.Step, o.Name, o.Seq = append(o.Rank, 0), append(o.Step, 0), append(o.Name, name), append(o.Seq, seq)
		o.Lane, o.Chunk, o.GlobalChunk = append(o.Lane, 0), append(o.Chunk, chunk), append(o.GlobalChunk, chunk)
		o.Microbatch, o.Group = append(o.Microbatch, -1), append(o.Group, -1)
		o.Start, o.Dur = append(o.Start, at), append(o.Dur, 10)
		at += 10
	}
	for seq, chunk := range []int32{0, 1, 0, 1} {
		add(0, int32(seq), chunk)
	}
	for seq, chunk := range []int32{0, 0, 1, 1} {
		add(1, int32(seq), chunk)
	}
	for seq, chunk := range []int32{1, 1, 0, 0} {
		add(2, int32(seq), chunk)
	}
	for seq, chunk := range []int32{1, 0, 1, 0} {
		add(3, int32(seq), chunk)
	}
	for name := range int32(6) {
		add(4+name, 0, -1)
	}
	if err := o.Arrange(nil); err != nil {
		t.Fatal(err)
	}
	g, err := o.Grid()
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSchedule(o, g, RefuseMissing)
	if err != nil {
		t.Fatal(err)
	}
	after := make(map[string][]string)
	for _, n := range s.graph.Nodes {
		for _, u := range n.After {
			after[n.String()] = append(after[n.String()], s.graph.Nodes[u].String())
		}
	}
	for node, want := range map[string][]string{
		"params-all-gather 0":          nil,
		"params-all-gather 3":          {"params-all-gather 2"},
		"forward-compute 0":            {"params-all-gather 2"},
		"forward-compute 1":            {"forward-compute 0"},
		"forward-compute 2":            {"forward-compute 1", "params-all-gather 3"},
		"backward-compute 0":           {"forward-compute 3"},
		"grads-reduce-scatter 0":       {"params-all-gather 3", "backward-compute 1"},
		"grads-reduce-scatter 1":       {"grads-reduce-scatter 0", "backward-compute 3"},
		"grads-reduce-scatter 2":       {"grads-reduce-scatter 1"},
		"gc 0":                         {"backward-compute 3"},
		"layernorm-grads-all-reduce 0": {"gc 0", "grads-reduce-scatter 3"},
		"embedding-grads-all-reduce 0": {"layernorm-grads-all-reduce 0"},
		"separate-grads-all-reduce 0":  {"embedding-grads-all-reduce 0"},
		"optimizer-clip-main-grad 0":   {"separate-grads-all-reduce 0"},
		"optimizer 0":                  {"optimizer-clip-main-grad 0"},
	} {
		var words []string
		for _, w := range want {
			words = append(words, w+" of stage 0")
		}
		if got := after[node+" of stage 0"]; !slices.Equal(got, words) {
			t.Errorf("%s waits for %v, expected %v", node, got, words)
		}
	}
}
