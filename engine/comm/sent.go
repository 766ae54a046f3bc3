package comm

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/internal/ordered"
	"github.com/sfstat/sfstat/trace/enum"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Route is how bytes go from one rank to another.
type Route uint8

const (
	OnRing Route = iota
	OnTree
	Direct // sends, all-to-alls, gathers and scatters
)

var routeNames = [...]string{"ring", "tree", "direct"}

func (r Route) String() string { return enum.Name(routeNames[:], r) }

// Names returns the names of all values.
func (Route) Names() []string { return routeNames[:] }

// Sent is what one rank sends another.
type Sent struct {
	From, To int // ranks of the job
	Route    Route
	Calls    int64 // of the sender
	Bytes    float64
}

// SentBetween returns how many bytes each rank sends each other, ascending, by the algorithm that NCCL's tuning lines name, a ring where they name none: on a ring each rank
// sends to the next one of the communicator, 2(n−1)/n of an AllReduce, (n−1) times what AllGather and ReduceScatter log; on a tree up to its parent and
// down to its children, the tree being balanced in the order of ranks. NCCL's own rings and trees go by the topology, so that neighbours may be others; the sums of each
// rank are the same. unplaced is what goes to ranks that left no log.
func SentBetween(r *Result) (list []Sent, unplaced float64) {
	m := sentMatrix{r: r, members: r.memberNumbers(), algos: map[launchKey]nccl.Algo{}}
	for i := range r.Calls {
		if u := r.Calls[i].Tuning; u != nil {
			if g, ok := r.CommunicatorOf(i); ok {
				m.algos[launchKey{g, r.Calls[i].Launch}] = u.Algo
			}
		}
	}
	for i := range r.Ranks {
		for _, c := range r.Ranks[i].Calls {
			if g, ok := r.CommunicatorOf(c); ok && r.Communicators[g].NRanks > 1 {
				m.call(i, c, g)
			}
		}
	}
	list = m.list.All
	slices.SortFunc(list, func(a, b Sent) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.Route, b.Route))
	})
	return list, m.unplaced
}

type sentMatrix struct {
	r        *Result
	members  []map[int]int // of each communicator, by rank in it
	algos    map[launchKey]nccl.Algo
	list     ordered.List[Sent, Sent]
	unplaced float64
}

// send adds bytes from a rank to a member of a communicator.
func (m *sentMatrix) send(from, communicator, member int, route Route, bytes float64) {
	to, known := m.members[communicator][member]
	if !known {
		m.unplaced += bytes
		return
	}
	key := Sent{From: from, To: to, Route: route}
	sent, first := m.list.Of(key)
	if first {
		*sent = key
	}
	sent.Calls++
	sent.Bytes += bytes
}

// call adds what a rank sends for one of its calls.
func (m *sentMatrix) call(rank, call, g int) {
	c := &m.r.Calls[call]
	from, me, n, bytes := m.r.Ranks[rank].Rank, m.r.Groups[c.Group].Rank, m.r.Communicators[g].NRanks, float64(c.Bytes)
	if me < 0 || bytes <= 0 {
		return
	}
	next := (me + 1) % n
	tree := m.algos[launchKey{g, c.Launch}]
	switch c.Op {
	case nccl.AllReduce:
		if tree == nccl.Tree || tree == nccl.NVLSTree {
			m.tree(from, g, me, bytes)
			return
		}
		m.send(from, g, next, OnRing, bytes*2*float64(n-1)/float64(n))
	case nccl.AllGather, nccl.ReduceScatter:
		m.send(from, g, next, OnRing, bytes*float64(n-1))
	case nccl.Broadcast:
		if next != max(c.Peer, 0) {
			m.send(from, g, next, OnRing, bytes)
		}
	case nccl.Reduce:
		if me != max(c.Peer, 0) {
			m.send(from, g, next, OnRing, bytes)
		}
	case nccl.Send:
		if c.Peer >= 0 && c.Peer != me {
			m.send(from, g, c.Peer, Direct, bytes)
		}
	case nccl.AlltoAll, nccl.AllToAllPivot, nccl.Scatter:
		for to := range n {
			if to != me && (c.Op != nccl.Scatter || me == c.Peer) {
				m.send(from, g, to, Direct, bytes)
			}
		}
	case nccl.Gather:
		if me != c.Peer {
			m.send(from, g, max(c.Peer, 0), Direct, bytes)
		}
	}
}

// tree adds an AllReduce on a tree: all of it to the parent and to each child.
func (m *sentMatrix) tree(from, g, me int, bytes float64) {
	if me > 0 {
		m.send(from, g, (me-1)/2, OnTree, bytes)
	}
	for _, child := range []int{2*me + 1, 2*me + 2} {
		if child < m.r.Communicators[g].NRanks {
			m.send(from, g, child, OnTree, bytes)
		}
	}
}
