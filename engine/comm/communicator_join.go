package comm

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/engine/comm/align"
	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace/comms"
)

// A log of before NCCL 2.16, or without INIT lines, says nothing that two sides of a
// communicator have in common. Their kernels do: a collective ends on all its ranks at once, and all
// count it alike. Two sides that end nine of ten collectives of the same count within together are one.
const (
	together      = 50_000 // nanoseconds, on one clock
	leastShared   = 8      // collectives in common at least, or as many as there are
	sharedPercent = 90
)

// members is which sides of communicators, one for each of Result.Groups, are of one.
type members struct {
	sides  []comms.Group // Process is an index of Ranks; None: of no rank, and nothing is known of it then
	list   []SideGroup
	joined map[int]bool // sides that only the ends of their collectives put together
}

// members groups the sides by what was recorded of them.
func (r *Result) members(t *tiedCalls) *members {
	owner := make(map[int]int)
	for i := range r.Ranks {
		for _, p := range []int{r.Ranks[i].Log, r.Ranks[i].Profile} {
			if p != comms.None {
				owner[p] = i
			}
		}
	}
	m := &members{sides: slices.Clone(r.Groups), joined: map[int]bool{}}
	for i := range m.sides {
		s := &m.sides[i]
		if k, ok := owner[s.Process]; ok {
			s.Process = k
		} else {
			*s = comms.Group{Process: comms.None, Rank: -1, Size: s.Size}
		}
		if t.unsized[i] { // at most the job
			s.Size = len(r.Ranks)
		}
	}
	m.list = GroupSides(m.sides)
	return m
}

// alignSides returns the sides of each communicator that several of some ranks have.
func (m *members) alignSides(at map[int]int) (groups [][]align.Member) {
	for i := range m.list {
		if m.list[i].Method == Alone {
			continue
		}
		var list []align.Member
		for _, s := range m.list[i].Sides {
			if s == comms.None {
				continue
			}
			if p, ok := at[m.sides[s].Process]; ok {
				list = append(list, align.Member{Process: p, Comm: s})
			}
		}
		if len(list) > 1 {
			groups = append(groups, list)
		}
	}
	return groups
}

// ending is the end of a kernel and whether its match is certain.
type ending struct {
	at      int64
	certain bool
}

// endsBySide returns when the kernel of each launch of each side ended: of collectives, and, where there are two
// ranks, of sends and receives, which then end together too.
func (r *Result) endsBySide() map[int]map[int64]ending {
	ends := map[int]map[int64]ending{}
	for _, m := range r.Matches {
		c := &r.Calls[m.Call]
		if c.Op.PointToPoint() && r.Groups[c.Group].Size != 2 || c.Op.OneSided() {
			continue
		}
		if ends[c.Group] == nil {
			ends[c.Group] = map[int64]ending{}
		}
		ends[c.Group][c.Launch] = ending{r.Kernels(m.Rank)[m.Kernel].End, m.Certain}
	}
	return ends
}

// joinByEnds puts sides together that nothing recorded does, and groups again.
func (r *Result) joinByEnds(m *members, t *tiedCalls) {
	ends := r.endsBySide()
	var alone []int
	for i := range m.list {
		// A side without ends is like no other, and a log without kernels has only those.
		if g := &m.list[i]; g.Method == Alone && g.Ranks > 1 && m.sides[g.Sides[0]].Process != comms.None && len(ends[g.Sides[0]]) > 0 {
			alone = append(alone, g.Sides[0])
		}
	}
	for n, g := range r.endingTogether(m, alone, ends) {
		m.name(g, uint64(n)+1, t)
	}
	for s := range t.unsized { // how many they are is not known after all
		if !m.joined[s] {
			m.sides[s].Size = 0
		}
	}
	if len(m.joined) > 0 || len(t.unsized) > 0 {
		m.list = GroupSides(m.sides)
	}
	r.count(NoteJoined, len(m.joined))
}

// twoSides is two sides that end together, and the median of how far apart they do.
type twoSides struct {
	x, y  int
	apart int64
}

// endingTogether puts sides together, those that end closest first: the two tensor ranks of a stage may send
// nearly at once, and only one of them receives from the other.
func (r *Result) endingTogether(m *members, alone []int, ends map[int]map[int64]ending) (found [][]int) {
	var pairs []twoSides
	for i, x := range alone {
		for _, y := range alone[i+1:] {
			if apart, ok := r.endTogether(m, x, y, ends); ok {
				pairs = append(pairs, twoSides{x, y, apart})
			}
		}
	}
	slices.SortStableFunc(pairs, func(p, q twoSides) int { return cmp.Compare(p.apart, q.apart) })
	of := map[int]int{} // group of each side
	groups := map[int][]int{}
	for _, s := range alone {
		of[s], groups[s] = s, []int{s}
	}
	for _, p := range pairs {
		x, y := of[p.x], of[p.y]
		if x == y || !m.mayJoin(groups[x], groups[y]) {
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

// mayJoin reports whether two groups may be parts of one communicator: they are not too many, and no process and no
// rank is in both.
func (m *members) mayJoin(g, h []int) bool {
	if len(g)+len(h) > m.sides[g[0]].Size {
		return false
	}
	for _, x := range g {
		for _, y := range h {
			s, o := &m.sides[x], &m.sides[y]
			if s.Process == o.Process || s.Rank >= 0 && s.Rank == o.Rank {
				return false
			}
		}
	}
	return true
}

// endTogether reports whether two sides end their collectives together.
func (r *Result) endTogether(m *members, x, y int, ends map[int]map[int64]ending) (apart int64, ok bool) {
	s, o := &m.sides[x], &m.sides[y]
	if s.Process == o.Process || s.Size != o.Size || r.clockOf(s.Process) != r.clockOf(o.Process) {
		return 0, false
	}
	var all []int64
	for count, e := range ends[x] {
		if f, both := ends[y][count]; both {
			all = append(all, max(e.at-f.at, f.at-e.at))
		}
	}
	if len(all) == 0 || len(all) < min(leastShared, len(ends[x]), len(ends[y])) {
		return 0, false
	}
	return robust.Upper(all), robust.Select(all, (len(all)-1)*sharedPercent/100) <= together
}

// name gives the sides of one communicator an id that no log has, and ranks where nothing recorded any.
func (m *members) name(g []int, id uint64, t *tiedCalls) {
	slices.SortFunc(g, func(x, y int) int { return cmp.Compare(m.sides[x].Process, m.sides[y].Process) })
	known := !slices.ContainsFunc(g, func(s int) bool { return m.sides[s].Rank < 0 })
	for i, s := range g {
		if !known {
			m.sides[s].Rank = i
		}
		m.sides[s].ID, m.joined[s] = id, true
		if t.unsized[s] {
			m.sides[s].Size = len(g)
		}
	}
}
