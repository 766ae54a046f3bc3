package arrivals

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// hierarchy is a job whose hosts reduce their gradients, of which the first rank of each exchanges what they have with those of the others and
// hands it to its host. Hosts wait for every call.
type hierarchy struct {
	seed           uint64
	hosts, per     int
	begins         bool    // with a barrier of all
	late           []int   // ranks, by 40 ms before they reduce
	behind         bool    // they are late behind that, before the exchange, instead
	reduce, rooted bool    // only the first rank waits where its host reduces; the first host hands on to the others in place of an exchange
	apart          float64 // of the clocks of neighbouring hosts, ms
}

// offset returns what the clock of a host is ahead, ms.
func (h hierarchy) offset(host int) float64 {
	return []float64{0, 1, -0.6, 1.4, -0.3, 2.2, 0.4, -1.1}[host] * h.apart // ms
}

// wait is how the members of a call leave it: when each may, of when they entered.
type wait func(entered []float64, i int) float64

func all(entered []float64, _ int) float64 { return slices.Max(entered) }

// toFirst lets the first member of a reduce alone wait; fromFirst lets the first hand on to the others and be held by them.
func toFirst(entered []float64, i int) float64 {
	if i == 0 {
		return slices.Max(entered)
	}
	return entered[i]
}

func fromFirst(entered []float64, i int) float64 {
	if i == 0 {
		return slices.Max(entered)
	}
	return max(entered[0], entered[i])
}

func (h hierarchy) job(t *testing.T) *Job {
	t.Helper()
	n := h.hosts * h.per
	rng, now := rand.New(rand.NewPCG(h.seed, 6)), make([]float64, n)
	c := &comms.Record{Sources: []comms.Source{{Name: "test"}}}
	for line := range 3 {
		c.Stacks = append(c.Stacks, []comms.Frame{{Function: "step", File: "/job/train.py", Line: line}})
	}
	var leaders, of []int // of, the index of Groups: of each rank its host's, and behind these that of leaders
	for r := range n {
		now[r] = 50 * rng.Float64()
		c.Processes = append(c.Processes, comms.Process{Rank: r, Host: fmt.Sprint("node", r/h.per)})
		if r%h.per == 0 {
			leaders = append(leaders, r)
		}
	}
	group := func(r int, name string, members []int) int {
		c.Groups = append(c.Groups, comms.Group{Process: r, Name: name, Size: len(members), Members: members, Rank: slices.Index(members, r), Enqueued: -1, Completed: -1})
		return len(c.Groups) - 1
	}
	var local [][]int
	for host := range h.hosts {
		var members []int
		for i := range h.per {
			members = append(members, host*h.per+i)
		}
		local = append(local, members)
		for _, r := range members {
			of = append(of, group(r, fmt.Sprint("host", host), members))
		}
	}
	for _, r := range leaders {
		of = append(of, group(r, "leaders", leaders))
	}
	seq := make([]int64, len(c.Groups))
	call := func(members []int, at func(i int) int, op nccl.Op, line int, leave wait) {
		var entered []float64
		for i, r := range members {
			x, g := comms.UnknownCall(r), at(i)
			seq[g]++
			x.Group, x.Name, x.Op, x.Seq, x.HasEnter = g, "gloo:"+op.String(), op, seq[g], true
			x.Stack, x.Enter = line, int64((now[r]+h.offset(r/h.per))*ms)
			c.Calls, entered = append(c.Calls, x), append(entered, now[r])
		}
		for i, r := range members {
			now[r] = leave(entered, i) + 1 + 0.1*rng.Float64()
		}
	}
	inHosts := func(op nccl.Op, line int, leave wait) {
		for _, members := range local {
			call(members, func(i int) int { return of[members[i]] }, op, line, leave)
		}
	}
	if h.begins {
		var everyone, first []int
		for r := range n {
			everyone = append(everyone, r)
		}
		for r := range n {
			first = append(first, group(r, "all", everyone))
		}
		seq = append(seq, make([]int64, n)...)
		call(everyone, func(i int) int { return first[i] }, nccl.AllReduce, 0, all)
	}
	for range 60 {
		for r := range now {
			now[r] += 100 + 2*rng.NormFloat64()
			if !h.behind && slices.Contains(h.late, r) {
				now[r] += 40
			}
		}
		if h.reduce {
			inHosts(nccl.Reduce, 0, toFirst)
		} else {
			inHosts(nccl.AllReduce, 0, all)
		}
		for _, r := range leaders {
			now[r] += 1 + 0.1*rng.NormFloat64()
			if h.behind && slices.Contains(h.late, r) {
				now[r] += 40
			}
		}
		exchange := func(i int) int { return of[n+i] }
		if h.rooted {
			call(leaders, exchange, nccl.Broadcast, 1, fromFirst)
		} else {
			call(leaders, exchange, nccl.AllReduce, 1, all)
		}
		inHosts(nccl.Broadcast, 2, fromFirst)
	}
	j := &Job{}
	if err := j.Add(c); err != nil {
		t.Fatal(err)
	}
	return j
}

