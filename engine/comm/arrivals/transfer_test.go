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
