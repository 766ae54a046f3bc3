package comm

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Messages is what became of the sends and receives of the logs.
type Messages struct {
	Paired   int // messages of which both sides are in the logs
	Lonely   int // calls of which the other side is not, or that do not agree
	Shared   int // of Paired, in kernels that serve several peers at once: their time is not one pair's
	Unlaunch int // of Paired, without a sure kernel on both sides
}

// message is a send with its receive: indices of Calls.
type message struct{ send, recv int }

// wire is one way between two members of a communicator.
type wire struct{ group, from, to int }

// orderMembers returns the wire with its lower member first.
func (w wire) orderMembers() wire { return wire{w.group, min(w.from, w.to), max(w.from, w.to)} }

// messages pairs the k-th send from one member to another with the other's k-th receive from it. Where a
// log has lost calls, sizes or numbers differ, and none of that way is paired: which is missing is not known.
func (r *Result) messages(m *members, duplicates map[int]bool) (all []message) {
	ends := make([][]points.Call, len(r.Groups)) // of each side
	for i := range r.Calls {
		c := &r.Calls[i]
		if duplicates[i] || c.Op != nccl.Send && c.Op != nccl.Recv {
			continue
		}
		switch w, ok := r.wireOf(m, i); {
		case !ok:
			r.Messages.Lonely++
		case w.from != w.to: // to itself: a copy
			ends[c.Group] = append(ends[c.Group], points.Call{ID: int32(i), Group: int32(w.group), Kind: c.Bytes,
				Message: true, Sends: c.Op == nccl.Send, From: int32(w.from), To: int32(w.to)})
		}
	}
	sets, _ := points.Match(slices.Values(ends), points.MatchOptions{})
	for _, s := range sets {
		if s.Doubt == points.Certain {
			all = append(all, message{int(s.Entries[0].Call), int(s.Entries[1].Call)})
		} else {
			r.Messages.Lonely += len(s.Entries)
		}
	}
	r.Messages.Paired = len(all)
	return all
}

// wireOf returns which way a send or receive goes; ok is false for what is neither, or of which that is not known.
func (r *Result) wireOf(m *members, call int) (w wire, ok bool) {
	c := &r.Calls[call]
	g, ok := r.CommunicatorOf(call)
	if !ok || c.Op != nccl.Send && c.Op != nccl.Recv || m.list[g].Method == Alone || c.Peer < 0 || c.Peer >= m.list[g].Ranks {
		return wire{}, false
	}
	me := m.sides[c.Group].Rank
	if c.Op == nccl.Send {
		return wire{g, me, c.Peer}, true
	}
	return wire{g, c.Peer, me}, true
}

// transfers finds when messages moved. Data move once both kernels run. A kernel that serves several peers ends with the slowest
// of them, so that it tells nothing of the others: such are counted and left out.
func (r *Result) transfers(m *members, duplicates map[int]bool) {
	ran, peers := r.matchesAndPeers(m)
	at := map[[2]site]int{}
	var sent [][2]int64 // of each transfer, bytes forth and back
	for _, x := range r.messages(m, duplicates) {
		low, okLow := ran[x.send]
		high, okHigh := ran[x.recv]
		switch {
		case !okLow || !okHigh:
			r.Messages.Unlaunch++
			continue
		case len(peers[low.site()]) > 1 || len(peers[high.site()]) > 1:
			r.Messages.Shared++
			continue
		}
		op, way := nccl.Send, 0
		if low.Rank > high.Rank {
			low, high, op, way = high, low, nccl.Recv, 1
		}
		i, known := at[[2]site{low.site(), high.site()}]
		if !known {
			g, _ := r.CommunicatorOf(x.send)
			t := Collective{Communicator: g, Op: op, Message: true, Certain: true, Subject: comms.None, Parts: []Part{r.part(low), r.part(high)}}
			if r.keepOneClock(&t); len(t.Parts) < 2 { // their clocks do not compare
				r.Messages.Unlaunch++
				continue
			}
			i = len(r.Transfers)
			at[[2]site{low.site(), high.site()}] = i
			r.Transfers, sent = append(r.Transfers, t), append(sent, [2]int64{})
		}
		sent[i][way] += r.Calls[x.send].Bytes
		r.Transfers[i].Certain = r.Transfers[i].Certain && low.Certain && high.Certain
	}
	for i, bytes := range sent {
		t := &r.Transfers[i]
		if t.Bytes = max(bytes[0], bytes[1]); bytes[0] > 0 && bytes[1] > 0 {
			t.Op = nccl.SendRecv
		}
		r.finish(t)
	}
	slices.SortStableFunc(r.Transfers, func(x, y Collective) int { return cmp.Compare(x.Begin, y.Begin) })
}

// matchesAndPeers returns the match of each call, and the peers of each kernel: members of communicators.
func (r *Result) matchesAndPeers(m *members) (ran map[int]Match, peers map[site]map[wire]bool) {
	ran, peers = map[int]Match{}, map[site]map[wire]bool{}
	for _, x := range r.Matches {
		ran[x.Call] = x
		w, ok := r.wireOf(m, x.Call)
		if !ok || w.from == w.to {
			continue
		}
		at := x.site()
		if peers[at] == nil {
			peers[at] = map[wire]bool{}
		}
		peers[at][w.orderMembers()] = true
	}
	return ran, peers
}

// measurable reports whether the time of a transfer is its link's. What one side was done with before the other arrived waited in
// buffers.
func (c *Collective) measurable() bool {
	return c.Certain && min(c.Parts[0].End, c.Parts[1].End) > c.Begin
}
