package comm

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/engine/comm/group"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Communicator is one communicator of the job and what was done on it.
type Communicator struct {
	ID       string // commId, or what else tells it from the others
	Kind     Kind
	Evidence []Evidence // of the kind
	Ranks    []int      // of the job, whose calls were recorded, ascending, each once
	NRanks   int
	Sides    []int // indices of Groups, of those ranks
	Joined   bool  // put together by ends of collectives alone
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

// Total is calls and bytes of all operations.
func (c *Communicator) Total() (calls, bytes int64) {
	for _, u := range c.Ops {
		calls, bytes = calls+u.Calls, bytes+u.Bytes
	}
	return calls, bytes
}

// describe says of every communicator who its ranks are, how it is used and what for. Those on which nothing was called, of one rank, stay: the layout
// is seen by them too.
func (r *Result) describe(m *members, duplicates map[int]bool, t *tied, l Layout) {
	calls := make([][]int, len(r.Groups))
	for i := range r.Calls {
		if !duplicates[i] {
			calls[r.Calls[i].Group] = append(calls[r.Calls[i].Group], i)
		}
	}
	u := usageOf{r: r, m: m, began: t.began, turns: map[int]turns{}, duplicates: duplicates}
	r.groupOf = slices.Repeat([]int{None}, len(r.Groups))
	for g := range m.list {
		r.Communicators = append(r.Communicators, u.describe(&m.list[g], calls))
		for _, s := range m.list[g].Sides {
			if s != None {
				r.groupOf[s] = g
			}
		}
	}
	r.kinds(l)
}

func (u *usageOf) describe(g *group.Communicator, calls [][]int) Communicator {
	c := Communicator{NRanks: g.Ranks, Alone: g.Method == group.Alone, ID: u.r.idOf(g)}
	hosts, uses, busiest := map[string]bool{}, map[nccl.Op]*OpUse{}, None
	for _, s := range g.Sides {
		if s == None {
			continue
		}
		c.Sides = append(c.Sides, s)
		c.Joined = c.Joined || u.m.joined[s]
		if p := u.m.sides[s].Process; p != None {
			c.Ranks = append(c.Ranks, u.r.Ranks[p].Rank)
			hosts[u.r.Ranks[p].Host] = true
		}
		if busiest == None || len(calls[s]) > len(calls[busiest]) {
			busiest = s
		}
		for _, i := range calls[s] {
			x := &u.r.Calls[i]
			if uses[x.Op] == nil {
				uses[x.Op] = &OpUse{Op: x.Op}
			}
			uses[x.Op].Calls++
			uses[x.Op].Bytes += max(x.Bytes, 0)
		}
	}
	for _, use := range uses {
		c.Ops = append(c.Ops, *use)
	}
	slices.SortFunc(c.Ops, func(x, y OpUse) int { return cmp.Or(cmp.Compare(y.Calls, x.Calls), cmp.Compare(x.Op, y.Op)) })
	slices.Sort(c.Ranks)
	c.Ranks = slices.Compact(c.Ranks) // a process may have several sides, one for each of its GPUs
	c.Hosts = len(hosts)
	c.Signature = u.signature(calls[busiest], busiest)
	return c
}

// idOf names a communicator: its commId; of a split the parent's id, which split, and colour; else the
// pointer in the process that has it.
func (r *Result) idOf(g *group.Communicator) string {
	c := &r.Groups[first(g.Sides)]
	p := &r.Recorded.Processes[c.Process]
	switch {
	case g.Method == group.ByID && c.ID != 0:
		return fmt.Sprintf("%#x", c.ID)
	case g.Method == group.BySplit && c.Split != nil:
		parent := &r.Groups[c.Split.Parent]
		return fmt.Sprintf("%#x/split %d/colour %d", cmp.Or(parent.ID, parent.Handle), max(c.Split.Number, 0), c.Split.Color)
	}
	return fmt.Sprintf("%s:%d:%#x", p.Host, p.PID, c.Handle)
}
