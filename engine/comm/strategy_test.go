package comm

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/engine/comm/parallel"
	"github.com/sfstat/sfstat/fixtures/comm/commtest"
	"github.com/sfstat/sfstat/trace/nccl"
)

// By hand from fixtures/comm/make: two groups of two for tensors, eight calls a step; two for gradients, two calls a step.
func TestStrategy(t *testing.T) {
	got := Strategy(commtest.Analyze(t, Analyze, commtest.Job(t, commtest.Logs, commtest.Exports)))
	want := []Dimension{{Kind: parallel.TensorParallel, Ranks: 2, Groups: 2, Steps: 3, Ops: []OpCount{{nccl.AllReduce, 24}}},
		{Kind: parallel.DataParallel, Ranks: 2, Groups: 2, Steps: 3, Ops: []OpCount{{nccl.AllReduce, 6}}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want −, got +:\n%s", diff)
	}
}

func TestVariant(t *testing.T) {
	for name, c := range map[string]struct {
		kind parallel.Kind
		ops  map[nccl.Op]int
		want Variant
	}{
		"gradients":          {parallel.DataParallel, map[nccl.Op]int{nccl.AllReduce: 4}, PlainVariant},
		"gradients in parts": {parallel.DataParallel, map[nccl.Op]int{nccl.ReduceScatter: 4, nccl.AllGather: 4}, ShardedOptimizer},
		"parameters too":     {parallel.DataParallel, map[nccl.Op]int{nccl.ReduceScatter: 4, nccl.AllGather: 8}, ShardedAll},
		"activations":        {parallel.TensorParallel, map[nccl.Op]int{nccl.AllReduce: 8}, PlainVariant},
		"sequences":          {parallel.TensorParallel, map[nccl.Op]int{nccl.ReduceScatter: 4, nccl.AllGather: 6, nccl.AllReduce: 1}, SplitSequences},
		"messages":           {parallel.PipelineParallel, map[nccl.Op]int{nccl.Send: 4, nccl.Recv: 4}, PlainVariant},
	} {
		if got := variantOf(&parallel.Communicator{Kind: c.kind, Signature: parallel.Signature{LargeOps: c.ops}}); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
