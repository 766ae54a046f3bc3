package profiler

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/trace/nccl"
	"github.com/sfstat/sfstat/trace/profile"
)

// ends reads the positions in the name of a transfer: "nccl:send 0->1",
// "nccl:recv 1<-0"; −1: it has none.
func ends(name string) (self, peer int) {
	for _, arrow := range [...]string{"->", "<-"} {
		before, after, found := strings.Cut(name, arrow)
		if !found {
			continue
		}
		self, errSelf := strconv.Atoi(before[strings.LastIndexByte(before, ' ')+1:])
		peer, errPeer := strconv.Atoi(strings.TrimSpace(after))
		if errSelf == nil && errPeer == nil && self >= 0 && peer >= 0 && self != peer {
			return self, peer
		}
	}
	return -1, -1
}

// longestBatch is how long before a kernel is launched its messages are called
// at most, ns.
const longestBatch = 10_000_000

// adopt gives kernels that carry several messages those that were called, as a
// batch, before they were launched and led to no kernel of their own.
func (b *Builder) adopt() {
	var kernels []*profile.Collective
	for i := range b.collectives {
		if c := &b.collectives[i]; c.OnDevice && c.Op == nccl.SendRecv && c.Peer < 0 {
			kernels = append(kernels, c)
		}
	}
	slices.SortStableFunc(kernels, func(x, y *profile.Collective) int { return cmp.Compare(x.Launch, y.Launch) })
	next := 0
	for _, k := range kernels {
		for ; next < len(b.calls.all) && b.calls.all[next].start <= k.Launch; next++ {
			short := &b.calls.all[next]
			c := b.calls.full(short)
			op := OperationOf(c.Name)
			if short.used || c.Peer < 0 || c.End < k.Launch-longestBatch || op != nccl.Send && op != nccl.Recv {
				continue
			}
			short.used = true
			if k.Group == "" && k.Ranks == nil || k.Group == c.Group {
				k.Group, k.Desc, k.Ranks, k.Size, k.Self = c.Group, c.Desc, c.Ranks, c.Size, c.Self
				k.Messages = append(k.Messages, profile.Message{Sends: op == nccl.Send, Peer: c.Peer})
			}
		}
	}
}
