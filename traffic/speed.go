package traffic

import (
	"slices"

	"github.com/sfstat/sfstat/engine/bandwidth"
	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/ingest/nccllog"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Speed is how fast collectives and messages moved data, beside their links and beside others that do the
// same. The subjects of package bandwidth are the communicators, by index, and behind them the pairs of ranks.
type Speed struct {
	*bandwidth.Result
	Subjects []bandwidth.Subject
	Pairs    []Pair
	Of       []Measured // of each measured call
}

// Measured is what a measured call is: index of Collectives or of Transfers, None the other.
type Measured struct{ Collective, Transfer int }

// PairOf is the pair of ranks that a subject is, if it is one.
func (r *Result) PairOf(subject int) (p Pair, ok bool) {
	if subject < len(r.Communicators) {
		return Pair{}, false
	}
	return r.Speed.Pairs[subject-len(r.Communicators)], true
}

// BytesOf is the size of what was measured, as logged.
func (r *Result) BytesOf(m Measured) int64 {
	if m.Transfer != None {
		return r.Transfers[m.Transfer].Bytes
	}
	return r.Collectives[m.Collective].Bytes
}

// WorkOf names what the calls of a cell are: the operation, or Send/Recv between two ranks.
func (r *Result) WorkOf(c *bandwidth.Cell) string {
	if c.Subject >= len(r.Communicators) {
		return "Send/Recv"
	}
	return c.Op.String()
}

// speed measures the collectives whose ranks were all seen and surely matched.
func (a *assembly) speed() {
	s := &a.r.Speed
	type family struct {
		kind          Kind
		ranks, stride int
	}
	families := map[family]int{}
	for g := range a.groups {
		c := &a.r.Communicators[g]
		key := family{c.Kind, c.NRanks, c.stride()}
		if _, known := families[key]; !known {
			families[key] = len(families)
		}
		s.Subjects = append(s.Subjects, bandwidth.Subject{Kind: bandwidth.Group, Communicator: g, Ranks: c.NRanks, Family: families[key], Limit: a.limit(g)})
	}
	var calls []bandwidth.Call
	for i := range a.r.Collectives {
		c := &a.r.Collectives[i]
		if !c.Certain || len(c.Parts) < 2 || !c.Whole(a.r) {
			continue
		}
		call := bandwidth.Call{Subject: c.Communicator, Op: c.Op, Algo: a.r.AlgoOf(c), Bytes: c.Bytes}
		for _, p := range c.Parts {
			call.Members = append(call.Members, bandwidth.Span{Start: p.Start, End: p.End})
		}
		calls, s.Of = append(calls, call), append(s.Of, Measured{Collective: i, Transfer: None})
	}
	calls = a.pairSubjects(calls)
	s.Result = bandwidth.Analyze(s.Subjects, calls, bandwidth.DefaultOptions())
}

// AlgoOf is the algorithm that the communicator's first rank was told; the others are not.
func (r *Result) AlgoOf(c *Collective) nccl.Algo {
	for _, p := range c.Parts {
		if u := r.Log.TuningOf(&r.Log.Calls[p.Call]); u != nil {
			return u.Algo
		}
	}
	return nccl.UnknownAlgo
}

// limit is the narrowest link of a communicator, as the topology that its members printed says; none where a member
// left no log.
func (a *assembly) limit(g int) bandwidth.Limit {
	if a.groups[g].Missing > 0 {
		return bandwidth.Limit{}
	}
	return a.limitOf(g, nil)
}

// limitOf is the narrowest link between some members of a communicator, indices of Ranks; nil: all.
func (a *assembly) limitOf(g int, ranks []int) bandwidth.Limit {
	group := &a.groups[g]
	if group.Method == comm.Alone || group.Ranks < 2 {
		return bandwidth.Limit{}
	}
	hosts := map[string]int{}
	var machines []int
	member := map[int]int{} // of ranks in the communicator
	for r, s := range group.Sides {
		if s == None || a.sides[s].Process == None || ranks != nil && !slices.Contains(ranks, a.sides[s].Process) {
			continue
		}
		host := a.r.Ranks[a.sides[s].Process].Host
		if _, known := hosts[host]; !known {
			hosts[host] = len(hosts)
		}
		member[r] = len(machines)
		machines = append(machines, hosts[host])
	}
	var ways []bandwidth.Way
	for _, w := range a.waysOf(g) {
		from, ok := member[int(w.From)]
		to, there := member[int(w.To)]
		if w.To == nccllog.Network {
			to, there = bandwidth.Network, true
		}
		if ok && there {
			ways = append(ways, bandwidth.Way{From: from, To: to, Link: w.Class, Bandwidth: w.Bandwidth})
		}
	}
	if len(ways) == 0 || len(machines) < 2 {
		return bandwidth.Limit{}
	}
	return bandwidth.Narrowest(ways, machines)
}

// waysOf is what the members of a communicator printed of its topology.
func (a *assembly) waysOf(g int) []nccllog.Way {
	if a.ways == nil {
		a.ways = make([][]nccllog.Way, len(a.groups))
		for i := range a.in.Log.Blocks {
			b := &a.in.Log.Blocks[i]
			if b.Comm == None {
				continue
			}
			if of, ok := a.r.groupOf[b.Comm]; ok {
				a.ways[of] = append(a.ways[of], b.Ways()...)
			}
		}
	}
	return a.ways[g]
}
