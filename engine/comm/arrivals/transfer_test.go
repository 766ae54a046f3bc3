package arrivals

import (
	"math/rand/v2"
	"testing"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// transferring is a window of three ranks that read data for 20 ms, compute 50 ms
// in backward, and leave it when a transfer of so many ms after the last entry is
// done. Rank 1 enters late by 30 ms.
func transferring(transfer int64, epochs bool) *trace.Window {
	rng := rand.New(rand.NewPCG(1, 1))
	w := &trace.Window{Run: "job", WorldSize: 3, Schema: trace.Schema{Stages: []string{"data", "model.backward"}}}
	now := []int64{1e18, 1e18, 1e18}
	for r := range 3 {
		w.Ranks = append(w.Ranks, trace.Rank{ID: r, Host: "n0"})
		w.Arrivals = append(w.Arrivals, &comms.Record{Sources: []comms.Source{{Kind: comms.SourcePacket}},
			Processes: []comms.Process{{Rank: r, Host: "n0"}}, Groups: []comms.Group{{Name: "0", Size: 3, Members: []int{0, 1, 2}}}})
		if epochs {
			w.Epochs = append(w.Epochs, now[r])
		}
	}
	for step := range int64(20) {
		begin, last := [3]int64{}, int64(0)
		for r, c := range w.Arrivals {
			begin[r] = now[r] + 20*ms + int64(ms*rng.Float64())
			x := comms.UnknownCall(0)
			x.Group, x.Op, x.Name, x.Seq, x.Step, x.Stage = 0, nccl.AllReduce, "gloo:all_reduce", step+1, step, "model.backward"
			x.Enter, x.HasEnter = begin[r]+50*ms+int64(ms*rng.Float64()), true
			if r == 1 {
				x.Enter += 30 * ms
			}
			last = max(last, x.Enter)
			c.Calls = append(c.Calls, x)
		}
		end := last + transfer*ms
		for r := range 3 {
			w.Durations = append(w.Durations, begin[r]-now[r])
		}
		for r := range 3 {
			w.Durations = append(w.Durations, end-begin[r])
			now[r] = end
		}
	}
	return w
}

// What follows the last entry is known where packets say when steps began, and
// bounded by the entries where they do not.
func TestTransfers(t *testing.T) {
	for _, transfer := range []int64{0, 5, 40} {
		for _, epochs := range []bool{true, false} {
			var j Job
			j.AddWindow(transferring(transfer, epochs))
			got := j.Analyze(Options{}).Transfers
			if len(got) != 1 || got[0].Stage != "model.backward" {
				t.Fatalf("transfer of %d ms, epochs %v: %+v", transfer, epochs, got)
			}
			low, high := transfer*ms-ms/10, transfer*ms+ms/10
			if !epochs { // backward may begin with the call
				high = (transfer + 53) * ms
			}
			if got[0].Time < low || got[0].Time > high {
				t.Errorf("transfer of %d ms, epochs %v: %d, expected %d to %d", transfer, epochs, got[0].Time, low, high)
			}
		}
	}
}

// TestBound: what follows the last call of a stage is no transfer where a call in which the rank waits hands over as much in
// the same group, and is done sooner.
func TestBound(t *testing.T) {
	small, large := transfer{nccl.AllReduce, 0, 1}, transfer{nccl.AllReduce, 0, 8320}
	for name, c := range map[string]struct {
		last  transfer // of the other stage
		early int64    // of twenty steps
		steps int64
		want  int64
	}{
		"a larger call":            {large, 0, 20, 60},
		"the same":                 {small, 0, 20, 60},
		"a tenth left early":       {large, 2, 20, 60},
		"more left early":          {large, 3, 20, 620},
		"few steps":                {large, 0, 2, 620},
		"a smaller call":           {transfer{nccl.AllReduce, 0, 0}, 0, 20, 620},
		"another operation":        {transfer{nccl.AllGather, 0, 8320}, 0, 20, 620},
		"another group":            {transfer{nccl.AllReduce, 1, 8320}, 0, 20, 620},
		"a size that is not known": {transfer{nccl.AllReduce, 0, -1}, 0, 20, 620},
	} {
		tails := []ending{{sum: 620, wait: 620, steps: 20, last: []transfer{small}}, {sum: 3 * c.steps, steps: c.steps, early: c.early, last: []transfer{c.last}}, {}}
		if bound(tails); tails[0].sum != c.want || tails[0].wait != 620 {
			t.Errorf("%s: %d, want %d; of a wait %d", name, tails[0].sum, c.want, tails[0].wait)
		}
	}
	unknown := []ending{{sum: 620, steps: 20, last: []transfer{{nccl.AllReduce, 0, -1}}}, {sum: 60, steps: 20, last: []transfer{large}}}
	if bound(unknown); unknown[0].sum != 620 {
		t.Errorf("a call whose size is not known is bound: %d", unknown[0].sum)
	}
	var e ending
	for _, left := range []int64{5, -3, 7} {
		e.add(left, small)
	}
	if e.sum != 12 || e.wait != 12 || e.steps != 3 || e.early != 1 || len(e.last) != 1 {
		t.Errorf("%+v", e)
	}
}
