package sync

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/internal/ordered"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Point is a synchronisation point: one call of a group, with the entries of
// its members. A send and its receive are one too.
type Point = points.Set

// Entry is one member's: of a rank, as an index of Job.ranks, a call.
type Entry = points.Entry

// Nth returns a call of a rank, from 0.
func Nth(rank, call int) Entry { return Entry{Process: int32(rank), Call: int32(call)} }

// Previous returns the call so many calls before an entry, of the same rank.
func Previous(e Entry, calls int32) Entry { return Entry{Process: e.Process, Call: e.Call - calls} }

// Matching is a job whose calls are matched across ranks.
type Matching struct {
	*Program
	Points   []Point
	Of       [][]int32       // [rank][call] → point
	Members  [][]int         // [group] ranks, as indices of Job.ranks, that have entries or should
	Absent   [][]int         // [group] global ranks of members without a record
	ByOrder  []bool          // [group] numbers differ between the ranks, so calls are matched by order
	site     []int32         // [kind] the kind that stands for its line of the program: sizes that change from step to step are one call's
	Varies   []bool          // [kind] it stands for calls of several sizes
	machines map[string]bool // hosts whose ranks have one clock, whatever their entries; nil: nobody asked
	recorded [][2]int32      // [rank] its calls from the first in a recorded step up to the last in one, [from, to); zero: no steps are recorded
	// StaysFor returns how long after an entry its rank stays in the stage of the entry, on its own clock, ns. known is
	// false where that stage was not recorded. nil: no stages were recorded.
	StaysFor func(e Entry) (ns int64, known bool)
	Silent   []bool // [group] sends and receives are counted and not recorded: numbers have gaps, or are fewer than the process counts
}

// Match matches the calls of all ranks.
func (j *Program) Match() *Matching {
	slices.SortFunc(j.Ranks, func(a, b Rank) int { return cmp.Compare(a.ID, b.ID) })
	o := points.MatchOptions{Restarts: true, Lost: make([]bool, len(j.Ranks))}
	for i := range j.Ranks {
		j.ByRank[j.Ranks[i].ID] = i
		o.Lost[i] = j.Ranks[i].Lost > 0
	}
	m := &Matching{Program: j, Of: make([][]int32, len(j.Ranks)), Silent: make([]bool, len(j.Groups))}
	m.joinGroups()
	m.findSilent()
	o.Unsure = m.Silent
	m.site, m.Varies = m.sites()
	m.Points, m.ByOrder = points.Match(m.callsOf(), o)
	for r := range j.Ranks {
		m.Of[r] = make([]int32, len(j.Ranks[r].Calls))
		m.recorded = append(m.recorded, recordedCalls(j.Ranks[r].Calls))
	}
	for i := range m.Points {
		for _, e := range m.Points[i].Entries {
			m.Of[e.Process][e.Call] = int32(i)
		}
	}
	return m
}

// recordedCalls returns the calls of a rank from the first in a recorded step up to the last in one, [from, to).
func recordedCalls(calls []Call) (in [2]int32) {
	for i := range calls {
		if calls[i].Nth == 0 {
			continue
		}
		if in[1] == 0 {
			in[0] = int32(i)
		}
		in[1] = int32(i + 1)
	}
	return in
}

// callsOf returns the calls of each rank.
func (m *Matching) callsOf() iter.Seq[[]points.Call] {
	shapes, numbers := make([]int64, len(m.Kinds)), make(ordered.Numbers[string])
	for i := range m.Kinds {
		n, _ := numbers.Of(m.Kinds[i].Name + "\x00" + ShapeOf(&m.Kinds[i]))
		shapes[i] = int64(n)
	}
	return func(yield func([]points.Call) bool) {
		var calls []points.Call
		for r := range m.Ranks {
			calls = calls[:0]
			for i, c := range m.Ranks[r].Calls {
				p := points.Call{ID: int32(i), Group: c.Group, Number: c.Seq, Kind: shapes[c.Kind]}
				if m.IsMessage(&c) {
					p.Message, p.Sends, p.Kind = true, m.Kinds[c.Kind].Op == nccl.Send, 0
					p.From, p.To = m.messageEnds(r, c)
				}
				calls = append(calls, p)
			}
			if !yield(calls) {
				return
			}
		}
	}
}

// IsComplete reports whether all members of a point are known and have entered.
func (m *Matching) IsComplete(p *Point) bool {
	want := len(m.Members[p.Group])
	if p.Message {
		want = 2
	}
	return len(p.Entries) == want && len(m.Absent[p.Group]) == 0
}

// findSilent finds groups of which processes count more calls than they recorded. Their call numbers have gaps, or end
// before the count.
func (m *Matching) findSilent() {
	latest := map[int32]int64{} // call of any rank
	for g := range m.Groups {
		m.Silent[g] = m.Groups[g].Silent
	}
	for r := range m.Ranks {
		for i := range m.Ranks[r].Calls {
			c := &m.Ranks[r].Calls[i]
			latest[c.Group] = max(latest[c.Group], c.Seq)
		}
	}
	for r := range m.Ranks {
		if e := m.Ranks[r].Extent; e == comms.CutOff || e == comms.Damaged { // what it lacks was recorded
			continue
		}
		most, before := map[int32]int64{}, map[int32]int64{} // of any call; of collectives
		for i := range m.Ranks[r].Calls {
			c := &m.Ranks[r].Calls[i]
			if c.Break {
				clear(before)
			}
			most[c.Group] = max(most[c.Group], c.Seq)
			if !m.IsMessage(c) {
				m.Silent[c.Group] = m.Silent[c.Group] || before[c.Group] > 0 && c.Seq > before[c.Group]+1
				before[c.Group] = c.Seq
			}
		}
		for g, s := range m.Ranks[r].Progress {
			if _, ok := most[int32(g)]; ok && s.Enqueued > latest[int32(g)]+MostBehind {
				m.Silent[g] = true
			}
		}
	}
}

