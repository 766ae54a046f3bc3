package arrivals

import (
	"math/bits"
	"slices"

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

// rooted is the gathers or reduces of one kind in a group.
type rooted struct{ kind, group int32 }

// mostRoots bounds the members of which the root is looked for: the first ones.
const mostRoots = 64

// roots finds the gathers and reduces in which only the root waits for the other
// members, which hand in and go on. Of each member as the root, and of a full wait, it
// chooses the one with the least scatter right after the call, constant differences
// included: a root whose wait is not seen works longer than the others in every step.
func (t *timed) roots() {
	t.root = map[rooted]int32{}
	of := map[rooted][]cohort{}
	for i := range t.places {
		p := &t.places[i]
		if op := t.kinds[p.before].op; op != nccl.Gather && op != nccl.Reduce {
			continue
		}
		for _, c := range t.sample(p.cohorts) {
			before := t.call(entry{Process: c[0].Process, Call: c[0].Call - 1})
			r := rooted{before.kind, before.group}
			of[r] = append(of[r], c)
		}
	}
	for r, sample := range of {
		least, _ := t.scatter(sample, 1)
		least -= least / 20
		best := int32(-1)
		for _, rank := range t.members[r.group][:min(len(t.members[r.group]), mostRoots)] {
			t.root[r] = int32(rank)
			if all, _ := t.scatter(sample, 1); all < least {
				least, best = all, int32(rank)
			}
		}
		if t.root[r] = best; best < 0 {
			delete(t.root, r)
		}
	}
}

// inTree reports whether a point is such a broadcast, all of whose members
// entered.
func (t *timed) inTree(p int32) bool {
	of := &t.points[p]
	return len(of.Entries) > 0 && t.tree[t.call(of.Entries[0]).kind] && len(of.Entries) == len(t.members[of.Group])
}

// treeRelease is when the member of a rank may go on: those that it waits for have entered, itself among them.
func (t *timed) treeRelease(p, rank int32) int64 {
	of := t.points[p].Entries
	at := slices.IndexFunc(of, func(e entry) bool { return e.Process == rank })
	last := t.at(of[0])
	for v := at; v > 0; v &^= 1 << (bits.Len(uint(v)) - 1) { // the way to the first: without the highest bit
		last = max(last, t.at(of[v]))
	}
	for child := 1 << bits.Len(uint(at)); at+child < len(of); child <<= 1 {
		last = max(last, t.at(of[at+child]))
	}
	return last
}
