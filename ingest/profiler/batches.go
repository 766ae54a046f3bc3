package profiler

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/trace/nccl"
)

// longestBatch is how long before a kernel is launched its messages are called
// at most, ns.
const longestBatch = 10_000_000

// adopt gives kernels that carry several messages those that were called, as a
// batch, before they were launched and led to no kernel of their own.
func (b *Builder) adopt(r *record) {
	kernels := r.Processes[0].Kernels
	var batches []int // calls that stand for such kernels
	for i := range r.Calls {
		if c := &r.Calls[i]; c.Op == nccl.SendRecv && c.Peer < 0 {
			batches = append(batches, i)
		}
	}
	slices.SortStableFunc(batches, func(x, y int) int { return cmp.Compare(kernels[x].Launch, kernels[y].Launch) })
	next := 0
	for _, at := range batches {
		launch := kernels[at].Launch
		for ; next < len(b.calls) && b.calls[next].Start <= launch; next++ {
			c := &b.calls[next]
			if c.used || c.Peer < 0 || c.End < launch-longestBatch || c.Op != nccl.Send && c.Op != nccl.Recv {
				continue
			}
			c.used = true
			of := r.Groups[r.Calls[at].Group]
			if of.Name == "" && of.Members == nil || of.Name == c.Group {
				r.add(c).Kernel = at
				r.Calls[at].Group = r.Calls[len(r.Calls)-1].Group
			}
		}
	}
}
