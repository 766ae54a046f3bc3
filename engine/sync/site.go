package sync

import (
	"fmt"

	"github.com/sfstat/sfstat/internal/ordered"
)

const (
	maxCycle = 8 // calls of one size that a step may make, for the order in which they come to show
	minPairs = 3 // gaps of equal rank in such a cycle that must be compared
)

// sites returns, for each kind, the kind that stands for its line of the program. Sizes distinguish lines if each size
// recurs as regularly as the steps, as for buckets and layers. Sizes that change from step to step, as for experts or
// sequences, belong to one line; varies marks its kind.
func (m *Matching) sites() (of []int32, varies []bool) {
	of, varies = make([]int32, len(m.Kinds)), make([]bool, len(m.Kinds))
	var lines ordered.List[string, []int32]
	for k := range m.Kinds {
		of[k] = int32(k)
		kind := &m.Kinds[k]
		if kind.Tensors == nil || kind.Op.Message() {
			continue
		}
		line, _ := lines.Of(fmt.Sprint(kind.Name, kind.Op, kind.Stack, kind.Size, kind.Stage))
		*line = append(*line, int32(k))
	}
	several := make([]bool, len(m.Kinds))
	for _, line := range lines.All {
		for _, k := range line {
			several[k] = len(line) > 1
		}
	}
	regular := m.regular(several)
	for _, line := range lines.All {
		first := int32(-1)
		for _, k := range line {
			switch {
			case !several[k] || regular[k]:
			case first < 0:
				first = k
			default:
				of[k], varies[first] = first, true
			}
		}
	}
	return of, varies
}

// cycle is when the calls of one kind come back, counted in the calls of their group.
type cycle struct {
	rank, calls int32 // of the rank that was looked at last
	last        int32 // the number of its last call
	gaps        [maxCycle]int32
	// same of so many pairs of gaps, so many calls apart, on all ranks together
	same, pairs [maxCycle]int32
	ranks       int32
}

// regular finds the kinds, of those asked for, that come back in the same order from step to step. Time is
// O(calls), memory 120 bytes for each kind.
func (m *Matching) regular(asked []bool) []bool {
	cycles := make([]cycle, len(m.Kinds))
	number := make([]int32, len(m.Groups))
	for r := range m.Ranks {
		clear(number)
		for i := range m.Ranks[r].Calls {
			c := &m.Ranks[r].Calls[i]
			number[c.Group]++
			if asked[c.Kind] {
				cycles[c.Kind].add(int32(r), number[c.Group])
			}
		}
	}
	out := make([]bool, len(m.Kinds))
	for k := range cycles {
		out[k] = cycles[k].regular()
	}
	return out
}

// add takes the next call of a rank.
func (c *cycle) add(rank, number int32) {
	if c.ranks == 0 || c.rank != rank {
		c.rank, c.calls, c.ranks = rank, 0, c.ranks+1
	}
	if c.calls > 0 {
		gap := number - c.last
		for ago := range min(c.calls-1, maxCycle) {
			if c.pairs[ago]++; c.gaps[(c.calls-1-1-ago)%maxCycle] == gap {
				c.same[ago]++
			}
		}
		c.gaps[(c.calls-1)%maxCycle] = gap
	}
	c.last = number
	c.calls++
}

// regular reports whether two thirds of the gaps are those of some calls before.
func (c *cycle) regular() bool {
	for ago := range maxCycle {
		if n := c.pairs[ago]; n >= minPairs*c.ranks && 3*c.same[ago] >= 2*n {
			return true
		}
	}
	return false
}
