package traffic

import (
	"cmp"

	"github.com/sfstat/sfstat/engine/bandwidth"
	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Speed is how fast collectives moved data, beside the links of their communicator and beside communicators that do the
// same. The subjects of package bandwidth are the communicators, by index.
type Speed struct {
	*bandwidth.Result
	Subjects []bandwidth.Subject
	Of       []int // index of Collectives of each measured call
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
		calls, s.Of = append(calls, call), append(s.Of, i)
	}
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
	group := &a.groups[g]
	if group.Method == comm.Alone || group.Missing > 0 || group.Ranks < 2 {
		return bandwidth.Limit{}
	}
	hosts := map[string]int{}
	machines := make([]int, len(group.Sides))
	mine := map[int]bool{}
	for r, s := range group.Sides {
		mine[s] = true
		if p := a.sides[s].Process; p != None {
			host := a.r.Ranks[p].Host
			if _, known := hosts[host]; !known {
				hosts[host] = len(hosts)
			}
			machines[r] = hosts[host]
		}
	}
	var ways []bandwidth.Way
	for i := range a.in.Log.Blocks {
		b := &a.in.Log.Blocks[i]
		if !mine[b.Comm] {
			continue
		}
		for _, w := range b.Ways() {
			ways = append(ways, bandwidth.Way{From: int(w.From), To: int(w.To), Link: w.Class, Bandwidth: w.Bandwidth})
		}
	}
	if len(ways) == 0 {
		return bandwidth.Limit{}
	}
	return bandwidth.Narrowest(ways, machines)
}

// Slowest is the communicator that lost most time by being slower than those of its kind, if one is.
func (s *Speed) Slowest() (worst bandwidth.Suspect, ok bool) {
	for _, x := range s.Suspects {
		if !ok || cmp.Compare(x.Cost, worst.Cost) > 0 {
			worst, ok = x, true
		}
	}
	return worst, ok
}
