package arrivals

import (
	"cmp"
	"math"
	"slices"

	"github.com/sfstat/sfstat/trace/nccl"
)

// point is a synchronisation point: one call of a group, with the entries of
// its members. A send and its receive are one too.
type point struct {
	group   int32
	seq     int64
	part    int32
	age     int32 // of its group's numbering, 0: the last, as a group may be made anew
	entries []entry
	whole   bool // all members that are known have entered
}

// entry is one member's.
type entry struct{ rank, call int32 }

// matching is a job whose calls are matched across ranks.
type matching struct {
	*Job
	points  []point
	of      [][]int32 // [rank][call] → point
	members [][]int   // [group] ranks, as indices of Job.ranks, that have entries or should
	absent  [][]int   // [group] global ranks of members without a record
	byOrder []bool    // [group] numbers differ between the ranks, so calls are matched by order
	silent  []bool    // [group] sends and receives are counted and not recorded: numbers have gaps, or are fewer than the process counts
}

type pointKey struct {
	group     int32
	seq       int64
	part, age int32
	from, to  int32 // of a message, else −1
}

// match matches the calls of all ranks.
func (j *Job) match() *matching {
	slices.SortFunc(j.ranks, func(a, b rank) int { return cmp.Compare(a.id, b.id) })
	for i := range j.ranks {
		j.byRank[j.ranks[i].id] = i
	}
	m := &matching{Job: j, of: make([][]int32, len(j.ranks)), byOrder: make([]bool, len(j.groups)), silent: make([]bool, len(j.groups))}
	m.join()
	var keys []pointKey // of one rank: of all they are as large as the calls
	for r := range j.ranks {
		keys = m.keysOf(r, keys[:0]) // which finds the silent groups
	}
	m.uncounted()
	fallenBack := m.fallBack()
	found := map[pointKey]int32{}
	for r := range j.ranks {
		if fallenBack != nil {
			keys, fallenBack[r] = fallenBack[r], nil
		} else {
			keys = m.keysOf(r, keys[:0])
		}
		m.of[r] = make([]int32, len(keys))
		for i, k := range keys {
			at, ok := found[k]
			if !ok {
				at = int32(len(m.points))
				found[k] = at
				m.points = append(m.points, point{group: k.group, seq: k.seq, part: k.part, age: k.age})
			}
			m.of[r][i] = at
			m.points[at].entries = append(m.points[at].entries, entry{int32(r), int32(i)})
		}
	}
	for i := range m.points {
		p := &m.points[i]
		want := len(m.members[p.group])
		if m.message(p) {
			want = 2
		}
		p.whole = len(p.entries) == want && len(m.absent[p.group]) == 0
	}
	return m
}

// uncounted finds groups of which processes count more calls than their numbers
// say.
func (m *matching) uncounted() {
	for g := range m.groups {
		m.silent[g] = m.silent[g] || m.groups[g].silent
	}
	for r := range m.ranks {
		last := map[int32]int64{}
		for _, c := range m.ranks[r].calls {
			last[c.group] = max(last[c.group], c.seq)
		}
		for g, s := range m.ranks[r].status {
			if seq, ok := last[int32(g)]; ok && s.enqueued > seq+2 {
				m.silent[g] = true
			}
		}
	}
}

