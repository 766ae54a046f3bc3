package kineto

import "github.com/sfstat/sfstat/trace"

// maxGroups bounds the lists of members that are kept, and maxMembers all of
// them together: a hundred groups of ten thousand ranks are a quarter of it.
const (
	maxGroups  = 1 << 14
	maxMembers = 4 << 20
)

// stride is a group whose members are not listed: where they start and how far
// they are apart.
type stride struct {
	start, step int64
	size        int
}

// valid reports whether all members are ranks that may be. No product
// overflows: all three are at most trace.MaxRanks.
func (s stride) valid() bool {
	return s.size > 0 && s.start >= 0 && s.start < trace.MaxRanks && s.step > 0 && s.step <= trace.MaxRanks &&
		s.start+int64(s.size-1)*s.step < trace.MaxRanks
}

// groups are the members of groups, one copy of each list: a group calls
// thousands of times.
type groups struct {
	known   map[groupKey]*[]int
	members int // in all lists
}

// groupKey is what tells the members of a group: the text that lists them, or where there is none that
// can be read, a stride.
type groupKey struct {
	list string
	stride
}

// ranksOf returns the ranks of a group: as listed, else by where they start and how far
// they are apart. nil: not known, or the groups of the trace have too many.
func (g *groups) ranksOf(list []byte, s stride) *[]int {
	if ranks, ok := g.known[groupKey{list: string(list)}]; ok {
		return ranks
	}
	if ranks, ok := rankList(list); ok {
		return g.keep(groupKey{list: string(list)}, len(ranks), func(i int) int { return ranks[i] })
	}
	if ranks, ok := g.known[groupKey{stride: s}]; ok || !s.valid() {
		return ranks
	}
	return g.keep(groupKey{stride: s}, s.size, func(i int) int { return int(s.start) + i*int(s.step) })
}

// keep keeps one more list of n ranks, if there is room for it.
func (g *groups) keep(key groupKey, n int, rank func(i int) int) *[]int {
	if len(g.known) >= maxGroups || g.members+n > maxMembers {
		return nil
	}
	if g.known == nil {
		g.known = make(map[groupKey]*[]int)
	}
	ranks := make([]int, n)
	for i := range ranks {
		ranks[i] = rank(i)
	}
	g.members += n
	g.known[key] = &ranks
	return &ranks
}
