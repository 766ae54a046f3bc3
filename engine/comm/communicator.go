package comm

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/engine/comm/parallel"
	"github.com/sfstat/sfstat/trace/comms"
)

// describe finds of every communicator who its ranks are, how it is used and what for. Those on which nothing was called, of one rank, stay: the layout
// is seen by them too.
func (r *Result) describe(m *members, duplicates map[int]bool, t *tiedCalls, l parallel.Layout) {
	calls := make([][]int, len(r.Groups))
	for i := range r.Calls {
		if !duplicates[i] {
			calls[r.Calls[i].Group] = append(calls[r.Calls[i].Group], i)
		}
	}
	u := usageOf{r: r, m: m, began: t.began, turns: map[int]turns{}, duplicates: duplicates}
	r.groupOf = slices.Repeat([]int{comms.None}, len(r.Groups))
	for g := range m.list {
		r.Communicators = append(r.Communicators, u.describe(&m.list[g], calls))
		for _, s := range m.list[g].Sides {
			if s != comms.None {
				r.groupOf[s] = g
			}
		}
	}
	r.classify(l)
}

// classify finds what communicators are for.
func (r *Result) classify(l parallel.Layout) {
	ranks := 0
	for i := range r.Ranks {
		ranks = max(ranks, r.Ranks[i].Rank+1)
	}
	for i := range r.Communicators {
		ranks = max(ranks, min(r.Communicators[i].NRanks, 1<<20))
	}
	filled, fits := parallel.Classify(r.Communicators, l, ranks)
	switch {
	case fits:
	case filled.World() != ranks:
		r.note(Note{Kind: NoteLayoutSize, Layout: filled, N: int64(ranks)})
	default:
		r.note(Note{Kind: NoteLayoutExperts, Layout: filled})
	}
}

func (u *usageOf) describe(g *SideGroup, calls [][]int) parallel.Communicator {
	c := parallel.Communicator{NRanks: g.Ranks, Alone: g.Method == Alone, ID: u.r.idOf(g)}
	hosts, uses, busiest := map[string]bool{}, parallel.OpTally{}, comms.None
	for _, s := range g.Sides {
		if s == comms.None {
			continue
		}
		c.Sides = append(c.Sides, s)
		c.Joined = c.Joined || u.m.joined[s]
		if p := u.m.sides[s].Process; p != comms.None {
			c.Ranks = append(c.Ranks, u.r.Ranks[p].Rank)
			hosts[u.r.Ranks[p].Host] = true
		}
		if busiest == comms.None || len(calls[s]) > len(calls[busiest]) {
			busiest = s
		}
		for _, i := range calls[s] {
			uses.Add(u.r.Calls[i].Op, u.r.Calls[i].Bytes)
		}
	}
	c.Ops = uses.Uses()
	slices.Sort(c.Ranks)
	c.Ranks = slices.Compact(c.Ranks) // a process may have several sides, one for each of its GPUs
	c.Hosts = len(hosts)
	c.Signature = u.signature(calls[busiest], busiest)
	return c
}

// idOf names a communicator: its commId; of a split the parent's id, which split, and colour; else the
// pointer in the process that has it.
func (r *Result) idOf(g *SideGroup) string {
	c := &r.Groups[first(g.Sides)]
	p := &r.Recorded.Processes[c.Process]
	switch {
	case g.Method == ByID && c.ID != 0:
		return fmt.Sprintf("%#x", c.ID)
	case g.Method == BySplit && c.Split != nil:
		parent := &r.Groups[c.Split.Parent]
		return fmt.Sprintf("%#x/split %d/colour %d", cmp.Or(parent.ID, parent.Handle), max(c.Split.Number, 0), c.Split.Color)
	}
	return fmt.Sprintf("%s:%d:%#x", p.Host, p.PID, c.Handle)
}

// memberNumbers is, of each communicator, the number in the job of each of its ranks that logged.
func (r *Result) memberNumbers() []map[int]int {
	number := map[int]int{}
	for i := range r.Ranks {
		if p := r.Ranks[i].Log; p != comms.None {
			number[p] = r.Ranks[i].Rank
		}
	}
	members := make([]map[int]int, len(r.Communicators))
	for g := range members {
		members[g] = map[int]int{}
		for _, s := range r.Communicators[g].Sides {
			if n, logged := number[r.Groups[s].Process]; logged {
				members[g][r.Groups[s].Rank] = n
			}
		}
	}
	return members
}

// recordedOn returns the communicator that a group of Recorded is a side of, None: of none.
func (r *Result) recordedOn(group int) int { return r.groupOf[r.sideOf[group]] }
