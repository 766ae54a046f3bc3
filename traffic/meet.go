package traffic

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/internal/robust"
)

// A log of before NCCL 2.16, or without INIT lines, says nothing that two sides of a
// communicator have in common. Their kernels do: a collective ends on all its ranks at once, and all
// count it alike. Two sides that end nine of ten collectives of the same count within together are one.
const (
	together    = 50_000 // nanoseconds, on one clock
	meetTimes   = 8      // collectives in common at least, or as many as there are
	meetPercent = 90
)

// ending is the end of a kernel and whether its match is certain.
type ending struct {
	at      int64
	certain bool
}

// endsBySide is when the kernel of each count of each side ended: of collectives, and, where there are two
// ranks, of sends and receives, which then end together too.
func (a *assembly) endsBySide() map[int]map[uint64]ending {
	ends := map[int]map[uint64]ending{}
	for _, m := range a.r.Matches {
		c := &a.in.Log.Calls[m.Call]
		if c.Op.PointToPoint() && c.Ranks != 2 || c.Op.OneSided() {
			continue
		}
		if ends[c.Comm] == nil {
			ends[c.Comm] = map[uint64]ending{}
		}
		k := &a.r.Ranks[m.Rank]
		ends[c.Comm][c.OpCount] = ending{a.in.Exports[k.Export].Processes[k.Recorded].Kernels[m.Kernel].End, m.Certain}
	}
	return ends
}

// meet puts sides together that nothing else does, and groups again.
func (a *assembly) meet() {
	ends := a.endsBySide()
	var alone []int
	for i := range a.groups {
		// A side without ends meets nobody, and a log without exports has only those.
		if g := &a.groups[i]; g.Method == comm.Alone && g.Ranks > 1 && a.sides[g.Sides[0]].Process != None && len(ends[g.Sides[0]]) > 0 {
			alone = append(alone, g.Sides[0])
		}
	}
	a.met = map[int]bool{}
	for n, g := range a.joined(alone, ends) {
		a.name(g, uint64(n)+1)
	}
	for s := range a.unsized { // how many they are is not known after all
		if !a.met[s] {
			a.sides[s].Ranks = 0
		}
	}
	if len(a.met) > 0 || len(a.unsized) > 0 {
		a.groups = comm.Group(a.sides)
	}
	if len(a.met) > 0 {
		a.note("%d sides of communicators were put together by their collectives ending at once: the log names no ids (NCCL before 2.16, or no INIT lines)", len(a.met))
	}
}

// acquaintance is two sides that meet, and the median of how far apart they end.
type acquaintance struct {
	x, y  int
	apart int64
}

// joined puts sides together, those that end closest first: the two tensor ranks of a stage may send
// nearly at once, and only one of them receives from the other.
func (a *assembly) joined(alone []int, ends map[int]map[uint64]ending) (found [][]int) {
	var pairs []acquaintance
	for i, x := range alone {
		for _, y := range alone[i+1:] {
			if apart, ok := a.meets(x, y, ends); ok {
				pairs = append(pairs, acquaintance{x, y, apart})
			}
		}
	}
	slices.SortStableFunc(pairs, func(p, q acquaintance) int { return cmp.Compare(p.apart, q.apart) })
	of := map[int]int{} // group of each side
	groups := map[int][]int{}
	for _, s := range alone {
		of[s], groups[s] = s, []int{s}
	}
	for _, p := range pairs {
		x, y := of[p.x], of[p.y]
		if x == y || !a.fit(groups[x], groups[y]) {
			continue
		}
		for _, s := range groups[y] {
			of[s] = x
		}
		groups[x] = append(groups[x], groups[y]...)
		delete(groups, y)
	}
	for _, s := range alone {
		if g := groups[s]; len(g) > 1 {
			found = append(found, g)
		}
	}
	return found
}

// fit says whether two groups may be parts of one communicator: they are not too many, and no process and no
// rank is in both.
func (a *assembly) fit(g, h []int) bool {
	if len(g)+len(h) > a.sides[g[0]].Ranks {
		return false
	}
	for _, x := range g {
		for _, y := range h {
			s, o := &a.sides[x], &a.sides[y]
			if s.Process == o.Process || s.Rank >= 0 && s.Rank == o.Rank {
				return false
			}
		}
	}
	return true
}

