package arrivals

// together are sets of ranks: of each a lower one that is in its set, the first of them itself.
type together []int

func newTogether(ranks int) together {
	t := make(together, ranks)
	for r := range t {
		t[r] = r
	}
	return t
}

// first of the set of a rank.
func (t together) first(r int) int {
	for t[r] != r {
		r = t[r]
	}
	return r
}

// join makes the sets of two ranks one.
func (t together) join(a, b int) {
	a, b = t.first(a), t.first(b)
	t[max(a, b)] = min(a, b)
}
