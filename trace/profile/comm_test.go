package profile

import (
	"slices"
	"testing"

	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// batch is a recording of one step with two kernels, of which the first ran two
// messages.
func batch(step int64) *Rank {
	r := &Rank{Steps: []Step{{Index: step, Start: 1000 * step, End: 1000*step + 999}}}
	r.Comm = comms.Record{Processes: make([]comms.Process, 1), Groups: make([]comms.Group, 1)}
	for i, c := range []comms.Call{{Op: nccl.SendRecv, KernelSure: true}, {Op: nccl.AllReduce, Kernel: 1, KernelSure: true}, {Op: nccl.Send}, {Op: nccl.Recv}} {
		c.Step = step
		r.Comm.Calls = append(r.Comm.Calls, c)
		if i < 2 {
			r.Comm.Processes[0].Kernels = append(r.Comm.Processes[0].Kernels, comms.Kernel{Start: 1000*step + 10, End: 1000*step + 20})
		}
	}
	return r
}

// TestBatches: messages belong to the kernel of their own recording, which moves
// once, and calls go with their steps.
func TestBatches(t *testing.T) {
	r := batch(3)
	r.Append(batch(7))
	if got, want := r.Pieces(), []int{0, 1, 0, 0, 4, 5, 4, 4}; !slices.Equal(got, want) {
		t.Errorf("pieces %v, want %v", got, want)
	}
	r.Renumber(1)
	r.ShiftCalls(100, func(step int64) bool { return step > 4 })
	for i, c := range r.Comm.Calls {
		step, start := int64(4), int64(3010)
		if i > 3 {
			step, start = 8, 7110
		}
		if at, end := r.Comm.Ran(i); c.Step != step || at != start || end != start+10 {
			t.Errorf("call %d of step %d ran from %d to %d, want step %d and a start at %d", i, c.Step, at, end, step, start)
		}
	}
}