// meets says whether two sides end their collectives together.
func (a *assembly) meets(x, y int, ends map[int]map[uint64]ending) (apart int64, ok bool) {
	s, o := &a.sides[x], &a.sides[y]
	if s.Process == o.Process || s.Ranks != o.Ranks || a.r.Ranks[s.Process].Export != a.r.Ranks[o.Process].Export {
		return 0, false
	}
	var all []int64
	for count, e := range ends[x] {
		if f, both := ends[y][count]; both {
			all = append(all, max(e.at-f.at, f.at-e.at))
		}
	}
	if len(all) == 0 || len(all) < min(meetTimes, len(ends[x]), len(ends[y])) {
		return 0, false
	}
	return robust.Upper(all), robust.Select(all, (len(all)-1)*meetPercent/100) <= together
}

// name gives the sides of one communicator an id that no log has, and ranks where the log has none.
func (a *assembly) name(g []int, id uint64) {
	slices.SortFunc(g, func(x, y int) int { return cmp.Compare(a.sides[x].Process, a.sides[y].Process) })
	known := !slices.ContainsFunc(g, func(s int) bool { return a.sides[s].Rank < 0 })
	for i, s := range g {
		if !known {
			a.sides[s].Rank = i
		}
		a.sides[s].ID, a.met[s] = id, true
		if a.unsized[s] {
			a.sides[s].Ranks = len(g)
		}
	}
}

// number gives processes their global ranks: by the world that all are in, else in the order of hosts, devices
// and pids.
func (a *assembly) number() {
	rank, why := a.worldRanks()
	a.ranked = why
	if rank == nil {
		return
	}
	order := make([]int, len(a.r.Ranks))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(rank[x], rank[y]) })
	old, back := slices.Clone(a.r.Ranks), make([]int, len(order))
	for to, from := range order {
		a.r.Ranks[to], back[from] = old[from], to
		a.r.Ranks[to].Rank = rank[from]
	}
	for i := range a.sides {
		if p := a.sides[i].Process; p != None {
			a.sides[i].Process = back[p]
		}
	}
	for i := range a.r.Matches {
		a.r.Matches[i].Rank = back[a.r.Matches[i].Rank]
	}
}

// worldRanks is the rank of each process, nil where nothing tells. Processes of exports alone come last.
func (a *assembly) worldRanks() (rank []int, why string) {
	with := 0
	for i := range a.r.Ranks {
		if a.r.Ranks[i].Process != None {
			with++
		}
	}
	if with == 0 {
		return a.namedRanks()
	}
	best := None
	for i := range a.groups {
		g := &a.groups[i]
		if g.Method != comm.Alone && g.Ranks >= with && a.covers(g) == with && (best == None || g.Ranks > a.groups[best].Ranks) {
			best = i
		}
	}
	if best == None {
		return nil, "ranks are numbered by host, CUDA device and pid: no communicator in the log holds all processes"
	}
	g := &a.groups[best]
	rank = slices.Repeat([]int{None}, len(a.r.Ranks))
	for r, s := range g.Sides {
		if s != comm.None {
			rank[a.sides[s].Process] = r
		}
	}
	next := g.Ranks
	for i := range rank {
		if rank[i] == None {
			rank[i] = next
			next++
		}
	}
	if a.met[first(g.Sides)] && a.in.Log.Communicators[first(g.Sides)].Rank < 0 {
		return rank, "ranks are numbered by host, CUDA device and pid: the log has no INIT lines"
	}
	return rank, ""
}

// namedRanks is the ranks that processes of exports give themselves, if all do.
func (a *assembly) namedRanks() (rank []int, why string) {
	seen := map[int]bool{}
	for i := range a.r.Ranks {
		k := &a.r.Ranks[i]
		n := a.in.Exports[k.Export].Processes[k.Recorded].Rank
		if n < 0 || seen[n] {
			return nil, fmt.Sprintf("%d ranks are numbered by host, CUDA device and pid: there is no log to tell", len(a.r.Ranks))
		}
		seen[n] = true
		rank = append(rank, n)
	}
	return rank, ""
}

// covers is how many processes a communicator holds, once each; −1 if one is in it twice.
func (a *assembly) covers(g *comm.Communicator) int {
	seen := map[int]bool{}
	for _, s := range g.Sides {
		if s == comm.None {
			continue
		}
		p := a.sides[s].Process
		if p == None || seen[p] {
			return -1
		}
		seen[p] = true
	}
	return len(seen)
}

func first(sides []int) int {
	for _, s := range sides {
		if s != comm.None {
			return s
		}
	}
	return None
}
