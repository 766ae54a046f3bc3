package comm

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/engine/comm/bandwidth"
	"github.com/sfstat/sfstat/engine/comm/capacity"
	"github.com/sfstat/sfstat/engine/comm/parallel"
	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Transfer is what two ranks send each other in one launch each, on the clock of the first rank. Data move once
// both kernels run.
type Transfer struct {
	Communicator int
	Op           nccl.Op // of the lower rank: Send, Recv, or SendRecv where both ranks send and receive in one launch
	Bytes        int64   // of the larger direction
	Ends         [2]Part // the lower rank, the higher
	Certain      bool    // all matches are
}

// Begin is when the later of the two arrived, and who that is.
func (t *Transfer) Begin() (at int64, end int) {
	if t.Ends[1].Start > t.Ends[0].Start {
		end = 1
	}
	return t.Ends[end].Start, end
}

// Pair is two ranks that send each other messages.
type Pair struct {
	Low, High    int // indices of Ranks
	Kind         parallel.Kind
	Communicator int // that it was first seen on
}

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

// undirected is the wire with its lower member first.
func (w wire) undirected() wire { return wire{w.group, min(w.from, w.to), max(w.from, w.to)} }

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

// wireOf is which way a send or receive goes; ok is false for what is neither, or of which that is not known.
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

// place is a kernel of a rank.
type place struct{ rank, kernel int }

// transfers finds when messages moved. A kernel that serves several peers ends with the slowest of them, so that it tells
// nothing of the others: such are counted and left out.
func (r *Result) transfers(m *members, duplicates map[int]bool) {
	all := r.messages(m, duplicates)
	ran, peers := r.sending(m)
	at := map[[2]place]int{}
	sent := map[int][2]int64{} // of each transfer, bytes forth and back
	for _, x := range all {
		low, okLow := ran[x.send]
		high, okHigh := ran[x.recv]
		op, way := nccl.Send, 0
		switch from, to := (place{low.Rank, low.Kernel}), (place{high.Rank, high.Kernel}); {
		case !okLow || !okHigh:
			r.Messages.Unlaunch++
			continue
		case len(peers[from]) > 1 || len(peers[to]) > 1:
			r.Messages.Shared++
			continue
		}
		if low.Rank > high.Rank {
			low, high, op, way = high, low, nccl.Recv, 1
		}
		key := [2]place{{low.Rank, low.Kernel}, {high.Rank, high.Kernel}}
		i, known := at[key]
		if !known {
			if r.clockOf(low.Rank) != r.clockOf(high.Rank) && !(r.Placed(low.Rank) && r.Placed(high.Rank)) { // their clocks do not compare
				r.Messages.Unlaunch++
				continue
			}
			i = len(r.Transfers)
			at[key] = i
			g, _ := r.CommunicatorOf(x.send)
			r.Transfers = append(r.Transfers, Transfer{Communicator: g, Op: op, Certain: true, Ends: [2]Part{r.part(low), r.part(high)}})
		}
		bytes := sent[i]
		bytes[way] += r.Calls[x.send].Bytes
		sent[i] = bytes
		r.Transfers[i].carry(bytes, low.Certain && high.Certain)
	}
	slices.SortStableFunc(r.Transfers, func(x, y Transfer) int {
		s, _ := x.Begin()
		t, _ := y.Begin()
		return cmp.Compare(s, t)
	})
}

// sending is the match of each call, and the peers of each kernel: members of communicators.
func (r *Result) sending(m *members) (ran map[int]Match, peers map[place]map[wire]bool) {
	ran, peers = map[int]Match{}, map[place]map[wire]bool{}
	for _, x := range r.Matches {
		ran[x.Call] = x
		w, ok := r.wireOf(m, x.Call)
		if !ok || w.from == w.to {
			continue
		}
		at := place{x.Rank, x.Kernel}
		if peers[at] == nil {
			peers[at] = map[wire]bool{}
		}
		peers[at][w.undirected()] = true
	}
	return ran, peers
}

// carry notes what a transfer carries by now, forth and back.
func (t *Transfer) carry(bytes [2]int64, certain bool) {
	t.Certain = t.Certain && certain
	if t.Bytes = max(bytes[0], bytes[1]); bytes[0] > 0 && bytes[1] > 0 {
		t.Op = nccl.SendRecv
	}
}

// pairSubjects adds the pairs of ranks that send each other messages to the subjects of bandwidth, and their transfers to the
// calls. Pairs are held against those of equal link that do the same kind of work.
func (r *Result) pairSubjects(calls []bandwidth.Call, l *limits) []bandwidth.Call {
	s := &r.Speed
	at := map[[2]int]int{}
	for i := range r.Transfers {
		if t := &r.Transfers[i]; t.measurable() {
			key := [2]int{t.Ends[0].Rank, t.Ends[1].Rank}
			if _, known := at[key]; !known {
				at[key] = 0
				s.Pairs = append(s.Pairs, Pair{Low: key[0], High: key[1], Kind: r.Communicators[t.Communicator].Kind, Communicator: t.Communicator})
			}
		}
	}
	slices.SortFunc(s.Pairs, func(x, y Pair) int { return cmp.Or(cmp.Compare(x.Low, y.Low), cmp.Compare(x.High, y.High)) })
	for _, p := range s.Pairs {
		at[[2]int{p.Low, p.High}] = len(s.Subjects)
		hosts := 1
		if r.Ranks[p.Low].Host != r.Ranks[p.High].Host {
			hosts = 2
		}
		s.Subjects = append(s.Subjects, capacity.Subject{Kind: capacity.Edge, Communicator: p.Communicator, From: p.Low, To: p.High, Ranks: 2, Hosts: hosts,
			Family: int(p.Kind), Limit: l.between(p.Communicator, []int{p.Low, p.High})})
	}
	for i := range r.Transfers {
		t := &r.Transfers[i]
		if !t.measurable() {
			continue
		}
		call := bandwidth.Call{Subject: at[[2]int{t.Ends[0].Rank, t.Ends[1].Rank}], Op: t.Op, Bytes: t.Bytes}
		for _, p := range t.Ends {
			call.Members = append(call.Members, bandwidth.Span{Start: p.Start, End: p.End})
		}
		calls, s.Of = append(calls, call), append(s.Of, Measured{Collective: comms.None, Transfer: i})
	}
	return calls
}

// measurable reports whether the time of a transfer is its link's. What one side was done with before the other arrived waited in
// buffers.
func (t *Transfer) measurable() bool {
	begin, _ := t.Begin()
	return t.Certain && min(t.Ends[0].End, t.Ends[1].End) > begin
}
