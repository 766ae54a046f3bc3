package comm

import (
	"github.com/sfstat/sfstat/trace/comms"
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
	peers     map[int]bool
	sent, got int64 // bytes
}

// exchanges takes those in which every member serves two others or more for a collective; fewer are
// messages between pairs. Sizes may differ: what counts is the most that a member sends or gets.
func (r *Result) exchanges(m *members) (found []Collective) {
	all := map[launchKey]*exchange{}
	var order []launchKey
	for _, x := range r.Matches {
		w, ok := r.wireOf(m, x.Call)
		if !ok || w.from == w.to {
			continue
		}
		key := launchKey{w.group, r.Calls[x.Call].Launch}
		e := all[key]
		if e == nil {
			e = &exchange{members: map[int]*exchanger{}}
			all[key], order = e, append(order, key)
		}
		e.add(m.sides[r.Calls[x.Call].Group].Rank, x, &r.Calls[x.Call])
	}
	for _, key := range order {
		if x := all[key]; x.whole(m.list[key.group].Ranks) {
			found = append(found, r.exchanged(key, x))
		}
	}
	return found
}

func (x *exchange) add(member int, m Match, c *comms.Call) {
	e := x.members[member]
	if e == nil {
		e = &exchanger{match: m, peers: map[int]bool{}}
		x.members[member] = e
	}
	x.broken = x.broken || e.match.Kernel != m.Kernel
	e.match.Certain = e.match.Certain && m.Certain
	e.peers[c.Peer] = true
	if c.Op == nccl.Send {
		e.sent += max(c.Bytes, 0)
	} else {
		e.got += max(c.Bytes, 0)
	}
}

// whole reports whether all members are there, each with several peers.
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

// exchanged is the collective.
func (r *Result) exchanged(key launchKey, x *exchange) Collective {
	c := Collective{Communicator: key.group, Count: key.count, Op: nccl.SendRecv, Certain: true}
	most := int64(0)
	for member := range len(x.members) {
		e := x.members[member]
		r.addPart(&c, e.match)
		most = max(most, e.sent, e.got)
	}
	c.Bytes = most
	return c
}
