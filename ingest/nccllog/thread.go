package nccllog

import (
	"slices"

	"github.com/sfstat/sfstat/ingest/nccllog/internal/logline"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// maxUntuned bounds the calls of one thread that wait for their tuning line, which is
// printed when the group is closed.
const maxUntuned = 1024

// thread is what belongs together because one thread printed it.
type thread struct {
	group   int   // that it is making, or made last; None before the first
	untuned []int // calls that may still get a tuning line, oldest first
	block   int   // the topology being read; None outside
	parents []open
}

func (b *Builder) thread(p int, r *logline.Record) *thread {
	key := threadKey{p, r.Head.TID, r.Head.Device}
	t, ok := b.threads[key]
	if !ok {
		t = &thread{group: comms.None, block: comms.None}
		b.threads[key] = t
		b.held += threadBytes
	}
	return t
}

// noteCall notes a call that may get a tuning line.
func (t *thread) noteCall(b *Builder, i int) {
	c := &b.comm.Calls[i]
	g := &b.groups[c.Group]
	g.calls++
	if c.Op.PointToPoint() || c.Op.OneSided() || g.Ranks == 1 || c.Count == 0 {
		return
	}
	if len(t.untuned) > 0 { // a group is over when its tuning lines have come
		first := &b.comm.Calls[t.untuned[len(t.untuned)-1]]
		if first.Tuning != nil && (first.Group != c.Group || first.Launch != c.Launch) {
			t.untuned = t.untuned[:0]
		}
	}
	if len(t.untuned) == maxUntuned {
		t.untuned = slices.Delete(t.untuned, 0, maxUntuned/2)
	}
	t.untuned = append(t.untuned, i)
}

// tuning ties a tuning line to the latest call of its thread with that operation and
// size.
func (b *Builder) tuning(p int, r *logline.Record) {
	t, u := b.thread(p, r), &r.Tuning
	for _, i := range slices.Backward(t.untuned) {
		if c := &b.comm.Calls[i]; c.Tuning == nil && b.fits(u, c) {
			c.Tuning = b.keep(u)
			return
		}
	}
	if !b.tuneGroup(t, u) {
		b.comm.Untied++
	}
}

func (b *Builder) keep(u *logline.Tuning) *comms.Tuning {
	b.held += nodeBytes
	return &comms.Tuning{Algo: u.Algo, Protocol: u.Protocol, Channels: u.Channels, CopyEngine: u.CopyEngine}
}

// fits reports whether the line may be that of a call: operation, where it tells, and
// bytes, which up to 2.23 are of all ranks.
func (b *Builder) fits(u *logline.Tuning, c *comms.Call) bool {
	if u.Op != nccl.UnknownOp && u.Op != c.Op {
		return false
	}
	return u.Bytes == b.tunedBytes(u, c)
}

// tunedBytes returns the bytes by which a tuning line calls a call.
func (b *Builder) tunedBytes(u *logline.Tuning, c *comms.Call) int64 {
	if u.Numeric && (c.Op == nccl.AllGather || c.Op == nccl.ReduceScatter) && c.Bytes < 1<<40 {
		return c.Bytes * int64(b.groups[c.Group].Ranks)
	}
	return c.Bytes
}

// tuneGroup ties the line to all calls of the last group whose bytes add up to it, as up to
// 2.23 they may.
func (b *Builder) tuneGroup(t *thread, u *logline.Tuning) bool {
	if !u.Numeric || len(t.untuned) == 0 {
		return false
	}
	last := &b.comm.Calls[t.untuned[len(t.untuned)-1]]
	var group []int
	var sum int64
	for _, i := range slices.Backward(t.untuned) {
		c := &b.comm.Calls[i]
		if c.Group != last.Group || c.Launch != last.Launch {
			break
		}
		if c.Tuning == nil && c.Op == last.Op {
			group, sum = append(group, i), sum+b.tunedBytes(u, c)
		}
	}
	if sum != u.Bytes || u.Op != nccl.UnknownOp && u.Op != last.Op {
		return false
	}
	k := b.keep(u)
	for _, i := range group {
		b.comm.Calls[i].Tuning = k
	}
	return true
}

// setGroup notes which communicator the thread works at; a block that was read before
// the line belongs to it too, up to 2.17.
func (t *thread) setGroup(b *Builder, group int) {
	t.group = group
	if t.block != comms.None && b.blocks[t.block].group == comms.None {
		b.blocks[t.block].group = group
	}
	if b.groups[group].Step == logline.Completed {
		t.closeBlock()
	}
}
