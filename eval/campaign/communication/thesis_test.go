package communication

import (
	"math"
	"testing"

	"github.com/sfstat/sfstat/engine/comm/volume"
	"github.com/sfstat/sfstat/trace/nccl"
)

// The theory column of the thesis, to the last digit, in units of 10⁹ bytes; in those of 2³⁰ no row comes out.
func TestTable51(t *testing.T) {
	for _, row := range published().Theory {
		got := row.Model.ThesisBytes(row.Stage)
		if math.Abs(got/1e9-row.Theory) > 0.005 {
			t.Errorf("%s: %.4f GB, published %.2f", row.Row, got/1e9, row.Theory)
		}
		if math.Abs(got/(1<<30)-row.Theory) < 0.005 {
			t.Errorf("%s: %.4f GiB is the published value too", row.Row, got/(1<<30))
		}
		var logged, sent float64
		for _, f := range row.Model.Flows(row.Stage, volume.SendsAndReceives) {
			logged, sent = logged+f.Logged, sent+f.Sent
		}
		t.Logf("%s: thesis's formula %.4f GB (published %.2f, observed %.2f); ours: %.2f GB logged, %.2f GB sent",
			row.Row, got/1e9, row.Theory, row.Observed, logged/1e9, sent/1e9)
	}
}

// TestChapter5: where the operation is all the model's, the bytes are those published, to the digit (of DP=4 but for small
// calls, which have 0.01 with a sharded optimizer); the thesis's counts of
// messages between experts and of reduced gradients are the model's too.
func TestChapter5(t *testing.T) {
	counted := map[string]map[nccl.Op]observed{}
	for _, l := range published().Layouts {
		counted[l.Name] = map[nccl.Op]observed{}
		calls := 0.0
		for _, o := range l.Operations {
			counted[l.Name][o.op()] = o
			calls += o.CallsPercent
		}
		if math.Abs(calls-100) > 0.6 {
			t.Errorf("%s: shares of calls add up to %v", l.Name, calls)
		}
	}
	for _, l := range published().Layouts {
		job := l.Model.Job()
		for _, c := range []struct {
			name string
			op   nccl.Op
		}{{"DP=4", nccl.AllReduce}, {"DP=4, sharded optimizer", nccl.ReduceScatter}, {"PP=4", nccl.Send}, {"PP=4, 2 virtual stages", nccl.Send}} {
			if got := job[c.op].Logged / observedGB; c.name == l.Name && math.Abs(got-counted[c.name][c.op].GB) > 0.007 {
				t.Errorf("%s, %v: %.3f, published %v", c.name, c.op, got, counted[c.name][c.op].GB)
			}
		}
		if l.Name == "EP=4, all-to-all" && job[nccl.Send].Calls != 7680 || l.Name == "DP=4, sharded optimizer" && job[nccl.ReduceScatter].Calls != 40 {
			t.Errorf("%s: %+v", l.Name, job)
		}
	}
}
