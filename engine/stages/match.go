package stages

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/trace/nccl"
	"github.com/sfstat/sfstat/trace/profile"
)

// member is a call of one rank, in its Comm.
type member struct{ rank, collective int }

// matching says which collectives of different ranks are one.
type matching struct {
	sets        [][]member // each of two ranks or more, by rank: first those of collectives
	collectives int        // how many sets are
	of          [][]int32  // [rank][collective] position in sets, −1: none
	messages    []message
	partners    map[member][]member // that messages go to and come from
}

// callKey is what the calls of one collective agree on: the group, and its
// sequence number there, or else the step, the operation and the ordinal in it.
type callKey struct {
	group   string
	seq     int64 // −1: the rest counts
	step    int64
	op      nccl.Op
	ordinal int
}

// match finds the collectives that are one on several ranks, and the sends and
// receives that are one message. Where ranks
// differ in how often they call in a step, that step's calls of the group are
// not matched: which belongs to which cannot be told. O(n) and a sort.
func match(ranks []*profile.Rank) *matching {
	m := &matching{of: make([][]int32, len(ranks))}
	found := make(map[callKey][]member)
	var keys []callKey // in order of appearance
	counts := make(map[callKey][]int)
	for r, rank := range ranks {
		m.of[r] = slices.Repeat([]int32{-1}, len(rank.Comm.Calls))
		if len(ranks) == 1 {
			return m
		}
		ordinals, groups := make(map[callKey]int), rank.GroupKeys()
		for _, i := range byStart(rank) {
			c := &rank.Comm.Calls[i]
			if c.Step < 0 || c.Op.Message() {
				continue
			}
			k := callKey{group: groups[c.Group], seq: -1, step: c.Step, op: c.Op}
			if c.Seq >= 0 {
				k = callKey{group: k.group, seq: c.Seq}
			} else {
				kind := k
				k.ordinal = ordinals[kind]
				ordinals[kind]++
			}
			if found[k] == nil {
				keys = append(keys, k)
			}
			found[k] = append(found[k], member{r, i})
		}
		for kind, n := range ordinals {
			counts[kind] = append(counts[kind], n)
		}
	}
	for _, k := range keys {
		kind := k
		kind.ordinal = 0
		if set := found[k]; len(set) > 1 && distinct(set) && (k.seq >= 0 || same(counts[kind])) {
			for _, each := range set {
				m.of[each.rank][each.collective] = int32(len(m.sets))
			}
			m.sets = append(m.sets, set)
		}
	}
	m.collectives = len(m.sets)
	m.matchMessages(ranks)
	return m
}

func byStart(r *profile.Rank) []int {
	order := make([]int, len(r.Comm.Calls))
	starts := make([]int64, len(order))
	for i := range order {
		order[i] = i
		starts[i], _ = r.Comm.Ran(i)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(starts[a], starts[b]) })
	return order
}

// ran is from when to when a member ran.
func ran(ranks []*profile.Rank, of member) (start, end int64) {
	return ranks[of.rank].Comm.Ran(of.collective)
}

func distinct(set []member) bool {
	for i := 1; i < len(set); i++ {
		if set[i].rank == set[i-1].rank {
			return false
		}
	}
	return true
}

func same(n []int) bool {
	return !slices.ContainsFunc(n, func(x int) bool { return x != n[0] })
}
