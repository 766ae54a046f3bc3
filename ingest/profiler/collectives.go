package profiler

import (
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// wrapper is the host range in which torch.distributed tells the arguments of
// a collective.
const wrapper = "record_param_comms"

// deviceCollective is a collective on the device, and what is known of its call.
type deviceCollective struct {
	Call
	launch int64 // when the host launched it
}

// deviceCollective notes a collective that a piece of device work belongs to;
// −1 when there are too many.
func (b *Builder) deviceCollective(w Work) int32 {
	if len(b.collectives) >= maxCollectives {
		b.lostCalls++
		return -1
	}
	c := Call{Name: b.names[w.Name], Start: w.Start, End: w.End, Seq: -1, Bytes: -1, Self: -1, Peer: -1}
	if w.Call != nil {
		told := *w.Call
		told.Op = nccl.OpIn(told.Name)
		c.take(&told)
	}
	if c.Op == nccl.UnknownOp {
		c.Op = nccl.OpIn(c.Name)
	}
	b.collectives = append(b.collectives, deviceCollective{Call: c})
	return int32(len(b.collectives) - 1)
}

// take fills in what another call says and c does not.
func (c *Call) take(from *Call) {
	if c.Op == nccl.UnknownOp || c.Op == nccl.SendRecv && from.Op.PointToPoint() {
		c.Op = from.Op
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
	if c.Peer < 0 {
		c.Self, c.Peer = from.Self, from.Peer
	}
}

// record is what a rank communicated, in the making.
type record struct {
	comms.Record
	groups map[Call]int // by what their calls say of them
}

func newRecord() *record {
	return &record{comms.Record{Processes: []comms.Process{{Rank: -1, LocalRank: -1, Device: -1}}}, make(map[Call]int)}
}

// add adds a call, and its group where there is none yet.
func (r *record) add(c *Call) *comms.Call {
	key := Call{Group: c.Group, Desc: c.Desc, Ranks: c.Ranks, Size: c.Size, Self: c.Self}
	group, ok := r.groups[key]
	if !ok {
		group = len(r.Groups)
		r.groups[key] = group
		made := comms.Group{Name: c.Group, Desc: c.Desc, Rank: c.Self, Size: c.Size, Enqueued: -1, Completed: -1}
		if c.Ranks != nil {
			made.Members = *c.Ranks
		}
		r.Groups = append(r.Groups, made)
	}
	made := comms.UnknownCall(0)
	made.Op, made.Name, made.Group, made.Seq, made.Bytes, made.Peer = c.Op, c.Name, group, c.Seq, c.Bytes, c.Peer
	made.State = comms.Completed // a profile is written when all is done
	r.Calls = append(r.Calls, made)
	return &r.Calls[len(r.Calls)-1]
}

// addEntered adds a call of the host.
func (r *record) addEntered(c *Call) {
	made := r.add(c)
	made.Enter, made.HasEnter, made.Exit = c.Start, true, c.End
}

// deviceCalls returns the collectives on the device, with what their calls on the host
// tell. A piece of work belongs to the call during which it was launched.
func (b *Builder) deviceCalls() *record {
	r := newRecord()
	r.Calls = make([]comms.Call, 0, len(b.collectives))
	kernels := make([]comms.Kernel, len(b.collectives))
	for i := range b.collectives {
		one := &b.collectives[i]
		c := one.Call
		if under := b.calls.callAt(one.launch); under != nil {
			under.used = true
			c.take(under)
		}
		made := r.add(&c)
		made.Kernel, made.KernelSure = i, true
		kernels[i] = comms.Kernel{KernelName: nccl.KernelName{Op: c.Op, Datatype: nccl.UnknownType}, Start: c.Start, End: c.End, HasSpan: true, Launch: one.launch, HasLaunch: true}
	}
	r.Processes[0].Kernels = kernels
	b.adopt(r)
	return r
}

// hostCalls returns the calls of a profile without device work. Where a backend tells
// when it worked ("gloo:all_reduce", on a thread of its own), a wrapper that only
// handed over is left out.
func (b *Builder) hostCalls() *record {
	r := newRecord()
	told := b.calls.backend() != ""
	for i := range b.calls {
		c := &b.calls[i]
		if told && !isCall(c.Name) {
			continue
		}
		if len(r.Calls) >= maxCollectives {
			b.lostCalls += len(b.calls) - i
			break
		}
		r.addEntered(c)
	}
	return r
}
