package profile

import (
	"cmp"
	"slices"
	"sort"
	"strings"
)

// wrapper is the host range in which torch.distributed tells the arguments of
// a collective.
const wrapper = "record_param_comms"

// call is a call of the host, with what was found out about it.
type call struct {
	Call
	used   bool // a piece of device work belongs to it
	nested bool // it took in a call inside
}

// deviceCollective notes a collective that a piece of device work belongs to;
// −1 when there are too many.
func (b *Builder) deviceCollective(w Work, lane uint16) int32 {
	if len(b.collectives) >= maxCollectives {
		b.lostCalls++
		return -1
	}
	c := Collective{Name: b.names[w.Name], Seq: -1, Bytes: -1, Self: -1, Peer: -1, Step: -1, Stage: -1,
		Start: w.Start, End: w.End, OnDevice: true, Stream: int32(lane)}
	if w.Call != nil {
		c.tell(w.Call)
	}
	if c.Op == UnknownOperation {
		c.Op = OperationOf(b.names[w.Name])
	}
	b.collectives = append(b.collectives, c)
	return int32(len(b.collectives) - 1)
}

// tell fills in what a call says and c does not.
func (c *Collective) tell(from *Call) {
	if op := OperationOf(from.Name); from.Name != wrapper && (c.Op == UnknownOperation || c.Op == SendRecv && (op == Send || op == Recv)) {
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
		if at := b.callAt(c.Launch); at >= 0 {
			b.calls[at].used = true
			c.tell(&b.calls[at].Call)
		}
	}
	b.adopt()
}

// nestCalls sorts the calls by start and lets a wrapper take in the first call
// inside it.
func (b *Builder) nestCalls() {
	slices.SortStableFunc(b.calls, func(x, y call) int {
		return cmp.Or(cmp.Compare(x.Thread, y.Thread), cmp.Compare(x.Start, y.Start), cmp.Compare(y.End, x.End))
	})
	kept := b.calls[:0]
	for _, c := range b.calls {
		if n := len(kept); n > 0 {
			if out := &kept[n-1]; out.Thread == c.Thread && c.Start >= out.Start && c.End <= out.End && !out.nested {
				out.takeIn(&c.Call)
				continue
			}
		}
		kept = append(kept, c)
	}
	b.calls = kept
	slices.SortStableFunc(b.calls, func(x, y call) int { return cmp.Compare(x.Start, y.Start) })
}

func (c *call) takeIn(inner *Call) {
	c.nested = true
	all := Collective{Seq: c.Seq, Bytes: c.Bytes, Self: c.Self, Peer: c.Peer, Group: c.Group, Desc: c.Desc, Ranks: c.Ranks, Size: c.Size, Dtype: c.Dtype}
	all.tell(inner)
	c.Seq, c.Bytes, c.Self, c.Peer, c.Group, c.Desc, c.Ranks, c.Size, c.Dtype = all.Seq, all.Bytes, all.Self, all.Peer, all.Group, all.Desc, all.Ranks, all.Size, all.Dtype
	if c.Name == wrapper || !strings.Contains(c.Name, ":") && OperationOf(c.Name) == UnknownOperation {
		c.Name = inner.Name
	}
}

// mostNested is how many calls before the last one that began are looked at
// for one that is still under way.
const mostNested = 16

// callAt is the call that was under way, the one that began last; −1: none.
func (b *Builder) callAt(t int64) int {
	from := sort.Search(len(b.calls), func(i int) bool { return b.calls[i].Start > t })
	for i := from - 1; i >= 0 && i >= from-mostNested; i-- {
		if t <= b.calls[i].End {
			return i
		}
	}
	return -1
}

// hostCollectives makes collectives of calls. Where a backend tells when it
// worked ("gloo:all_reduce", on a thread of its own), a wrapper that only
// handed over is left out.
func (b *Builder) hostCollectives() {
	told := slices.ContainsFunc(b.calls, func(c call) bool { return isCall(c.Name) })
	for i := range b.calls {
		c := &b.calls[i]
		if told && !isCall(c.Name) {
			continue
		}
		if len(b.collectives) >= maxCollectives {
			b.lostCalls += len(b.calls) - i
			return
		}
		made := Collective{Name: c.Name, Seq: -1, Bytes: -1, Self: -1, Peer: -1, Step: -1, Stage: -1, Launch: c.Start, Start: c.Start, End: c.End}
		made.tell(&c.Call)
		b.collectives = append(b.collectives, made)
	}
}

// backendOf guesses the backend by the names of the calls.
func (b *Builder) backendOf() string {
	for i := range b.calls {
		if isCall(b.calls[i].Name) {
			name, _, _ := strings.Cut(b.calls[i].Name, ":")
			return name
		}
	}
	return ""
}
