package traffic

import (
	"slices"

	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/trace/nccl"
)

// exchange is a group of sends and receives that all ranks of a communicator run in one kernel each, as an all-to-all
// is made of: it ends when the slowest of the ranks has what is for it.
type exchange struct {
	kernel  []int // of each member, None: not seen
	match   []Match
	peers   []map[int64]bool
	sent    []int64 // bytes of each member
	got     []int64
	members int
	broken  bool // a member has two kernels under one count
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
			x = newExchange(a.groups[w.group].Ranks)
			all[key], order = x, append(order, key)
		}
		x.add(a.sides[c.Comm].Rank, m, c.Op, c.Root, max(c.Bytes(), 0))
	}
	for _, key := range order {
		if x := all[key]; x.whole() {
			a.exchanged(key, x)
		}
	}
}

func newExchange(n int) *exchange {
	return &exchange{kernel: slices.Repeat([]int{None}, n), match: make([]Match, n), peers: make([]map[int64]bool, n), sent: make([]int64, n), got: make([]int64, n)}
}

func (x *exchange) add(member int, m Match, op nccl.Op, peer, bytes int64) {
	if x.kernel[member] == None {
		x.kernel[member], x.match[member], x.peers[member] = m.Kernel, m, map[int64]bool{}
		x.members++
	}
	x.broken = x.broken || x.kernel[member] != m.Kernel
	x.match[member].Certain = x.match[member].Certain && m.Certain
	x.peers[member][peer] = true
	if op == nccl.Send {
		x.sent[member] += bytes
	} else {
		x.got[member] += bytes
	}
}

// whole says whether all members are there, each with several peers.
func (x *exchange) whole() bool {
	return !x.broken && x.members == len(x.kernel) && !slices.ContainsFunc(x.peers, func(p map[int64]bool) bool { return len(p) < 2 })
}

// exchanged adds the collective.
func (a *assembly) exchanged(key meetingKey, x *exchange) {
	c := Collective{Communicator: key.group, Count: key.count, Op: nccl.SendRecv, Certain: true}
	for _, m := range x.match {
		a.join(&c, m)
	}
	c.Bytes = max(slices.Max(x.sent), slices.Max(x.got))
	a.r.Collectives = append(a.r.Collectives, c)
}