// MostBehind is how many calls the entries of a record may be behind what its status counts.
const MostBehind = 2

// joinGroups completes the members of groups by the ranks with entries in them, and lists the members without a record.
func (m *Matching) joinGroups() {
	m.Members, m.Absent = make([][]int, len(m.Groups)), make([][]int, len(m.Groups))
	for r := range m.Ranks {
		in := map[int32]bool{}
		for _, c := range m.Ranks[r].Calls {
			in[c.Group] = true
		}
		for g := range m.Ranks[r].Progress {
			in[int32(g)] = in[int32(g)] || slices.Contains(m.Groups[g].Members, m.Ranks[r].ID)
		}
		for g, is := range in {
			if is {
				m.Members[g] = append(m.Members[g], r)
			}
		}
	}
	for g := range m.Groups {
		slices.Sort(m.Members[g])
		if of := &m.Groups[g]; of.Members == nil && of.Desc == defaultGroup {
			for id := range m.gatherSize(int32(g)) {
				of.Members = append(of.Members, id)
			}
		}
		for _, id := range m.Groups[g].Members {
			if r, ok := m.ByRank[id]; !ok {
				m.Absent[g] = append(m.Absent[g], id)
			} else if !slices.Contains(m.Members[g], r) {
				m.Members[g] = append(m.Members[g], r)
			}
		}
	}
}

// defaultGroup is how PyTorch describes the group of all ranks of a job.
const defaultGroup = "default_pg"

// gatherSize returns the size of a group whose members nobody lists, by its all-gathers and reduce-scatters; 0 where
// they do not show more members than have a record.
func (m *Matching) gatherSize(g int32) int {
	size, seen := int64(math.MaxInt64), map[int32]bool{}
	for _, r := range m.Members[g] {
		for _, c := range m.Ranks[r].Calls {
			if k := &m.Kinds[c.Kind]; c.Group == g && !seen[c.Kind] {
				seen[c.Kind] = true
				if n := k.Ratio(); n > 0 {
					size = min(size, n)
				}
			}
		}
	}
	if size <= int64(len(m.Members[g])) || size > maxHoles {
		return 0
	}
	return int(size)
}

// maxHoles is the largest number of missing ranks between recorded ones.
const maxHoles = 1 << 16

// MissingRanks returns the ranks without a record, ascending: listed members of groups, and gaps between the numbers of
// recorded ranks, since Gloo lists the members of one group only.
func (m *Matching) MissingRanks() (missing []int) {
	for g := range m.Groups {
		missing = append(missing, m.Absent[g]...)
	}
	last := m.Ranks[len(m.Ranks)-1].ID // in ascending order
	if last-len(m.Ranks) < maxHoles {
		for id := range last {
			if _, ok := m.ByRank[id]; !ok {
				missing = append(missing, id)
			}
		}
	}
	missing = append(missing, m.missingOfMesh()...)
	slices.Sort(missing)
	return slices.Compact(missing)
}

// missingOfMesh returns the unrecorded ranks of a mesh from groups without a member list. Groups of one description in
// which every rank is once, as in a dimension of a mesh, have one size and hold all ranks.
func (m *Matching) missingOfMesh() (missing []int) {
	groups := map[string][]int{}
	for g := range m.Groups {
		if of := &m.Groups[g]; of.Members == nil && of.Desc != "" && of.Desc != defaultGroup && len(m.Members[g]) > 0 {
			groups[of.Desc] = append(groups[of.Desc], g)
		}
	}
	for _, of := range groups {
		size, memberships, members := 0, 0, map[int]bool{}
		for _, g := range of {
			size, memberships = max(size, len(m.Members[g])), memberships+len(m.Members[g])
			for _, r := range m.Members[g] {
				members[r] = true
			}
		}
		if memberships != len(members) || memberships != len(m.Ranks) || size < 2 || size*len(of) > maxHoles {
			continue
		}
		for id := range size * len(of) {
			if _, ok := m.ByRank[id]; !ok {
				missing = append(missing, id)
			}
		}
	}
	return missing
}

// messageEnds returns the sender and the receiver of a message, as indices of ranks.
func (m *Matching) messageEnds(r int, c Call) (from, to int32) {
	other := int32(-2)
	members := m.Groups[c.Group].Members
	switch {
	case c.Peer < 0:
	case members != nil && int(c.Peer) < len(members):
		if i, ok := m.ByRank[members[c.Peer]]; ok {
			other = int32(i)
		}
	case members == nil && int(c.Peer) < len(m.Members[c.Group]):
		other = int32(m.Members[c.Group][c.Peer])
	}
	if m.Kinds[c.Kind].Op == nccl.Send {
		return int32(r), other
	}
	return other, int32(r)
}

// Call returns what was recorded of an entry.
func (m *Matching) Call(e Entry) *Call { return &m.Ranks[e.Process].Calls[e.Call] }

// KindOf returns the kind of an entry's call.
func (m *Matching) KindOf(e Entry) *Kind { return &m.Kinds[m.Call(e).Kind] }

// SiteOf returns the kind that stands for the line of the program from which an entry is made.
func (m *Matching) SiteOf(e Entry) int32 { return m.site[m.Call(e).Kind] }

// Enter returns when an entry was made, on the clock of its rank.
func (m *Matching) Enter(e Entry) int64 { return m.Call(e).Enter }

// IsMessage reports whether a call is a send or a receive.
func (j *Program) IsMessage(c *Call) bool {
	op := j.Kinds[c.Kind].Op
	return op == nccl.Send || op == nccl.Recv
}
