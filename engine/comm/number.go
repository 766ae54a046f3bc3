package comm

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/trace/comms"
)

// number gives ranks their global numbers: by the world that all are in, else in the order of hosts, devices
// and pids. It returns why the world did not decide, a note of no kind where it did.
func (r *Result) number(m *members) (why Note) {
	rank, why := r.worldRanks(m)
	if rank == nil {
		return why
	}
	order := make([]int, len(r.Ranks))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(rank[x], rank[y]) })
	old, back := slices.Clone(r.Ranks), make([]int, len(order))
	for to, from := range order {
		r.Ranks[to], back[from] = old[from], to
		r.Ranks[to].Rank = rank[from]
	}
	for i := range m.sides {
		if p := m.sides[i].Process; p != comms.None {
			m.sides[i].Process = back[p]
		}
	}
	for i := range r.Matches {
		r.Matches[i].Rank = back[r.Matches[i].Rank]
	}
	return why
}

// worldRanks returns the number of each rank, nil where no source has numbers. Those without a recorded call
// take the only gap that is left, else numbers beyond the others.
func (r *Result) worldRanks(m *members) (rank []int, why Note) {
	with := 0
	for i := range r.Ranks {
		if r.Ranks[i].hasCalls() {
			with++
		}
	}
	if named, _ := r.namedRanks(); with == 0 || named != nil && r.allLogged() {
		return r.namedRanks()
	}
	best := comms.None
	for i := range m.list {
		g := &m.list[i]
		if g.Method != Alone && g.Ranks >= with && m.covers(g) == with && (best == comms.None || g.Ranks > m.list[best].Ranks) {
			best = i
		}
	}
	if best == comms.None {
		return nil, Note{Kind: NoteNoWorld}
	}
	g := &m.list[best]
	rank = slices.Repeat([]int{comms.None}, len(r.Ranks))
	for n, s := range g.Sides {
		if s != comms.None {
			rank[m.sides[s].Process] = n
		}
	}
	next := g.Ranks
	if g.Missing == 1 && len(r.Ranks) == g.Ranks { // who is left is the one that is missing
		next = slices.Index(g.Sides, comms.None)
	}
	for i := range rank {
		if rank[i] == comms.None {
			rank[i] = next
			next++
		}
	}
	if s := first(g.Sides); m.joined[s] && r.Groups[s].Rank < 0 {
		return rank, Note{Kind: NoteNoInit}
	}
	return rank, Note{}
}

// namedRanks returns the numbers that processes gave themselves, if all did.
func (r *Result) namedRanks() (rank []int, why Note) {
	seen := map[int]bool{}
	for i := range r.Ranks {
		at := r.Ranks[i].Profile
		if r.Ranks[i].HasLog() {
			at = r.Ranks[i].Log
		}
		n := r.Recorded.Processes[at].Rank
		if n < 0 || seen[n] {
			return nil, Note{Kind: NoteUnnumbered, N: int64(len(r.Ranks))}
		}
		seen[n] = true
		rank = append(rank, n)
	}
	return rank, Note{}
}

// allLogged reports whether all ranks left a log.
func (r *Result) allLogged() bool {
	return !slices.ContainsFunc(r.Ranks, func(k Rank) bool { return !k.HasLog() })
}

// covers returns how many ranks a communicator holds, once each; −1 if one is in it twice.
func (m *members) covers(g *SideGroup) int {
	seen := map[int]bool{}
	for _, s := range g.Sides {
		if s == comms.None {
			continue
		}
		p := m.sides[s].Process
		if p == comms.None || seen[p] {
			return -1
		}
		seen[p] = true
	}
	return len(seen)
}

func first(sides []int) int {
	for _, s := range sides {
		if s != comms.None {
			return s
		}
	}
	return comms.None
}
