package trace

import (
	"cmp"
	"slices"
	"strconv"
)

// RankSet is a set of ranks as ranges, the first and the last rank of each, ascending and apart from each other. It takes
// as much as the ranges, however many ranks they have.
type RankSet [][2]int

// RankSetOf returns the set of ascending ranks.
func RankSetOf(ranks []int) (s RankSet) {
	for _, id := range ranks {
		if n := len(s); n > 0 && s[n-1][1]+1 == id {
			s[n-1][1] = id
			continue
		}
		s = append(s, [2]int{id, id})
	}
	return s
}

// Len returns how many ranks are in the set.
func (s RankSet) Len() (n int) {
	for _, r := range s {
		n += r[1] - r[0] + 1
	}
	return n
}

// Has reports whether a rank is in the set.
func (s RankSet) Has(id int) bool {
	_, found := slices.BinarySearchFunc(s, id, func(r [2]int, id int) int {
		if r[0] <= id && id <= r[1] {
			return 0
		}
		return cmp.Compare(r[0], id)
	})
	return found
}

// IDs returns the ranks, ascending; nil where there are none.
func (s RankSet) IDs() (ranks []int) {
	for _, r := range s {
		for id := r[0]; id <= r[1]; id++ {
			ranks = append(ranks, id)
		}
	}
	return ranks
}

// String writes the ranks compactly: "0-3,7,9-11".
func (s RankSet) String() string {
	var b []byte
	for i, r := range s {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(r[0]), 10)
		if r[1] > r[0] {
			b = strconv.AppendInt(append(b, '-'), int64(r[1]), 10)
		}
	}
	return string(b)
}

// Union returns the ranks that are in one set or the other.
func (s RankSet) Union(o RankSet) RankSet {
	all := slices.Concat(s, o)
	slices.SortFunc(all, func(a, b [2]int) int { return cmp.Compare(a[0], b[0]) })
	out := all[:0]
	for _, r := range all {
		if n := len(out); n > 0 && r[0] <= out[n-1][1]+1 {
			out[n-1][1] = max(out[n-1][1], r[1])
			continue
		}
		out = append(out, r)
	}
	return out
}