// TestHierarchy: a leader that waits for those of other hosts is not late where it hands on to its own, however its clock is off, and who is late
// is named: ranks of one host by its clock, and hosts as what they work between two of their own calls shows it.
func TestHierarchy(t *testing.T) {
	for _, h := range []hierarchy{{hosts: 2, per: 2}, {hosts: 2, per: 4}, {hosts: 4, per: 4}, {hosts: 8, per: 2}} {
		host := []int{}
		for r := h.per; r < 2*h.per; r++ {
			host = append(host, r)
		}
		for name, late := range map[string][]int{"nobody": nil, "a leader": host[:1], "behind": host[:1], "a rank": host[1:2], "a host": host} {
			h.seed = 0
			for _, h.apart = range []float64{0, 3300, 40000} {
				for way := range 4 {
					h.reduce, h.rooted, h.behind, h.late, h.seed = way&1 > 0, way&2 > 0, name == "behind", late, h.seed+1
					r := h.job(t).Analyze(Options{MinGain: 0.1})
					var found []int
					for _, l := range gainful(r) {
						found = append(found, l.Rank())
					}
					slices.Sort(found)
					if !slices.Equal(found, late) {
						t.Errorf("%d hosts of %d, %s, clocks %v ms apart, reduce %v, rooted %v: %v late, want %v", h.hosts, h.per, name, h.apart, h.reduce, h.rooted, found, late)
					}
					for _, c := range r.Clocks {
						host := c.Ranks[0] / h.per
						off := float64(c.Offset-r.Clocks[0].Offset)/ms + h.offset(host)
						if c.HalfWidth >= 0 && max(off, -off) > float64(c.HalfWidth+r.Clocks[0].HalfWidth)/ms {
							t.Errorf("%d hosts of %d, %s, clocks %v ms apart, reduce %v, rooted %v: the clock of host %d is off by %.1f ms, and said to be by ± %.1f at most", h.hosts, h.per, name, h.apart, h.reduce, h.rooted, host, off, float64(c.HalfWidth)/ms)
						}
					}
				}
			}
		}
	}
}

// TestOneRankIsNoClock: one rank that is ahead of its only mate, or behind it, wherever they go is late, or waited for by it: a host has several
// clocks where more of its ranks are apart, or one by more than a step.
func TestOneRankIsNoClock(t *testing.T) {
	for seed := range uint64(6) {
		for _, late := range []int{0, 1, 4, 5, 14, 15} {
			for _, apart := range []float64{0, 3300} {
				h := hierarchy{hosts: 8, per: 2, begins: true, reduce: true, rooted: seed%2 > 0, late: []int{late}, apart: apart, seed: 100 + seed}
				var found []int
				r := h.job(t).Analyze(Options{MinGain: 0.1})
				for _, l := range gainful(r) {
					found = append(found, l.Rank())
				}
				if !slices.Equal(found, h.late) || len(r.Clocks) != h.hosts {
					t.Errorf("clocks %v ms apart, rooted %v, seed %d: %v late by %d clocks, want %v by %d", apart, h.rooted, h.seed, found, len(r.Clocks), h.late, h.hosts)
				}
			}
		}
	}
}
