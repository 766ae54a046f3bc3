package sync

// Sets are sets of ranks: of each a lower one that is in its set, the first of them itself.
type Sets []int

// NewSets returns as many sets as there are ranks.
func NewSets(ranks int) Sets {
	t := make(Sets, ranks)
	for r := range t {
		t[r] = r
	}
	return t
}

// First returns the lowest rank of the set of a rank.
func (t Sets) First(r int) int {
	for t[r] != r {
		r = t[r]
	}
	return r
}

// Join makes the sets of two ranks one.
func (t Sets) Join(a, b int) {
	a, b = t.First(a), t.First(b)
	t[max(a, b)] = min(a, b)
}
