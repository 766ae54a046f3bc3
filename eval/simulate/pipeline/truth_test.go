package pipeline

import (
	"encoding/json"
	"fmt"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTruth: every kind of fault, sizes and deviations counted by hand:
// a forward pass is 217.5 ± 1.6 %, 3.48 ms; backward 382 ± 2.4 %, 9.168 ms.
func TestTruth(t *testing.T) {
	tests := []struct {
		fault   Fault
		want    []string // operator, number, count, extra, deviations
		workers []Worker
		steps   string
	}{
		{Fault{Kind: SlowWorker, Where: Where{DP: new(1), PP: new(2)}, Size: Size{Factor: 1.5}},
			[]string{"forward-compute all 32 108750000 31.25", "backward-compute all 32 191000000 20.8333"}, []Worker{{9, 1, 2}}, "[{100 139 40}]"},
		{Fault{Kind: SlowOp, Where: Where{DP: new(0), PP: new(3), Seq: new(7)}, Size: Size{Sigma: 5}, When: When{From: 4, Every: 10}},
			[]string{"backward-compute 7 1 45840000 5"}, []Worker{{12, 0, 3}}, "[{104 104 1} {114 114 1} {124 124 1} {134 134 1}]"},
		{Fault{Kind: SlowStage, Where: Where{PP: new(3), Op: "forward-compute"}, Size: Size{Delay: 34.8}},
			[]string{"forward-compute all 32 34800000 10"}, []Worker{{12, 0, 3}, {13, 1, 3}, {14, 2, 3}, {15, 3, 3}}, "[{100 139 40}]"},
		{Fault{Kind: SlowEdge, Where: Where{DP: new(2), PP: new(3), Op: "backward-send", Seq: new(5)}, Size: Size{Factor: 3}},
			[]string{"backward-send 5 1 2300000 15.3846", "backward-recv 5 1 2300000 15.3846"}, []Worker{{14, 2, 3}, {10, 2, 2}}, "[{100 139 40}]"},
		{Fault{Kind: Workload, Size: Size{Factor: 1.2}},
			[]string{"forward-compute all 32 43500000 12.5", "backward-compute all 32 76400000 8.33333"}, nil, "[{100 139 40}]"},
		{Fault{Kind: LateStart, Where: Where{DP: new(0), PP: new(0), Op: "gc"}, Size: Size{Delay: 90}, When: When{Until: 1}},
			[]string{"gc 0 1 90000000 112500"}, []Worker{{0, 0, 0}}, "[{100 100 1}]"},
		{Fault{Kind: SlowGroup, Where: Where{PP: new(1)}, Size: Size{Delay: 428}},
			[]string{"grads-reduce-scatter all 1 428000000 100"}, []Worker{{4, 0, 1}, {5, 1, 1}, {6, 2, 1}, {7, 3, 1}}, "[{100 139 40}]"},
	}
	for _, test := range tests {
		s := DefaultSpec()
		s.Steps.First = 100
		s.Faults = []Fault{test.fault}
		g, err := newGenerator(s)
		if err != nil {
			t.Fatal(err)
		}
		f := g.spec.truth(g.program).Faults[0]
		var ops []string
		for _, op := range f.Ops {
			seq := "all"
			if op.Seq != nil {
				seq = strconv.Itoa(*op.Seq)
			}
			ops = append(ops, fmt.Sprintf("%s %s %d %d %.6g", op.Op, seq, op.Count, op.Extra, *op.Sigma))
		}
		if diff := cmp.Diff(test.want, ops); diff != "" {
			t.Errorf("%v: operators (-want +got):\n%s", test.fault.Kind, diff)
		}
		if diff := cmp.Diff(test.workers, f.Workers); diff != "" && test.workers != nil || test.workers == nil && len(f.Workers) != 16 {
			t.Errorf("%v: workers (-want +got):\n%s", test.fault.Kind, diff)
		}
		if got := fmt.Sprint(f.Steps); got != test.steps || f.Intermittent != (test.fault.Every > 1) {
			t.Errorf("%v: steps %s, intermittent %v, want %s", test.fault.Kind, got, f.Intermittent, test.steps)
		}
	}
}

// TestTruthOfParts: a bucket is a part of its collective, a heavy stage has
// more to do, and what has no jitter has no deviations. The first transfer
// back to stage 0 with two chunks is its third receive.
func TestTruthOfParts(t *testing.T) {
	s := DefaultSpec()
	s.Layout = Layout{DP: 2, PP: 2, TP: 1, Chunks: 2, Microbatches: 2, Buckets: 4}
	s.StageWork = []float64{1, 2}
	s.Ops.Reduce.Jitter = 0
	s.Faults = []Fault{
		{Kind: SlowGroup, Where: Where{PP: new(1)}, Size: Size{Factor: 2}},
		{Kind: SlowWorker, Where: Where{DP: new(0), PP: new(1), Op: "forward-compute"}, Size: Size{Factor: 2}},
		{Kind: SlowEdge, Where: Where{DP: new(1), PP: new(1), Seq: new(0)}, Size: Size{Delay: 1}},
	}
	g, err := newGenerator(s)
	if err != nil {
		t.Fatal(err)
	}
	f := g.spec.truth(g.program).Faults
	if got := f[0].Ops[0]; got.Count != 8 || got.Extra != 214*ms/4 || got.Sigma != nil {
		t.Errorf("buckets: %+v, want 8 of 53.5 ms without deviations", got)
	}
	if got := f[1].Ops[0]; got.Count != 4 || got.Extra != 435*ms || *got.Sigma != 1/0.016 {
		t.Errorf("passes: %d of %d ns, %v deviations, want 4 of 435 ms, 62.5", got.Count, got.Extra, *got.Sigma)
	}
	if got := f[2].Ops[1]; got.Op != "forward-recv" || *got.Seq != 2 || f[2].Workers[1] != (Worker{1, 1, 0}) {
		t.Errorf("the other end is %s %d of %+v, want forward-recv 2 of rank 1", got.Op, *got.Seq, f[2].Workers[1])
	}
}

// TestTruthReadsBack: the JSON form loses nothing.
func TestTruthReadsBack(t *testing.T) {
	g, err := newGenerator(busy(layout(3, 4, 9)))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(g.spec.truth(g.program))
	if err != nil {
		t.Fatal(err)
	}
	var back Truth
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(g.spec.truth(g.program), back); diff != "" {
		t.Errorf("(-truth +read back):\n%s", diff)
	}
}
