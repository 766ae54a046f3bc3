package traffic

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/ingest/nccllog"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Communicator is one communicator of the job and what was done on it.
type Communicator struct {
	ID       string // commId, or what else tells it from the others
	Kind     Kind
	Evidence []string // of the kind
	Ranks    []int    // of the job, that left a log, ascending, each once
	NRanks   int
	Sides    []int // indices of Log.Communicators, of those ranks
	Met      bool  // put together by ends of collectives alone
	Alone    bool  // one side, and nothing tells the others
	Hosts    int
	Ops      []OpUse // most calls first
	Signature
}

// OpUse is what was done with one operation: calls and bytes (count × size of the type, as logged)
// over all ranks.
type OpUse struct {
	Op    nccl.Op
	Calls int64
	Bytes int64
}

// CallsOf is the calls of one operation.
func (c *Communicator) CallsOf(op nccl.Op) (n int64) {
	for _, u := range c.Ops {
		if u.Op == op {
			n += u.Calls
		}
	}
	return n
}

// Total is calls and bytes of all operations.
func (c *Communicator) Total() (calls, bytes int64) {
	for _, u := range c.Ops {
		calls, bytes = calls+u.Calls, bytes+u.Bytes
	}
	return calls, bytes
}

// communicators describes every group. Those on which nothing was called, of one rank, stay: the layout
// is seen by them too.
func (a *assembly) communicators() {
	calls := make([][]int, len(a.sides))
	for i := range a.in.Log.Calls {
		if c := &a.in.Log.Calls[i]; !a.again[i] {
			calls[c.Comm] = append(calls[c.Comm], i)
		}
	}
	for g := range a.groups {
		a.r.Communicators = append(a.r.Communicators, a.describe(&a.groups[g], calls))
		for _, s := range a.groups[g].Sides {
			a.r.groupOf[s] = g
		}
	}
	a.kinds()
}

func (a *assembly) describe(g *comm.Communicator, calls [][]int) Communicator {
	c := Communicator{NRanks: g.Ranks, Alone: g.Method == comm.Alone, ID: a.idOf(g)}
	hosts, uses, busiest := map[string]bool{}, map[nccl.Op]*OpUse{}, None
	for _, s := range g.Sides {
		if s == comm.None {
			continue
		}
		c.Sides = append(c.Sides, s)
		c.Met = c.Met || a.met[s]
		if p := a.sides[s].Process; p != None {
			c.Ranks = append(c.Ranks, a.r.Ranks[p].Rank)
			hosts[a.r.Ranks[p].Host] = true
		}
		if busiest == None || len(calls[s]) > len(calls[busiest]) {
			busiest = s
		}
		for _, i := range calls[s] {
			x := &a.in.Log.Calls[i]
			if uses[x.Op] == nil {
				uses[x.Op] = &OpUse{Op: x.Op}
			}
			uses[x.Op].Calls++
			uses[x.Op].Bytes += max(x.Bytes(), 0)
		}
	}
	for _, u := range uses {
		c.Ops = append(c.Ops, *u)
	}
	slices.SortFunc(c.Ops, func(x, y OpUse) int { return cmp.Or(cmp.Compare(y.Calls, x.Calls), cmp.Compare(x.Op, y.Op)) })
	slices.Sort(c.Ranks)
	c.Ranks = slices.Compact(c.Ranks) // a process may have several sides, one for each of its GPUs
	c.Hosts = len(hosts)
	c.Signature = a.signature(calls[busiest], busiest)
	return c
}

// idOf names a communicator: its commId; of a split the parent's id, which split, and colour; else the
// pointer in the process that has it.
func (a *assembly) idOf(g *comm.Communicator) string {
	s := first(g.Sides)
	c := &a.in.Log.Communicators[s]
	p := &a.in.Log.Processes[c.Process]
	switch {
	case g.Method == comm.ByID && c.ID != 0:
		return fmt.Sprintf("%#x", c.ID)
	case g.Method == comm.BySplit && c.Parent != nccllog.None:
		parent := &a.in.Log.Communicators[c.Parent]
		id := fmt.Sprintf("%#x", parent.ID)
		if parent.ID == 0 {
			id = fmt.Sprintf("%#x", parent.Pointer)
		}
		return fmt.Sprintf("%s/split %d/colour %d", id, max(c.Split, 0), c.Color)
	}
	return fmt.Sprintf("%s:%d:%#x", p.Host, p.PID, c.Pointer)
}
