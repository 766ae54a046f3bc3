package profiler

import (
	"slices"

	"github.com/sfstat/sfstat/trace/nccl"
	"github.com/sfstat/sfstat/trace/profile"
)

// wrapper is the host range in which torch.distributed tells the arguments of
// a collective.
const wrapper = "record_param_comms"

// deviceCollective notes a collective that a piece of device work belongs to;
// −1 when there are too many.
func (b *Builder) deviceCollective(w Work) int32 {
	if b.onDevice.len() >= maxCollectives {
		b.lostCalls++
		return -1
	}
	c := profile.Collective{Name: b.names[w.Name], Seq: -1, Bytes: -1, Self: -1, Peer: -1, Step: -1, Stage: -1,
		Start: w.Start, End: w.End, OnDevice: true}
	if w.Call != nil {
		tell(&c, w.Call)
	}
	if c.Op == nccl.UnknownOp {
		c.Op = OperationOf(b.names[w.Name])
	}
	b.onDevice.add(c)
	return int32(b.onDevice.len() - 1)
}

// tell fills in what a call says and c does not.
func tell(c *profile.Collective, from *Call) {
	if op := OperationOf(from.Name); from.Name != wrapper && (c.Op == nccl.UnknownOp || c.Op == nccl.SendRecv && (op == nccl.Send || op == nccl.Recv)) {
		c.Op = op
	}
	if c.Group == "" {
		c.Group = from.Group
	}
	if c.Desc == "" {
		c.Desc = from.Desc
	}
	if c.Ranks == nil {
		c.Ranks = from.Ranks
	}
	if c.Size == 0 {
		c.Size = from.Size
	}
	if c.Seq < 0 {
		c.Seq = from.Seq
	}
	if c.Bytes < 0 {
		c.Bytes = from.Bytes
	}
	if c.Dtype == "" {
		c.Dtype = from.Dtype
	}
	if c.Peer < 0 {
		c.Self, c.Peer = from.Self, from.Peer
	}
}

// joinCalls gives the collectives on the device what their calls on the host
// tell, and makes collectives of the calls of a profile without device work.
// A piece of work belongs to the call during which it was launched.
func (b *Builder) joinCalls() {
	if !b.works.any() {
		b.hostCollectives()
		return
	}
	for i := range b.collectives {
		c := &b.collectives[i]
		if under := b.calls.under(c.Launch); under != nil {
			under.used = true
			call := b.calls.full(under)
			tell(c, &call)
		}
	}
	b.adopt()
}

// hostCollectives makes collectives of calls. Where a backend tells when it
// worked ("gloo:all_reduce", on a thread of its own), a wrapper that only
// handed over is left out.
func (b *Builder) hostCollectives() {
	told := slices.ContainsFunc(b.calls.all, func(c call) bool { return isCall(b.calls.name(&c)) })
	for i := range b.calls.all {
		c := b.calls.full(&b.calls.all[i])
		if told && !isCall(c.Name) {
			continue
		}
		if len(b.collectives) >= maxCollectives {
			b.lostCalls += len(b.calls.all) - i
			return
		}
		made := profile.Collective{Name: c.Name, Seq: -1, Bytes: -1, Self: -1, Peer: -1, Step: -1, Stage: -1, Launch: c.Start, Start: c.Start, End: c.End}
		tell(&made, &c)
		b.collectives = append(b.collectives, made)
	}
}
