package arrivals

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

// point is a synchronisation point: one call of a group, with the entries of
// its members. A send and its receive are one too.
type point = points.Set

// entry is one member's: of a rank, as an index of Job.ranks, a call.
type entry = points.Entry

// nth is a call of a rank, and back the one so many calls before an entry.
func nth(rank, call int) entry { return entry{Process: int32(rank), Call: int32(call)} }

func back(e entry, calls int32) entry { return entry{Process: e.Process, Call: e.Call - calls} }

// matching is a job whose calls are matched across ranks.
type matching struct {
	*Program
	points   []point
	of       [][]int32       // [rank][call] → point
	members  [][]int         // [group] ranks, as indices of Job.ranks, that have entries or should
	absent   [][]int         // [group] global ranks of members without a record
	byOrder  []bool          // [group] numbers differ between the ranks, so calls are matched by order
	site     []int32         // [kind] the kind that stands for its line of the program: sizes that change from step to step are one call's
	varies   []bool          // [kind] it stands for calls of several sizes
	machines map[string]bool // hosts whose ranks have one clock, whatever their entries; nil: nobody asked
	silent   []bool          // [group] sends and receives are counted and not recorded: numbers have gaps, or are fewer than the process counts
}

// match matches the calls of all ranks.
func (j *Program) match() *matching {
	slices.SortFunc(j.ranks, func(a, b rank) int { return cmp.Compare(a.id, b.id) })
	o := points.MatchOptions{Restarts: true, Lost: make([]bool, len(j.ranks))}
	for i := range j.ranks {
		j.byRank[j.ranks[i].id] = i
		o.Lost[i] = j.ranks[i].lost > 0
	}
	m := &matching{Program: j, of: make([][]int32, len(j.ranks)), silent: make([]bool, len(j.groups))}
	m.join()
	m.uncounted()
	o.Unsure = m.silent
	m.site, m.varies = m.sites()
	m.points, m.byOrder = points.Match(m.callsOf(), o)
	for r := range j.ranks {
		m.of[r] = make([]int32, len(j.ranks[r].calls))
	}
	for i := range m.points {
		for _, e := range m.points[i].Entries {
			m.of[e.Process][e.Call] = int32(i)
		}
	}
	return m
}

// callsOf are the calls of each rank.
func (m *matching) callsOf() iter.Seq[[]points.Call] {
	shapes, numbers := make([]int64, len(m.kinds)), make(ordered.Numbers[string])
	for i := range m.kinds {
		n, _ := numbers.Of(m.kinds[i].name + "\x00" + shapeOf(&m.kinds[i]))
		shapes[i] = int64(n)
	}
	return func(yield func([]points.Call) bool) {
		var calls []points.Call
		for r := range m.ranks {
			calls = calls[:0]
			for i, c := range m.ranks[r].calls {
				p := points.Call{ID: int32(i), Group: c.group, Number: c.seq, Kind: shapes[c.kind]}
				if m.isMessage(&c) {
					p.Message, p.Sends, p.Kind = true, m.kinds[c.kind].op == nccl.Send, 0
					p.From, p.To = m.ends(r, c)
				}
				calls = append(calls, p)
			}
			if !yield(calls) {
				return
			}
		}
	}
}

// whole reports whether all members of a point are known and have entered it.
func (m *matching) whole(p *point) bool {
	want := len(m.members[p.Group])
	if p.Message {
		want = 2
	}
	return len(p.Entries) == want && len(m.absent[p.Group]) == 0
}

// uncounted finds groups of which processes count more calls than they recorded: their
// numbers have gaps, or end before what they count.
func (m *matching) uncounted() {
	latest := map[int32]int64{} // call of any rank
	for g := range m.groups {
		m.silent[g] = m.groups[g].silent
	}
	for r := range m.ranks {
		for i := range m.ranks[r].calls {
			c := &m.ranks[r].calls[i]
			latest[c.group] = max(latest[c.group], c.seq)
		}
	}
	for r := range m.ranks {
		if e := m.ranks[r].extent; e == comms.CutOff || e == comms.Damaged { // what it lacks was recorded
			continue
		}
		most, before := map[int32]int64{}, map[int32]int64{} // of any call; of collectives
		for i := range m.ranks[r].calls {
			c := &m.ranks[r].calls[i]
			most[c.group] = max(most[c.group], c.seq)
			if !m.isMessage(c) {
				m.silent[c.group] = m.silent[c.group] || before[c.group] > 0 && c.seq > before[c.group]+1
				before[c.group] = c.seq
			}
		}
		for g, s := range m.ranks[r].status {
			if _, ok := most[int32(g)]; ok && s.enqueued > latest[int32(g)]+mostBehind {
				m.silent[g] = true
			}
		}
	}
}

