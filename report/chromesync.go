package report

import (
	"slices"

	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/trace"
)

// point is what a kernel did together with those of other ranks: one collective, or messages with some peers.
type point struct {
	start int64 // of the kernel, on the first clock
	begin int64 // when the last of the others had come
	peers []int // of messages: ranks of the job
	parts int   // collectives and messages
	bus   *number
	tuned int // a call of it, of any rank, whose log tells how it is run; None where none does
}

// points finds what every kernel, by rank and index, took part in.
func points(r *comm.Result) map[[2]int]*point {
	bus := map[comm.Measured]*number{}
	if r.Speed.Result != nil {
		for k, m := range r.Speed.Of {
			bus[m] = known(r.Speed.Measures[k].Bus)
		}
	}
	all := map[[2]int]*point{}
	join := func(p comm.Part, begin int64, of comm.Measured) *point {
		at := [2]int{p.Rank, p.Kernel}
		if all[at] == nil {
			all[at] = &point{start: p.Start, tuned: comm.None}
		}
		m := all[at]
		m.begin, m.bus = max(m.begin, begin), bus[of]
		m.parts++
		return m
	}
	for i := range r.Collectives {
		c := &r.Collectives[i]
		tuned := comm.None
		for _, p := range c.Parts {
			if r.Calls[p.Call].Tuning != nil {
				tuned = p.Call
			}
		}
		for _, p := range c.Parts {
			join(p, c.Begin, comm.Measured{Collective: i, Transfer: comm.None}).tuned = tuned
		}
	}
	for i := range r.Transfers {
		t := &r.Transfers[i]
		begin, _ := t.Begin()
		for end, p := range t.Ends {
			m := join(p, begin, comm.Measured{Collective: comm.None, Transfer: i})
			m.peers = append(m.peers, r.Ranks[t.Ends[1-end].Rank].Rank)
		}
	}
	return all
}

// tell adds what is known of the synchronisation point. The bandwidth of several messages at once is that of none of them.
func (m *point) tell(a *operationArgs) {
	a.Wait = known(float64(m.begin-m.start) / 1e3)
	if m.parts == 1 {
		a.Bandwidth = m.bus
	}
	if len(m.peers) > 0 {
		slices.Sort(m.peers)
		a.Peers = trace.RankList(slices.Compact(m.peers))
	}
}
