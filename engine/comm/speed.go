package comm

import (
	"slices"

	"github.com/sfstat/sfstat/engine/comm/bandwidth"
	"github.com/sfstat/sfstat/engine/comm/capacity"
	"github.com/sfstat/sfstat/engine/comm/parallel"
	"github.com/sfstat/sfstat/internal/ordered"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Speed is how fast collectives and messages moved data, beside their links and beside others that do the
// same. The subjects of package bandwidth are the communicators, by index, and behind them the pairs of ranks.
type Speed struct {
	*bandwidth.Result
	Theory   capacity.Theory
	Subjects []capacity.Subject
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
	if m.Transfer != comms.None {
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
func (r *Result) speed(m *members, theory capacity.Theory) {
	s, l := &r.Speed, r.limits(m)
	type family struct {
		kind          parallel.Kind
		ranks, stride int
	}
	families := ordered.Numbers[family]{}
	for g := range r.Communicators {
		c := &r.Communicators[g]
		of, _ := families.Of(family{c.Kind, c.NRanks, c.Stride()})
		s.Subjects = append(s.Subjects, capacity.Subject{Kind: capacity.Group, Communicator: g, Ranks: c.NRanks, Hosts: c.Hosts, Family: of, Limit: l.of(g)})
	}
	var calls []bandwidth.Call
	for i := range r.Collectives {
		c := &r.Collectives[i]
		if !c.Certain || len(c.Parts) < 2 || !c.Whole(r) {
			continue
		}
		call := bandwidth.Call{Subject: c.Communicator, Op: c.Op, Algo: r.algoOf(c), Bytes: c.Bytes}
		for _, p := range c.Parts {
			call.Members = append(call.Members, bandwidth.Span{Start: p.Start, End: p.End})
		}
		calls, s.Of = append(calls, call), append(s.Of, Measured{Collective: i, Transfer: comms.None})
	}
	calls = r.pairSubjects(calls, l)
	s.Theory = theory
	s.Result = bandwidth.Analyze(s.Subjects, calls, theory)
}

// algoOf is the algorithm that the communicator's first rank was told; the others are not.
func (r *Result) algoOf(c *Collective) nccl.Algo {
	for _, p := range c.Parts {
		if u := r.Calls[p.Call].Tuning; u != nil {
			return u.Algo
		}
	}
	return nccl.UnknownAlgo
}

// limits knows the narrowest links, as the topology that ranks printed says.
type limits struct {
	r    *Result
	m    *members
	ways [][]comms.Path // of each communicator, what its members printed
}

func (r *Result) limits(m *members) *limits {
	l := &limits{r: r, m: m, ways: make([][]comms.Path, len(m.list))}
	for _, p := range r.Recorded.Paths {
		if g := r.recordedOn(p.Group); g != comms.None {
			l.ways[g] = append(l.ways[g], p)
		}
	}
	return l
}

// of is the narrowest link of a communicator; none where a member left no log.
func (l *limits) of(g int) capacity.Limit {
	if l.m.list[g].Missing > 0 {
		return capacity.Limit{}
	}
	return l.between(g, nil)
}

// between is the narrowest link between some members of a communicator, indices of Ranks; nil: all.
func (l *limits) between(g int, ranks []int) capacity.Limit {
	c := &l.m.list[g]
	if c.Method == Alone || c.Ranks < 2 {
		return capacity.Limit{}
	}
	hosts := ordered.Numbers[string]{}
	var machines []int
	member := map[int]int{} // of ranks in the communicator
	for n, s := range c.Sides {
		if s == comms.None || l.m.sides[s].Process == comms.None || ranks != nil && !slices.Contains(ranks, l.m.sides[s].Process) {
			continue
		}
		host, _ := hosts.Of(l.r.Ranks[l.m.sides[s].Process].Host)
		member[n] = len(machines)
		machines = append(machines, host)
	}
	var ways []capacity.Way
	for _, w := range l.ways[g] {
		from, ok := member[w.From]
		to, there := member[w.To]
		if w.To == comms.ToNetwork {
			to, there = capacity.Network, true
		}
		if ok && there {
			ways = append(ways, capacity.Way{From: from, To: to, Link: w.Class, Bandwidth: w.Bandwidth})
		}
	}
	if len(ways) == 0 || len(machines) < 2 {
		return capacity.Limit{}
	}
	return capacity.Narrowest(ways, machines)
}