// join gives groups with unknown members the ranks that have entries in them, and
// lists the members without a record.
func (m *matching) join() {
	m.members, m.absent = make([][]int, len(m.groups)), make([][]int, len(m.groups))
	for r := range m.ranks {
		seen := map[int32]bool{}
		for _, c := range m.ranks[r].calls {
			if !seen[c.group] {
				seen[c.group] = true
				m.members[c.group] = append(m.members[c.group], r)
			}
		}
		for g := range m.ranks[r].status {
			if !seen[int32(g)] && slices.Contains(m.groups[g].members, m.ranks[r].id) {
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
				if n := ratio(k); n > 0 {
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

// keysOf appends the keys of a rank's calls by their numbers to none. Numbers that begin
// anew are another age of the group, counted from the last.
func (m *matching) keysOf(r int, keys []pointKey) []pointKey {
	calls := m.ranks[r].calls
	type numbering struct {
		seq  int64
		age  int32
		pair map[[2]int32]int64
	}
	at := map[int32]*numbering{}
	for _, c := range calls {
		n := at[c.group]
		if n == nil {
			n = &numbering{pair: map[[2]int32]int64{}}
			at[c.group] = n
		}
		k := pointKey{group: c.group, seq: c.seq, part: c.part, age: n.age, from: -1, to: -1}
		if op := m.kinds[c.kind].op; op == nccl.Send || op == nccl.Recv {
			k.from, k.to = m.ends(r, c)
			k.seq, k.part = n.pair[[2]int32{k.from, k.to}], 0
			n.pair[[2]int32{k.from, k.to}]++
		} else {
			if c.seq < n.seq {
				n.age++
				k.age = n.age
			}
			m.silent[c.group] = m.silent[c.group] || n.seq > 0 && c.seq > n.seq+1
			n.seq = c.seq
		}
		keys = append(keys, k)
	}
	for i := range keys { // from the last
		n := at[keys[i].group]
		keys[i].age = n.age - keys[i].age
		if keys[i].from >= 0 && m.ranks[r].lost > 0 { // messages of a ring are counted from its end
			keys[i].seq -= n.pair[[2]int32{keys[i].from, keys[i].to}]
		}
	}
	return keys
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

func (m *matching) message(p *point) bool {
	if len(p.entries) == 0 {
		return false
	}
	op := m.kindOf(p.entries[0]).op
	return op == nccl.Send || op == nccl.Recv
}

func (m *matching) call(e entry) *call   { return &m.ranks[e.rank].calls[e.call] }
func (m *matching) kindOf(e entry) *kind { return &m.kinds[m.call(e).kind] }
func (m *matching) enter(e entry) int64  { return m.call(e).enter }
func (m *matching) isMessage(c *call) bool {
	op := m.kinds[c.kind].op
	return op == nccl.Send || op == nccl.Recv
}

// fallBack matches the calls of a group by order if sequence numbers do not identify
// them: most numbers that two ranks share have different operations or sizes, or
// hardly any number is shared. It returns the keys of all ranks; nil where no group has
// gaps in its numbers, and all are matched by those.
func (m *matching) fallBack() [][]pointKey {
	if !slices.Contains(m.silent, true) {
		return nil
	}
	keys := make([][]pointKey, len(m.ranks))
	for r := range keys {
		keys[r] = m.keysOf(r, nil)
	}
	for g := range m.groups {
		if len(m.members[g]) > 1 && m.silent[g] && m.disagree(int32(g), keys) {
			m.byOrder[g] = true
			m.renumber(int32(g), keys)
		}
	}
	return keys
}

// disagree compares every member with the first.
func (m *matching) disagree(g int32, keys [][]pointKey) bool {
	first := map[pointKey]int32{}
	one := m.members[g][0]
	for i, k := range keys[one] {
		if k.group == g && k.from < 0 {
			first[k] = m.ranks[one].calls[i].kind
		}
	}
	shared, alike, all := 0, 0, 0
	for _, r := range m.members[g][1:] {
		for i, k := range keys[r] {
			if k.group != g || k.from >= 0 {
				continue
			}
			all++
			if other, ok := first[k]; ok {
				shared++
				if m.sameShape(other, m.ranks[r].calls[i].kind) {
					alike++
				}
			}
		}
	}
	return all > 4 && (alike*2 < shared || shared*2 < all)
}

func (m *matching) sameShape(a, b int32) bool {
	return a == b || m.kinds[a].name == m.kinds[b].name && (m.kinds[a].tensors == m.kinds[b].tensors || shapeOf(&m.kinds[a]) == shapeOf(&m.kinds[b]))
}

// renumber counts a group's collectives from the first, or of rings from the
// last.
func (m *matching) renumber(g int32, keys [][]pointKey) {
	fromEnd := false
	for _, r := range m.members[g] {
		fromEnd = fromEnd || m.ranks[r].lost > 0
	}
	for _, r := range m.members[g] {
		n := int64(0)
		for i := range keys[r] {
			if k := &keys[r][i]; k.group == g && k.from < 0 {
				n++
				k.seq, k.part, k.age = n, 0, 0
			}
		}
		if !fromEnd {
			continue
		}
		for i := range keys[r] {
			if k := &keys[r][i]; k.group == g && k.from < 0 {
				k.seq -= n
			}
		}
	}
}
