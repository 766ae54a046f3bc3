package comm

import (
	"cmp"
	"maps"
	"slices"

	"github.com/sfstat/sfstat/engine/comm/parallel"
	"github.com/sfstat/sfstat/internal/ordered"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Subject is what collectives and messages run over: a communicator, or two ranks that send each other messages.
type Subject struct {
	Communicator int  // of two ranks, the first that they were seen on
	Edge         bool // two ranks
	From, To     int  // of an Edge: indices of Ranks, the lower first
	Ranks        int
	Hosts        int // that the ranks are on
	// Family is the same for subjects that do the same work and can be held against each other: the
	// groups of tensor parallelism, the edges of one pipeline.
	Family int
	Limit  Limit
}

// Speed is how fast collectives and messages moved data, beside their links and beside others that do the
// same. The first subjects are the communicators, by index; behind them are the pairs of ranks.
type Speed struct {
	Theory   Theory
	Subjects []Subject
	Cells    []Cell    // by subject, operation and class
	Suspects []Suspect // slow subjects, by the time that they cost
	// Unsettled are slower than their only peer: of two that differ nothing here says which is as it should be.
	Unsettled []Suspect
	Compared  int // comparisons of a cell with peers that could have told

	latencies []latency // of each subject
	material  float64   // by how much slower than its peers something must be
}

// MembersOf returns the ranks of a subject, indices of Ranks, ascending.
func (r *Result) MembersOf(subject int) (list []int) {
	s := &r.Speed.Subjects[subject]
	if s.Edge {
		return []int{s.From, s.To}
	}
	for _, rank := range r.Communicators[s.Communicator].Ranks {
		if i := slices.IndexFunc(r.Ranks, func(k Rank) bool { return k.Rank == rank }); i >= 0 {
			list = append(list, i)
		}
	}
	return list
}

// RanksOf returns the ranks of a subject, of the job.
func (r *Result) RanksOf(subject int) []int {
	s := &r.Speed.Subjects[subject]
	if s.Edge {
		return []int{r.Ranks[s.From].Rank, r.Ranks[s.To].Rank}
	}
	return r.Communicators[s.Communicator].Ranks
}

// WorkOf names what the calls of a cell are: the operation, or Send/Recv between two ranks.
func (r *Result) WorkOf(c *Cell) string {
	if r.Speed.Subjects[c.Subject].Edge {
		return "Send/Recv"
	}
	return c.Op.String()
}

// speed measures the collectives whose ranks were all seen and surely matched, and the messages.
func (r *Result) speed(m *members, theory Theory) {
	l := r.limits(m)
	type family struct {
		kind          parallel.Kind
		ranks, stride int
	}
	families := ordered.Numbers[family]{}
	var subjects []Subject
	for g := range r.Communicators {
		c := &r.Communicators[g]
		of, _ := families.Of(family{c.Kind, c.NRanks, c.Stride()})
		s := Subject{Communicator: g, Ranks: c.NRanks, Hosts: c.Hosts, Family: of}
		if m.list[g].Missing == 0 { // else a link that nothing says of may be narrower
			s.Limit = l.narrowest(g, nil)
		}
		subjects = append(subjects, s)
	}
	subjects = append(subjects, r.edges(len(subjects), l)...)
	var calls []*Collective
	for c := range r.CollectivesAndMessages() {
		if c.Message && c.measurable() || !c.Message && c.Certain && len(c.Parts) > 1 && c.Whole(r) {
			calls = append(calls, c)
		}
	}
	r.Speed = SpeedOf(subjects, calls, theory)
}

// edges returns the pairs of ranks that send each other messages. They are held against those of equal link that do the
// same kind of work.
func (r *Result) edges(first int, l *limits) (list []Subject) {
	edges := map[[2]int]Subject{}
	for i := range r.Transfers {
		t := &r.Transfers[i]
		key := [2]int{t.Parts[0].Rank, t.Parts[1].Rank}
		if _, known := edges[key]; known || !t.measurable() {
			continue
		}
		s := Subject{Communicator: t.Communicator, Edge: true, From: key[0], To: key[1], Ranks: 2, Hosts: 1, Family: int(r.Communicators[t.Communicator].Kind),
			Limit: l.narrowest(t.Communicator, key[:])}
		if r.Ranks[key[0]].Host != r.Ranks[key[1]].Host {
			s.Hosts = 2
		}
		edges[key] = s
	}
	at := map[[2]int]int{}
	for _, key := range slices.SortedFunc(maps.Keys(edges), func(x, y [2]int) int { return slices.Compare(x[:], y[:]) }) {
		at[key] = first + len(list)
		list = append(list, edges[key])
	}
	for i := range r.Transfers {
		t := &r.Transfers[i]
		if n, known := at[[2]int{t.Parts[0].Rank, t.Parts[1].Rank}]; known {
			t.Subject = n
		}
	}
	return list
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

// narrowest returns the narrowest link between some members of a communicator, indices of Ranks; nil: all.
func (l *limits) narrowest(g int, ranks []int) Limit {
	c := &l.m.list[g]
	if c.Method == Alone || c.Ranks < 2 {
		return Limit{}
	}
	hosts := map[int]string{} // of members, by rank in the communicator
	for n, s := range c.Sides {
		if s == comms.None || l.m.sides[s].Process == comms.None || ranks != nil && !slices.Contains(ranks, l.m.sides[s].Process) {
			continue
		}
		hosts[n] = l.r.Ranks[l.m.sides[s].Process].Host
	}
	return Narrowest(l.ways[g], hosts)
}

// Narrowest returns the narrowest path between two members of a communicator on one host, and where there are several hosts the
// narrowest way of a member to the network; hosts are those of its members, by rank in it. Of several statements of one way
// the widest counts: a block may be trimmed.
//
// It bounds what one path carries. Where NCCL drives several paths at once, as between
// GPUs that are all linked to each other, calls may be faster.
func Narrowest(ways []comms.Path, hosts map[int]string) (l Limit) {
	several := len(slices.Compact(slices.Sorted(maps.Values(hosts)))) > 1
	widest := map[[2]int]comms.Path{} // by the later member, or beyond all for the network, and the earlier one
	for _, w := range ways {
		from, known := hosts[w.From]
		to, there := hosts[w.To]
		key := [2]int{max(w.From, w.To), min(w.From, w.To)}
		if w.To == comms.ToNetwork {
			w.Class, to, there, key = nccl.NET, from, several, [2]int{maxGroupRanks, w.From}
		}
		if known && there && from == to && w.From != w.To && w.Bandwidth > widest[key].Bandwidth {
			widest[key] = w
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(widest), func(x, y [2]int) int { return cmp.Or(cmp.Compare(x[0], y[0]), cmp.Compare(x[1], y[1])) }) {
		if w := widest[key]; l.Bandwidth == 0 || w.Bandwidth < l.Bandwidth {
			l = Limit{Link: w.Class, Bandwidth: w.Bandwidth}
		}
	}
	return l
}
