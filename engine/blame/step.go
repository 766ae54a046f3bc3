package blame

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/internal/ordered"
)

// step is a checked graph, by index.
type step struct {
	ops     []Op // by ID
	preds   []pred
	first   []int     // preds of op i are preds[first[i]:first[i+1]], ascending by ID
	members [][]int32 // by collective
	of      []int32   // collective of op i, −1 for none
	last    []int64   // by collective: when its last member starts
	index   map[int64]int32
}

// pred is one predecessor; op is −1 where it is lost.
type pred struct {
	id   int64
	op   int32
	kind EdgeKind
}

// predecessors returns what op i waits for.
func (s *step) predecessors(i int32) []pred { return s.preds[s.first[i]:s.first[i+1]] }

func newStep(g Graph) (*step, error) {
	s := &step{ops: slices.Clone(g.Ops), index: make(map[int64]int32, len(g.Ops)),
		of: make([]int32, len(g.Ops)), first: make([]int, len(g.Ops)+1)}
	slices.SortFunc(s.ops, func(a, b Op) int { return cmp.Compare(a.ID, b.ID) })
	collectives := make(ordered.Numbers[int64])
	for i, op := range s.ops {
		if _, twice := s.index[op.ID]; twice {
			return nil, fmt.Errorf("blame: operator %d is given twice: %w", op.ID, ErrDuplicate)
		}
		if op.End < op.Start {
			return nil, fmt.Errorf("blame: operator %d starts at %d ns and ends at %d: %w", op.ID, op.Start, op.End, ErrTime)
		}
		s.index[op.ID] = int32(i)
		s.of[i] = -1
		if op.Collective == 0 {
			continue
		}
		c, first := collectives.Of(op.Collective)
		if first {
			s.members, s.last = append(s.members, nil), append(s.last, op.Start)
		}
		s.of[i] = int32(c)
		s.members[c] = append(s.members[c], int32(i))
		s.last[c] = max(s.last[c], op.Start)
	}
	if err := s.link(g.Edges); err != nil {
		return nil, err
	}
	return s, s.acyclic()
}

// link fills preds, each predecessor once.
func (s *step) link(edges []Edge) error {
	to := make([]int32, len(edges))
	for k, e := range edges {
		i, ok := s.index[e.To]
		if !ok {
			return fmt.Errorf("blame: an edge from operator %d leads to operator %d, which the graph does not have: %w", e.From, e.To, ErrUnknown)
		}
		to[k] = i
		s.first[i+1]++
	}
	for i := range s.ops {
		s.first[i+1] += s.first[i]
	}
	all := make([]pred, len(edges))
	next := slices.Clone(s.first)
	for k, e := range edges {
		from, ok := s.index[e.From]
		if !ok {
			from = -1
		}
		all[next[to[k]]] = pred{e.From, from, e.Kind}
		next[to[k]]++
	}
	s.preds = all[:0]
	for i := range s.ops {
		mine := all[s.first[i]:s.first[i+1]]
		slices.SortFunc(mine, func(a, b pred) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.kind, b.kind)) })
		mine = slices.CompactFunc(mine, func(a, b pred) bool { return a.id == b.id })
		s.first[i] = len(s.preds)
		s.preds = append(s.preds, mine...) // of the same array, never beyond what was read
	}
	s.first[len(s.ops)] = len(s.preds)
	return nil
}

// knot returns the operators that must begin together: one, or all members of a collective.
func (s *step) knot(i int32) int32 {
	if c := s.of[i]; c >= 0 {
		return s.members[c][0]
	}
	return i
}

// acyclic takes away, again and again, what waits for nothing that is left.
func (s *step) acyclic() error {
	waits, after := make([]int, len(s.ops)), make([][]int32, len(s.ops)) // by knot
	for i := range int32(len(s.ops)) {
		for _, p := range s.predecessors(i) {
			if p.op >= 0 {
				k, before := s.knot(i), s.knot(p.op)
				waits[k]++
				after[before] = append(after[before], k)
			}
		}
	}
	var free []int32
	for k, n := range waits {
		if n == 0 {
			free = append(free, int32(k))
		}
	}
	for len(free) > 0 {
		k := free[len(free)-1]
		free = free[:len(free)-1]
		for _, next := range after[k] {
			if waits[next]--; waits[next] == 0 {
				free = append(free, next)
			}
		}
	}
	if k := slices.IndexFunc(waits, func(n int) bool { return n > 0 }); k >= 0 {
		return fmt.Errorf("blame: operator %d waits, at last, for one that waits for itself, expected an order: %w", s.ops[k].ID, ErrCycle)
	}
	return nil
}
