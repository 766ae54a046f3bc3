package traffic

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/engine/bandwidth"
	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Direction says which way the messages between two ranks go.
type Direction uint8

const (
	Forth Direction = iota // from the lower rank to the higher
	Back
	Both // at once: both ranks send and receive in one launch
)

// op stands for a direction among the operations of package bandwidth, which then compares each with its like.
func (d Direction) op() nccl.Op {
	return [...]nccl.Op{nccl.Send, nccl.Recv, nccl.SendRecv}[min(d, Both)]
}

// DirectionOf is the reverse of how a cell of a pair of ranks is written.
func DirectionOf(op nccl.Op) Direction {
	switch op {
	case nccl.Send:
		return Forth
	case nccl.Recv:
		return Back
	}
	return Both
}

// Transfer is what two ranks send each other in one launch each, on the clock of the first rank. Data move once
// both kernels run.
type Transfer struct {
	Communicator int
	Direction    Direction
	Bytes        int64   // of the larger direction
	Ends         [2]Part // the lower rank, the higher
	Certain      bool    // all matches are
}

// Begin is when the later of the two came, and who that is.
func (t *Transfer) Begin() (at int64, end int) {
	if t.Ends[1].Start > t.Ends[0].Start {
		end = 1
	}
	return t.Ends[end].Start, end
}

// Pair is two ranks that send each other messages.
type Pair struct {
	Low, High    int // indices of Ranks
	Kind         Kind
	Communicator int // that it was first seen on
}

// Messages is what became of the sends and receives of the logs.
type Messages struct {
	Paired   int // messages of which both sides are in the logs
	Lonely   int // calls of which the other side is not, or that do not agree
	Shared   int // of Paired, in kernels that serve several peers at once: their time is not one pair's
	Unlaunch int // of Paired, without a sure kernel on both sides
}

// message is a send with its receive: indices of Log.Calls.
type message struct{ send, recv int }

// wire is one way between two members of a communicator.
type wire struct{ group, from, to int }

// messages pairs the k-th send from one member to another with the other's k-th receive from it. Where a
// log has lost calls, sizes or numbers differ, and none of that way is paired: which is missing is not known.
func (a *assembly) messages() (all []message) {
	sends, recvs := map[wire][]int{}, map[wire][]int{}
	var order []wire
	for i := range a.in.Log.Calls {
		c := &a.in.Log.Calls[i]
		if a.again[i] || c.Op != nccl.Send && c.Op != nccl.Recv {
			continue
		}
		w, ok := a.wireOf(i)
		if ok && w.from == w.to { // to itself: a copy
			continue
		}
		if !ok {
			a.r.Messages.Lonely++
			continue
		}
		if len(sends[w])+len(recvs[w]) == 0 {
			order = append(order, w)
		}
		if c.Op == nccl.Send {
			sends[w] = append(sends[w], i)
		} else {
			recvs[w] = append(recvs[w], i)
		}
	}
	for _, w := range order {
		s, r := sends[w], recvs[w]
		if !a.agree(s, r) {
			a.r.Messages.Lonely += len(s) + len(r)
			continue
		}
		for k := range s {
			all = append(all, message{s[k], r[k]})
		}
	}
	a.r.Messages.Paired = len(all)
	return all
}

// wireOf is which way a send or receive goes.
func (a *assembly) wireOf(call int) (w wire, ok bool) {
	c := &a.in.Log.Calls[call]
	g, ok := a.r.groupOf[c.Comm]
	me := a.sides[c.Comm].Rank
	if !ok || a.groups[g].Method == comm.Alone || c.Root < 0 || c.Root >= int64(a.groups[g].Ranks) {
		return wire{}, false
	}
	if c.Op == nccl.Send {
		return wire{g, me, int(c.Root)}, true
	}
	return wire{g, int(c.Root), me}, true
}

// agree says whether sends and receives are as many, of equal sizes one by one.
func (a *assembly) agree(sends, recvs []int) bool {
	return slices.EqualFunc(sends, recvs, func(s, r int) bool { return a.in.Log.Calls[s].Bytes() == a.in.Log.Calls[r].Bytes() })
}

// place is a kernel of a rank.
type place struct{ rank, kernel int }

// ran is which kernel ran a call, and whether that is sure.
type ran struct {
	place
	certain bool
}

// transfers finds when messages moved. A kernel that serves several peers ends with the slowest of them, so that it tells
// nothing of the others: such are counted and left out.
func (a *assembly) transfers() {
	all := a.messages()
	kernel, peers := a.ran()
	at := map[[2]place]int{}
	sent := map[int][2]int64{} // of each transfer, bytes forth and back
	for _, m := range all {
		s, okS := kernel[m.send]
		r, okR := kernel[m.recv]
		switch {
		case !okS || !okR:
			a.r.Messages.Unlaunch++
			continue
		case len(peers[s.place]) > 1 || len(peers[r.place]) > 1:
			a.r.Messages.Shared++
			continue
		}
		low, high, way := s, r, Forth
		if s.rank > r.rank {
			low, high, way = r, s, Back
		}
		key := [2]place{low.place, high.place}
		i, known := at[key]
		if !known {
			t, ok := a.transfer(m, low, high, way)
			if !ok {
				a.r.Messages.Unlaunch++
				continue
			}
			i = len(a.r.Transfers)
			at[key], a.r.Transfers = i, append(a.r.Transfers, t)
		}
		bytes := sent[i]
		bytes[way] += a.in.Log.Calls[m.send].Bytes()
		sent[i] = bytes
		a.r.Transfers[i].carry(bytes, s.certain && r.certain)
	}
	slices.SortStableFunc(a.r.Transfers, func(x, y Transfer) int {
		s, _ := x.Begin()
		t, _ := y.Begin()
		return cmp.Compare(s, t)
	})
}

