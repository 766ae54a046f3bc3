package align

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// elements returns how many elements the call counts; bytes where nothing says of which type they are.
func elements(c *comms.Call) int64 {
	if c.Count < 0 {
		return max(c.Bytes, 0)
	}
	return c.Count
}

// size returns how many bytes the call moves, elements by their size.
func size(c *comms.Call) int64 { return min(elements(c), 1<<56) * max(c.Datatype.Size(), 1) }

// tuningOf returns how NCCL chose to run the call, as far as known.
func tuningOf(c *comms.Call) comms.Tuning {
	if c.Tuning == nil {
		return comms.Tuning{}
	}
	return *c.Tuning
}

// Launch is one kernel that NCCL must have launched, as far as the log tells.
type Launch struct {
	Calls []int   // of the group, in order; empty: the log has lost them all
	Op    nccl.Op // of the kernel: SendRecv for what is point to point
	Lead  int     // the call after which the kernel is named, the largest; -1 if there is none
	Comm  int
	Count int64 // launches of the communicator before it
	// Mixed is set where members reduce with other types or do other
	// operations than the lead.
	Mixed bool
}

// Reason says why a call launches nothing.
type Reason uint8

const (
	Launches   Reason = iota // it does, alone or with others
	OneRank                  // a communicator of one rank: at most a copy
	NoElements               // a count of 0 is dropped
	CopyEngine               // copies without a kernel
	OneSided                 // puts and signals
	Duplicate                // the line stands twice, to the last digit
)

var reasonNames = [...]string{"launches", "one rank", "no elements", "copy engine", "one-sided", "duplicate line"}

func (r Reason) String() string { return reasonNames[min(int(r), len(reasonNames)-1)] }

// Plan applies NCCL's rules of launching to the calls of one process, in the
// order of its log. All calls of one group share the communicator's count: its collectives
// run in one kernel, its sends and receives in another. Communicators of one rank, counts of 0 and copies
// launch nothing. A call line that stands twice is one call.
//
// Where the count jumps, launches were not logged: each becomes a Launch without calls, as many
// as lost at most, so that no log makes more of them than that.
func Plan(p *Process, lost int) (launches []Launch, why []Reason) {
	why = make([]Reason, len(p.Calls))
	type key struct {
		comm  int
		count int64
		p2p   bool
	}
	at := map[key]int{}
	for i, c := range p.Calls {
		if why[i] = p.reason(c); why[i] != Launches {
			continue
		}
		k := key{c.Group, max(c.Launch, 0), c.Op.PointToPoint()}
		l, open := at[k]
		if !open {
			l = len(launches)
			at[k] = l
			launches = append(launches, Launch{Op: kernelOp(c.Op), Lead: i, Comm: k.comm, Count: k.count})
		} else if isRepeated(p.Calls, launches[l].Calls, c) {
			why[i] = Duplicate
			continue
		}
		launches[l].join(p.Calls, i)
	}
	return fillUnlogged(launches, lost), why
}

// reason returns why the call by itself launches nothing.
func (p *Process) reason(c *comms.Call) Reason {
	switch {
	case c.Group != comms.None && p.Groups[c.Group].Size == 1:
		return OneRank
	case elements(c) == 0 && !c.Op.PointToPoint():
		return NoElements
	case tuningOf(c).CopyEngine:
		return CopyEngine
	case c.Op.OneSided():
		return OneSided
	}
	return Launches
}

// kernelOp returns what the kernel of an operation is called: SendRecv for what is point to point.
func kernelOp(o nccl.Op) nccl.Op {
	if o.PointToPoint() {
		return nccl.SendRecv
	}
	return o
}

// isRepeated reports whether the last call of the group is c once more: no group moves the same
// buffers to the same rank twice.
func isRepeated(calls []*comms.Call, group []int, c *comms.Call) bool {
	if len(group) == 0 {
		return false
	}
	last := *calls[group[len(group)-1]]
	last.Enter, last.Tuning, last.Source, last.Line = c.Enter, c.Tuning, c.Source, c.Line
	return last == *c && last.Send|last.Recv != 0
}

// join adds a call to the group; the largest gives its name, the first of equals.
func (l *Launch) join(calls []*comms.Call, i int) {
	c, lead := calls[i], calls[l.Lead]
	if len(l.Calls) > 0 && l.Op != nccl.SendRecv && (c.Op != lead.Op || c.Datatype != lead.Datatype) {
		l.Mixed = true
	}
	if size(c) > size(lead) {
		l.Lead, l.Op = i, kernelOp(c.Op)
	}
	l.Calls = append(l.Calls, i)
}

// fillUnlogged fills the jumps of each communicator's count. A lost launch is put before
// the next one of its communicator that is known.
func fillUnlogged(launches []Launch, lost int) []Launch {
	last := map[int]int64{}
	seen := map[int]bool{}
	var out []Launch
	for _, l := range launches {
		if from, ok := last[l.Comm]; ok && l.Count-from > 1 {
			gap := l.Count - from - 1
			if gap <= int64(max(lost, 0)) {
				for k := range gap {
					out = append(out, Launch{Lead: -1, Comm: l.Comm, Count: from + 1 + k})
				}
				lost -= int(gap)
			}
		}
		if !seen[l.Comm] || l.Count > last[l.Comm] {
			last[l.Comm], seen[l.Comm] = l.Count, true
		}
		out = append(out, l)
	}
	return out
}

// startOrder returns the order in which kernels of one stream ran, which is that of their
// launches, without those that graphs replayed.
func startOrder(kernels []comms.Kernel) []int {
	var order []int
	for i := range kernels {
		if !kernels[i].Replay {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(kernels[a].Start, kernels[b].Start) })
	return order
}
