package blame

import (
	"cmp"
	"fmt"
	"slices"
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

// before is what op i waits for.
func (s *step) before(i int32) []pred { return s.preds[s.first[i]:s.first[i+1]] }

func newStep(g Graph) (*step, error) {
	s := &step{ops: slices.Clone(g.Ops), index: make(map[int64]int32, len(g.Ops)),
		of: make([]int32, len(g.Ops)), first: make([]int, len(g.Ops)+1)}
	slices.SortFunc(s.ops, func(a, b Op) int { return cmp.Compare(a.ID, b.ID) })
	collectives := make(map[int64]int32)
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
		c, known := collectives[op.Collective]
		if !known {
			c = int32(len(s.members))
			collectives[op.Collective] = c
			s.members = append(s.members, nil)
			s.last = append(s.last, op.Start)
		}
		s.of[i] = c
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

// knot is what must begin together: an operator, or all members of a collective.
func (s *step) knot(i int32) int32 {
	if c := s.of[i]; c >= 0 {
		return s.members[c][0]
	}
	return i
}

// frame is a knot whose predecessors are being followed.
type frame struct {
	knot   int32
	via    int32 // the operator of the knot that others wait for
	member int   // position in the knot, and
	next   int   // in preds, of what comes next
}

// acyclic follows predecessors depth first. A knot that comes again while it is
// being followed waits for itself.
func (s *step) acyclic() error {
	const open, done = 1, 2
	state := make([]uint8, len(s.ops)) // by knot
	var stack []frame
	enter := func(i int32) {
		k := s.knot(i)
		state[k] = open
		stack = append(stack, frame{knot: k, via: i, next: -1})
	}
	for i := range int32(len(s.ops)) {
		if state[s.knot(i)] == 0 {
			enter(i)
		}
		for len(stack) > 0 {
			p, more := s.advance(&stack[len(stack)-1])
			switch {
			case !more:
				state[stack[len(stack)-1].knot] = done
				stack = stack[:len(stack)-1]
			case state[s.knot(p)] == 0:
				enter(p)
			case state[s.knot(p)] == open:
				return s.cycle(stack, p)
			}
		}
	}
	return nil
}

// advance is the next predecessor of a knot that is not lost.
func (s *step) advance(f *frame) (pred int32, more bool) {
	members := []int32{f.knot}
	if c := s.of[f.knot]; c >= 0 {
		members = s.members[c]
	}
	for ; f.member < len(members); f.member, f.next = f.member+1, -1 {
		i := members[f.member]
		for f.next = max(f.next, s.first[i]); f.next < s.first[i+1]; {
			p := s.preds[f.next].op
			f.next++
			if p >= 0 {
				return p, true
			}
		}
	}
	return 0, false
}

// cycle names the operators from the knot of p on, in the order of time that
// their edges ask for.
func (s *step) cycle(stack []frame, p int32) error {
	from := slices.IndexFunc(stack, func(f frame) bool { return f.knot == s.knot(p) })
	ids := []int64{s.ops[p].ID}
	for _, f := range stack[from+1:] {
		ids = append(ids, s.ops[f.via].ID)
	}
	slices.Reverse(ids)
	const shown = 8
	more := ""
	if len(ids) > shown {
		more = fmt.Sprintf(" and %d more", len(ids)-shown)
	}
	return fmt.Errorf("blame: operators %v%s wait for each other, expected an order: %w", ids[:min(shown, len(ids))], more, ErrCycle)
}
