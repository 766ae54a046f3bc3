package arrivals

import (
	"math"
	"math/bits"

	"github.com/sfstat/sfstat/trace/nccl"
)

// trees finds the broadcasts in which members do not wait for every other member.
// Gloo sends the data along a binomial tree from the first member: each member waits
// for those between the first and itself and, because it forwards the data, for its
// children. Of a tree and a full wait, it chooses the one with less scatter right
// after the call.
func (t *timed) trees() {
	t.tree = map[int32]bool{}
	all, tree := map[int32]int64{}, map[int32]int64{}
	for i := range t.places {
		p := &t.places[i]
		if t.kinds[p.before].op != nccl.Broadcast {
			continue
		}
		_, within := t.scatter(p.cohorts, 1)
		all[p.before] += within
		t.tree[p.before] = true
		_, within = t.scatter(p.cohorts, 1)
		tree[p.before] += within
		t.tree[p.before] = false
	}
	for kind := range all {
		t.tree[kind] = tree[kind] < all[kind]*19/20
	}
}

// inTree reports whether a point is such a broadcast, all of whose members
// entered.
func (t *timed) inTree(p int32) bool {
	of := &t.points[p]
	return len(of.Entries) > 0 && t.tree[t.call(of.Entries[0]).kind] && len(of.Entries) == len(t.members[of.Group])
}

// eachInTree calls f with the entries of a point that the member of a rank waits
// for, itself among them.
func (t *timed) eachInTree(p, rank int32, f func(entry)) {
	of := t.points[p].Entries
	at := 0
	for i, e := range of {
		if e.Process == rank {
			at = i
		}
	}
	for v := at; ; v &^= 1 << (bits.Len(uint(v)) - 1) { // the way to the first: without the highest bit
		f(of[v])
		if v == 0 {
			break
		}
	}
	for child := 1 << bits.Len(uint(at)); at+child < len(of); child <<= 1 {
		f(of[at+child])
	}
}

// treeRelease is when the member of a rank may go on.
func (t *timed) treeRelease(p, rank int32) int64 {
	last := int64(math.MinInt64)
	t.eachInTree(p, rank, func(e entry) { last = max(last, t.at(e)) })
	return last
}