// mostBehind is how many calls the entries of a record may be behind what its status counts.
const mostBehind = 2

// join gives groups with unknown members the ranks that have entries in them, and
// lists the members without a record.
func (m *matching) join() {
	m.members, m.absent = make([][]int, len(m.groups)), make([][]int, len(m.groups))
	for r := range m.ranks {
		in := map[int32]bool{}
		for _, c := range m.ranks[r].calls {
			in[c.group] = true
		}
		for g := range m.ranks[r].status {
			in[int32(g)] = in[int32(g)] || slices.Contains(m.groups[g].members, m.ranks[r].id)
		}
		for g, is := range in {
			if is {
				m.members[g] = append(m.members[g], r)
			}
		}
	}
	for g := range m.groups {
		slices.Sort(m.members[g])
		if of := &m.groups[g]; of.members == nil && of.desc == defaultGroup {
			for id := range m.gathered(int32(g)) {
				of.members = append(of.members, id)
			}
		}
		for _, id := range m.groups[g].members {
			if r, ok := m.byRank[id]; !ok {
				m.absent[g] = append(m.absent[g], id)
			} else if !slices.Contains(m.members[g], r) {
				m.members[g] = append(m.members[g], r)
			}
		}
	}
}

// defaultGroup is how PyTorch describes the group of all ranks of a job.
const defaultGroup = "default_pg"

// gathered is the size of a group whose members nobody lists, by its all-gathers and
// reduce-scatters; 0 where they do not show more members than have a record.
func (m *matching) gathered(g int32) int {
	size, seen := int64(math.MaxInt64), map[int32]bool{}
	for _, r := range m.members[g] {
		for _, c := range m.ranks[r].calls {
			if k := &m.kinds[c.kind]; c.group == g && !seen[c.kind] {
				seen[c.kind] = true
				if n := k.ratio(); n > 0 {
					size = min(size, n)
				}
			}
		}
	}
	if size <= int64(len(m.members[g])) || size > mostHoles {
		return 0
	}
	return int(size)
}

// mostHoles is up to how many numbers between those of recorded ranks are ranks
// without a record.
const mostHoles = 1 << 16

// unrecorded are the ranks without a record, ascending: members of groups, and those
// whose numbers lie between recorded ones, as Gloo tells the members of one group only.
func (m *matching) unrecorded() (missing []int) {
	for g := range m.groups {
		missing = append(missing, m.absent[g]...)
	}
	last := m.ranks[len(m.ranks)-1].id // in ascending order
	if last-len(m.ranks) < mostHoles {
		for id := range last {
			if _, ok := m.byRank[id]; !ok {
				missing = append(missing, id)
			}
		}
	}
	slices.Sort(missing)
	return slices.Compact(missing)
}

// ends are sender and receiver of a message, as indices of ranks.
func (m *matching) ends(r int, c call) (from, to int32) {
	other := int32(-2)
	members := m.groups[c.group].members
	switch {
	case c.peer < 0:
	case members != nil && int(c.peer) < len(members):
		if i, ok := m.byRank[members[c.peer]]; ok {
			other = int32(i)
		}
	case members == nil && int(c.peer) < len(m.members[c.group]):
		other = int32(m.members[c.group][c.peer])
	}
	if m.kinds[c.kind].op == nccl.Send {
		return int32(r), other
	}
	return other, int32(r)
}

func (m *matching) call(e entry) *call   { return &m.ranks[e.Process].calls[e.Call] }
func (m *matching) kindOf(e entry) *kind { return &m.kinds[m.call(e).kind] }
func (m *matching) siteOf(e entry) int32 { return m.site[m.call(e).kind] }
func (m *matching) enter(e entry) int64  { return m.call(e).enter }
func (j *Program) isMessage(c *call) bool {
	op := j.kinds[c.kind].op
	return op == nccl.Send || op == nccl.Recv
}
