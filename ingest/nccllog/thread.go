package nccllog

import (
	"slices"

	"github.com/sfstat/sfstat/trace/nccl"
)

// maxUntuned bounds the calls of one thread that wait for their tuning line, which is
// printed when the group is closed.
const maxUntuned = 1024

// thread is what belongs together because one thread printed it.
type thread struct {
	comm    int   // that it is making, or made last; None before the first
	untuned []int // calls that may still get a tuning line, oldest first
	block   int   // the topology being read; None outside
	parents []open
}

func (b *Builder) thread(p int, r *Record) *thread {
	key := threadKey{p, r.Head.TID, r.Head.Device}
	t, ok := b.threads[key]
	if !ok {
		t = &thread{comm: None, block: None}
		b.threads[key] = t
		b.held += threadBytes
	}
	return t
}

// called notes a call that may get a tuning line.
func (t *thread) called(b *Builder, i int) {
	c := &b.log.Calls[i]
	b.log.Communicators[c.Comm].Calls++
	if c.Op.PointToPoint() || c.Op.OneSided() || c.Ranks == 1 || c.Count == 0 {
		return
	}
	if len(t.untuned) > 0 { // a group is over when its tuning lines have come
		first := &b.log.Calls[t.untuned[len(t.untuned)-1]]
		if first.Tuning != None && (first.Comm != c.Comm || first.OpCount != c.OpCount) {
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
func (b *Builder) tuning(p int, r *Record) {
	t, u := b.thread(p, r), &r.Tuning
	at := -1
	for k, i := range slices.Backward(t.untuned) {
		if c := &b.log.Calls[i]; c.Tuning == None && u.fits(c) {
			at = k
			break
		}
	}
	if at < 0 {
		if !b.tuneGroup(t, u) {
			b.log.Census.Untied++
		}
		return
	}
	b.log.Calls[t.untuned[at]].Tuning = b.keep(u)
}

func (b *Builder) keep(u *Tuning) int {
	b.log.Tunings = append(b.log.Tunings, *u)
	b.held += nodeBytes
	return len(b.log.Tunings) - 1
}

// fits says whether the line may be that of a call: operation, where it tells, and
// bytes, which up to 2.23 are of all ranks.
func (u *Tuning) fits(c *LoggedCall) bool {
	if u.Op != nccl.UnknownOp && u.Op != c.Op {
		return false
	}
	return u.Bytes == c.sized(u.Numeric)
}

// sized is the bytes by which a tuning line calls a call.
func (c *LoggedCall) sized(numeric bool) int64 {
	bytes := c.Bytes()
	if numeric && (c.Op == nccl.AllGather || c.Op == nccl.ReduceScatter) && bytes < 1<<40 {
		return bytes * int64(c.Ranks)
	}
	return bytes
}

// tuneGroup ties the line to all calls of the last group whose bytes add up to it, as up to
// 2.23 they may.
func (b *Builder) tuneGroup(t *thread, u *Tuning) bool {
	if !u.Numeric || len(t.untuned) == 0 {
		return false
	}
	last := b.log.Calls[t.untuned[len(t.untuned)-1]]
	var group []int
	var sum int64
	for _, i := range slices.Backward(t.untuned) {
		c := &b.log.Calls[i]
		if c.Comm != last.Comm || c.OpCount != last.OpCount {
			break
		}
		if c.Tuning == None && c.Op == last.Op {
			group, sum = append(group, i), sum+c.sized(true)
		}
	}
	if sum != u.Bytes || u.Op != nccl.UnknownOp && u.Op != last.Op {
		return false
	}
	k := b.keep(u)
	for _, i := range group {
		b.log.Calls[i].Tuning = k
	}
	return true
}

// making notes which communicator the thread works at; a block that was read before
// the line belongs to it too, up to 2.17.
func (t *thread) making(b *Builder, comm int) {
	t.comm = comm
	if t.block != None && b.log.Blocks[t.block].Comm == None {
		b.log.Blocks[t.block].Comm = comm
	}
	if b.log.Communicators[comm].Step == Completed {
		t.closeBlock(b)
	}
}
