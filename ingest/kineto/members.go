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
	listed  map[string]*[]int // by the text that lists them
	strided map[stride]*[]int
	members int // in all lists
}

// of are the ranks of a group: as listed, else by where they start and how far
// they are apart. nil: not known, or the groups of the trace have too many.
func (g *groups) of(list []byte, s stride) *[]int {
	if ranks, ok := g.listed[string(list)]; ok {
		return ranks
	}
	if ranks, ok := rankList(list); ok {
		if !g.keep(len(ranks)) {
			return nil
		}
		if g.listed == nil {
			g.listed = make(map[string]*[]int)
		}
		g.listed[string(list)] = &ranks
		return &ranks
	}
	if !s.valid() {
		return nil
	}
	if ranks, ok := g.strided[s]; ok {
		return ranks
	}
	if !g.keep(s.size) {
		return nil
	}
	ranks := make([]int, s.size)
	for i := range ranks {
		ranks[i] = int(s.start) + i*int(s.step)
	}
	if g.strided == nil {
		g.strided = make(map[stride]*[]int)
	}
	g.strided[s] = &ranks
	return &ranks
}

// keep reports whether there is room for one more list of n members.
func (g *groups) keep(n int) bool {
	if len(g.listed)+len(g.strided) >= maxGroups || g.members+n > maxMembers {
		return false
	}
	g.members += n
	return true
}