// ran is the kernel of each call, and the peers of each kernel: members of communicators.
func (a *assembly) ran() (kernel map[int]ran, peers map[place]map[wire]bool) {
	kernel, peers = map[int]ran{}, map[place]map[wire]bool{}
	for _, m := range a.r.Matches {
		at := place{m.Rank, m.Kernel}
		kernel[m.Call] = ran{at, m.Certain}
		w, ok := a.wireOf(m.Call)
		if c := &a.in.Log.Calls[m.Call]; !ok || c.Op != nccl.Send && c.Op != nccl.Recv || w.from == w.to {
			continue
		}
		if peers[at] == nil {
			peers[at] = map[wire]bool{}
		}
		peers[at][wire{w.group, min(w.from, w.to), max(w.from, w.to)}] = true
	}
	return kernel, peers
}

// carry notes what a transfer carries by now, forth and back.
func (t *Transfer) carry(bytes [2]int64, certain bool) {
	t.Certain = t.Certain && certain
	if t.Bytes = max(bytes[0], bytes[1]); bytes[0] > 0 && bytes[1] > 0 {
		t.Direction = Both
	}
}

// transfer is the times of two kernels; ok is false where their clocks do not compare.
func (a *assembly) transfer(m message, low, high ran, way Direction) (t Transfer, ok bool) {
	t = Transfer{Communicator: a.r.groupOf[a.in.Log.Calls[m.send].Comm], Direction: way, Certain: true}
	calls := [2]int{m.send, m.recv}
	if way == Back {
		calls = [2]int{m.recv, m.send}
	}
	exports := [2]int{a.r.Ranks[low.rank].Export, a.r.Ranks[high.rank].Export}
	for i, x := range []ran{low, high} {
		k := &a.r.Ranks[x.rank]
		n := &a.in.Exports[k.Export].Processes[k.Recorded].Kernels[x.kernel]
		start, known := a.firstTime(k.Export, n.Start)
		if !known && exports[0] != exports[1] {
			return t, false
		}
		end, _ := a.firstTime(k.Export, n.End)
		t.Ends[i] = Part{Rank: x.rank, Call: calls[i], Kernel: x.kernel, Start: start, End: end}
	}
	return t, true
}

// pairSubjects adds the pairs of ranks that send each other messages to the subjects of bandwidth, and their transfers to the
// calls. Pairs are held against those of equal link that do the same kind of work.
func (a *assembly) pairSubjects(calls []bandwidth.Call) []bandwidth.Call {
	s := &a.r.Speed
	at := map[[2]int]int{}
	for i := range a.r.Transfers {
		if t := &a.r.Transfers[i]; t.measurable() {
			key := [2]int{t.Ends[0].Rank, t.Ends[1].Rank}
			if _, known := at[key]; !known {
				at[key] = 0
				s.Pairs = append(s.Pairs, Pair{Low: key[0], High: key[1], Kind: a.r.Communicators[t.Communicator].Kind, Communicator: t.Communicator})
			}
		}
	}
	slices.SortFunc(s.Pairs, func(x, y Pair) int { return cmp.Or(cmp.Compare(x.Low, y.Low), cmp.Compare(x.High, y.High)) })
	for _, p := range s.Pairs {
		at[[2]int{p.Low, p.High}] = len(s.Subjects)
		s.Subjects = append(s.Subjects, bandwidth.Subject{Kind: bandwidth.Edge, Communicator: p.Communicator, From: p.Low, To: p.High, Ranks: 2,
			Family: int(p.Kind), Limit: a.limitOf(p.Communicator, []int{p.Low, p.High})})
	}
	for i := range a.r.Transfers {
		t := &a.r.Transfers[i]
		if !t.measurable() {
			continue
		}
		call := bandwidth.Call{Subject: at[[2]int{t.Ends[0].Rank, t.Ends[1].Rank}], Op: t.Direction.op(), Bytes: t.Bytes}
		for _, p := range t.Ends {
			call.Members = append(call.Members, bandwidth.Span{Start: p.Start, End: p.End})
		}
		calls, s.Of = append(calls, call), append(s.Of, Measured{Collective: None, Transfer: i})
	}
	return calls
}

// measurable says whether the time of a transfer is its link's. What one side was done with before the other came waited in
// buffers.
func (t *Transfer) measurable() bool {
	begin, _ := t.Begin()
	return t.Certain && min(t.Ends[0].End, t.Ends[1].End) > begin
}
