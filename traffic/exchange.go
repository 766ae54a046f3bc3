package traffic

import (
	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/trace/nccl"
)

// exchange is a group of sends and receives that all ranks of a communicator run in one kernel each, as an all-to-all
// is made of: it ends when the slowest of the ranks has what is for it.
type exchange struct {
	members map[int]*exchanger // by rank in the communicator; most groups are of two of many
	broken  bool               // a member has two kernels under one count
}

// exchanger is one member.
type exchanger struct {
	match     Match
	peers     map[int64]bool
	sent, got int64 // bytes
}

// exchanges takes those in which every member serves two others or more for a collective; fewer are
// messages between pairs. Sizes may differ: what counts is the most that a member sends or gets.
func (a *assembly) exchanges() {
	all := map[meetingKey]*exchange{}
	var order []meetingKey
	for _, m := range a.r.Matches {
		w, ok := a.wireOf(m.Call)
		c := &a.in.Log.Calls[m.Call]
		if !ok || c.Op != nccl.Send && c.Op != nccl.Recv || w.from == w.to || a.groups[w.group].Method == comm.Alone {
			continue
		}
		key := meetingKey{w.group, c.OpCount}
		x := all[key]
		if x == nil {
			x = &exchange{members: map[int]*exchanger{}}
			all[key], order = x, append(order, key)
		}
		x.add(a.sides[c.Comm].Rank, m, c.Op, c.Root, max(c.Bytes(), 0))
	}
	for _, key := range order {
		if x := all[key]; x.whole(a.groups[key.group].Ranks) {
			a.exchanged(key, x)
		}
	}
}

func (x *exchange) add(member int, m Match, op nccl.Op, peer, bytes int64) {
	e := x.members[member]
	if e == nil {
		e = &exchanger{match: m, peers: map[int64]bool{}}
		x.members[member] = e
	}
	x.broken = x.broken || e.match.Kernel != m.Kernel
	e.match.Certain = e.match.Certain && m.Certain
	e.peers[peer] = true
	if op == nccl.Send {
		e.sent += bytes
	} else {
		e.got += bytes
	}
}

// whole says whether all members are there, each with several peers.
func (x *exchange) whole(ranks int) bool {
	if x.broken || len(x.members) != ranks {
		return false
	}
	for _, e := range x.members {
		if len(e.peers) < 2 {
			return false
		}
	}
	return true
}

// exchanged adds the collective.
func (a *assembly) exchanged(key meetingKey, x *exchange) {
	c := Collective{Communicator: key.group, Count: key.count, Op: nccl.SendRecv, Certain: true}
	most := int64(0)
	for member := range len(x.members) {
		e := x.members[member]
		a.join(&c, e.match)
		most = max(most, e.sent, e.got)
	}
	c.Bytes = most
	a.r.Collectives = append(a.r.Collectives, c)
}
