package pipeline

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTruthTable: every kind of fault, sizes and deviations counted by hand:
// a forward pass is 217.5 ± 1.6 %, 3.48 ms; backward 382 ± 2.4 %, 9.168 ms.
func TestTruthTable(t *testing.T) {
	tests := []struct {
		faults []Fault
		want   string
	}{
		{nil, "sim-none-dp4-pp4-s0,0,none,,,,,,,,,,,,\n"},
		{[]Fault{{Kind: SlowWorker, Where: Where{DP: new(1), PP: new(2)}, Size: Size{Factor: 1.5}}},
			"sim-slow-worker-dp4-pp4-s0,0,slow-worker,1,2,9,forward-compute,,32,108750000,31.25,100,139,40,0\n" +
				"sim-slow-worker-dp4-pp4-s0,0,slow-worker,1,2,9,backward-compute,,32,191000000,20.8333,100,139,40,0\n"},
		{[]Fault{{Kind: SlowOp, Where: Where{DP: new(0), PP: new(3), Seq: new(7)}, Size: Size{Sigma: 5}, When: When{From: 4, Every: 10}}},
			"sim-slow-op-dp4-pp4-s0,0,slow-op,0,3,12,backward-compute,7,1,45840000,5,104,134,4,1\n"},
		{[]Fault{{Kind: SlowStage, Where: Where{PP: new(3), Op: "forward-compute"}, Size: Size{Delay: 34.8}}},
			"sim-slow-stage-dp4-pp4-s0,0,slow-stage,,3,,forward-compute,,32,34800000,10,100,139,40,0\n"},
		{[]Fault{{Kind: SlowEdge, Where: Where{DP: new(2), PP: new(3), Op: "backward-send", Seq: new(5)}, Size: Size{Factor: 3}}},
			"sim-slow-edge-dp4-pp4-s0,0,slow-edge,2,3,14,backward-send,5,1,2300000,15.3846,100,139,40,0\n" +
				"sim-slow-edge-dp4-pp4-s0,0,slow-edge,2,2,10,backward-recv,5,1,2300000,15.3846,100,139,40,0\n"},
		{[]Fault{{Kind: Workload, Size: Size{Factor: 1.2}}, {Kind: LateStart, Where: Where{DP: new(0), PP: new(0), Op: "gc"}, Size: Size{Delay: 90}, When: When{Until: 1}}},
			"sim-workload-dp4-pp4-s0,0,workload,,,,forward-compute,,32,43500000,12.5,100,139,40,0\n" +
				"sim-workload-dp4-pp4-s0,0,workload,,,,backward-compute,,32,76400000,8.33333,100,139,40,0\n" +
				"sim-workload-dp4-pp4-s0,0,late-start,0,0,0,gc,0,1,90000000,112500,100,100,1,0\n"},
		{[]Fault{{Kind: SlowGroup, Where: Where{PP: new(1)}, Size: Size{Delay: 428}}},
			"sim-slow-group-dp4-pp4-s0,0,slow-group,,1,,grads-reduce-scatter,,1,428000000,100,100,139,40,0\n"},
	}
	const header = "run,seed,kind,dp,pp,rank,op,seq,count,extra_ns,sigma,first_step,last_step,steps,intermittent\n"
	for _, test := range tests {
		s := DefaultSpec()
		s.Steps.First = 100
		s.Faults = test.faults
		g, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := g.Truth().WriteCSV(&out); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(header+test.want, out.String()); diff != "" {
			t.Errorf("table (-want +got):\n%s", diff)
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
	g, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	f := g.Truth().Faults
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
	g, err := New(busy(layout(3, 4, 9)))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(g.Truth())
	if err != nil {
		t.Fatal(err)
	}
	var back Truth
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(g.Truth(), back); diff != "" {
		t.Errorf("(-truth +read back):\n%s", diff)
	}
}
