package capacity

import "github.com/sfstat/sfstat/trace/nccl"

// Network is where a Way leads that leaves the machine.
const Network = -1

// Way is what a topology says of the path from one member to another, or to the network.
type Way struct {
	From, To  int // ranks in the communicator; To may be Network
	Link      nccl.Link
	Bandwidth float64 // of its narrowest link, GB/s
}

// Limit is the narrowest that data of a communicator must pass.
type Limit struct {
	Link      nccl.Link
	From, To  int     // the members that it is between; To is Network for a card
	Bandwidth float64 // GB/s; 0: the topology does not say
	Benchmark bool    // nccl-tests measured it; Link, From and To say nothing then
}

// Source names what the limit is of: the class of the link, or nccl-tests.
func (l Limit) Source() string {
	if l.Benchmark {
		return "nccl-tests"
	}
	return l.Link.String()
}

// Narrowest finds the limit of a communicator whose member r is on machine machines[r]: the
// narrowest path between two members of one machine, and where there are several machines the narrowest
// way of a member to the network. Of several statements of one way the widest counts: a
// block may be trimmed.
//
// It bounds what one path carries. Where NCCL drives several paths at once, as between
// GPUs that are all linked to each other, calls may be faster. O(ways + Σ members² of a machine).
func Narrowest(ways []Way, machines []int) Limit {
	known := widest(ways, len(machines))
	var l Limit
	hold := func(p pair) {
		w, ok := known[p]
		if ok && (l.Bandwidth == 0 || w.Bandwidth < l.Bandwidth) {
			l.Link, l.From, l.To, l.Bandwidth = w.Link, p.from, p.to, w.Bandwidth
		}
	}
	on := map[int][]int{} // members of each machine
	for a, m := range machines {
		for _, b := range on[m] {
			hold(pair{b, a})
		}
		on[m] = append(on[m], a)
	}
	for a := range machines {
		if len(on) > 1 {
			hold(pair{a, Network})
		}
	}
	return l
}

// pair is two members in order, or a member and Network.
type pair struct{ from, to int }

// widest is the widest statement of every way between n members.
func widest(ways []Way, n int) map[pair]Way {
	best := map[pair]Way{}
	for _, w := range ways {
		if w.From < 0 || w.From >= n || w.To < Network || w.To >= n || w.From == w.To || !(w.Bandwidth > 0) {
			continue
		}
		p := pair{min(w.From, w.To), max(w.From, w.To)}
		if w.To == Network {
			p, w.Link = pair{w.From, Network}, nccl.NET
		}
		if w.Bandwidth > best[p].Bandwidth {
			best[p] = w
		}
	}
	return best
}
