package comm

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/trace/nccl"
)

// By hand from fixtures/comm/make: two groups of two for tensors, eight calls a step; two for gradients, two calls a step.
func TestStrategy(t *testing.T) {
	got := analyze(t, fixture(t, logFiles, exportFiles), Options{}).Strategy()
	want := []Dimension{{Kind: TensorParallel, Ranks: 2, Groups: 2, Steps: 3, Ops: []OpCount{{nccl.AllReduce, 24}}},
		{Kind: DataParallel, Ranks: 2, Groups: 2, Steps: 3, Ops: []OpCount{{nccl.AllReduce, 6}}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want −, got +:\n%s", diff)
	}
}

func TestVariant(t *testing.T) {
	for name, c := range map[string]struct {
		kind Kind
		ops  map[nccl.Op]int
		want Variant
	}{
		"gradients":          {DataParallel, map[nccl.Op]int{nccl.AllReduce: 4}, PlainVariant},
		"gradients in parts": {DataParallel, map[nccl.Op]int{nccl.ReduceScatter: 4, nccl.AllGather: 4}, ShardedOptimizer},
		"parameters too":     {DataParallel, map[nccl.Op]int{nccl.ReduceScatter: 4, nccl.AllGather: 8}, ShardedAll},
		"activations":        {TensorParallel, map[nccl.Op]int{nccl.AllReduce: 8}, PlainVariant},
		"sequences":          {TensorParallel, map[nccl.Op]int{nccl.ReduceScatter: 4, nccl.AllGather: 6, nccl.AllReduce: 1}, SplitSequences},
		"messages":           {PipelineParallel, map[nccl.Op]int{nccl.Send: 4, nccl.Recv: 4}, PlainVariant},
	} {
		if got := (&Communicator{Kind: c.kind, Signature: Signature{LargeOps: c.ops}}).variant(); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// By hand from fixtures/comm/make: on rings of two each rank sends what it reduces to the other: 24 calls of 2 MiB and, three times, 24 and 20 MiB;
// 4 bytes on a ring of four are 6 to the next, three times.
func TestMatrix(t *testing.T) {
	sent, unplaced := analyze(t, fixture(t, logFiles, nil), Options{}).Matrix()
	want := map[string]float64{}
	for from := range 4 {
		want[fmt.Sprint(from, from^1)] += 48 << 20
		want[fmt.Sprint(from, from^2)] += 132 << 20
		want[fmt.Sprint(from, (from+1)%4)] += 18
	}
	got := map[string]float64{}
	for _, x := range sent {
		got[fmt.Sprint(x.From, x.To)] += x.Bytes
		if x.Route != OnRing {
			t.Errorf("%+v", x)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || unplaced != 0 {
		t.Errorf("%v unplaced; want −, got +:\n%s", unplaced, diff)
	}
	// A tree of five: every rank sends all of it to its parent and to each child, eight times in all.
	m := matrix{r: &Result{Communicators: []Communicator{{NRanks: 5}}}, members: []map[int]int{{0: 0, 1: 1, 2: 2, 3: 3, 4: 4}}, at: map[Sent]int{}}
	for me := range 5 {
		m.tree(me, 0, me, 10)
	}
	if len(m.list) != 8 {
		t.Errorf("%+v", m.list)
	}
}
