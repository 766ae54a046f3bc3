package blame

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/sfstat/sfstat/internal/ordered"
)

// walk is the state of one symptom's walk, breadth first.
type walk struct {
	*step
	o       Options
	queue   []int32
	from    []int32 // by op: whence the walk came, −1 at the symptom
	visited []int32 // by op: number of the last walk that came by
	number  int32
	found   []finding
}

type finding struct {
	Culprit
	path []int64
}

// blame walks from every symptom and puts equal culprits together.
func (s *step) blame(symptoms []int64, o Options) (*Result, error) {
	w := &walk{step: s, o: o, from: make([]int32, len(s.ops)), visited: make([]int32, len(s.ops))}
	symptoms = slices.Clone(symptoms)
	slices.Sort(symptoms)
	r := &Result{}
	var causes ordered.List[Culprit, Cause]
	for _, id := range slices.Compact(symptoms) {
		i, ok := s.index[id]
		if !ok {
			return nil, fmt.Errorf("blame: symptom %d is not in the graph: %w", id, ErrUnknown)
		}
		found := w.walk(i)
		if len(found) == 0 {
			r.Unexplained = append(r.Unexplained, id)
		}
		for _, f := range found {
			c, first := causes.Of(f.Culprit)
			if first {
				c.Culprit, c.Path, c.Delay = f.Culprit, f.path, s.delay(f.Culprit)
			}
			c.Symptoms = append(c.Symptoms, id)
		}
	}
	r.Causes = causes.All
	slices.SortFunc(r.Causes, func(a, b Cause) int {
		return cmp.Or(cmp.Compare(len(b.Symptoms), len(a.Symptoms)), a.compare(b.Culprit))
	})
	return r, nil
}

// delay returns how long an edge lasted.
func (s *step) delay(c Culprit) int64 {
	if c.Kind != Gap {
		return 0
	}
	return s.ops[s.index[c.Op]].Start - s.ops[s.index[c.Pred]].End
}

// compare orders culprits by kind, then edges by their earlier operator and the
// rest by the operator.
func (c Culprit) compare(d Culprit) int {
	if c.Kind == Gap || c.Kind == Inconsistent {
		return cmp.Or(cmp.Compare(c.Kind, d.Kind), cmp.Compare(c.Pred, d.Pred), cmp.Compare(c.Op, d.Op))
	}
	return cmp.Or(cmp.Compare(c.Kind, d.Kind), cmp.Compare(c.Op, d.Op), cmp.Compare(c.Pred, d.Pred))
}

// walk returns the walk from one symptom to its culprit.
func (w *walk) walk(symptom int32) []finding {
	w.number++
	w.found = nil
	w.queue = append(w.queue[:0], symptom)
	w.visited[symptom] = w.number
	w.from[symptom] = -1
	for head := 0; head < len(w.queue); head++ {
		w.visit(w.queue[head])
	}
	return w.found
}

func (w *walk) visit(i int32) {
	op := &w.ops[i]
	waited := w.of[i] >= 0 && op.Start < w.last[w.of[i]]-w.o.Tie
	switch {
	case w.isLong(op): // rule 1
		w.add(i, Culprit{Kind: LongOp, Op: op.ID})
	case waited && w.o.Semantics == Binding:
		w.followMembers(i)
	case waited || op.Lateness == High: // rule 2
		if c := w.of[i]; c >= 0 && w.o.Semantics == Literal {
			for _, m := range w.members[c] {
				w.push(m, i)
			}
		}
		w.late(i)
	}
}

func (w *walk) isLong(op *Op) bool {
	return op.Length == High || w.o.Semantics == Literal && op.Length == Low
}

// bad reports whether the walk goes on to an operator.
func (w *walk) bad(op *Op) bool { return w.isLong(op) || op.Lateness == High }

// isNext reports whether operator i, as a gate, is where the walk goes on: it is
// late or long, or a member of a collective that ended late because it waited
// for one that is.
func (w *walk) isNext(i int32) bool {
	if w.bad(&w.ops[i]) {
		return true
	}
	c := w.of[i]
	if c < 0 || w.o.Semantics == Literal || w.ops[i].Start >= w.last[c]-w.o.Tie {
		return false
	}
	return slices.ContainsFunc(w.members[c], func(m int32) bool {
		return w.ops[m].Start >= w.last[c]-w.o.Tie && w.bad(&w.ops[m])
	})
}

// followMembers follows a member of a collective that waited to the members that were
// last. Those waited for nobody, and go by rule 2.
func (w *walk) followMembers(i int32) {
	op, c := &w.ops[i], w.of[i]
	for _, m := range w.members[c] {
		switch member := &w.ops[m]; {
		case member.Start < w.last[c]-w.o.Tie:
		case op.End < member.Start-w.o.Tie:
			w.add(i, Culprit{Kind: Inconsistent, Op: op.ID, Pred: member.ID, Edge: Member})
		case w.bad(member):
			w.push(m, i)
		}
	}
}

// late applies rule 2 to an operator that started late.
func (w *walk) late(i int32) {
	op, preds := &w.ops[i], w.predecessors(i)
	if len(preds) == 0 {
		w.add(i, Culprit{Kind: Source, Op: op.ID})
		return
	}
	last, lost, badGate := int64(math.MinInt64), false, false
	for _, p := range preds {
		if p.op < 0 {
			lost = true
			w.add(i, Culprit{Kind: MissingPred, Op: op.ID, Pred: p.id, Edge: p.kind})
			continue
		}
		last = max(last, w.ops[p.op].End)
	}
	gates := func(p pred) bool {
		return p.op >= 0 && (w.o.Semantics == Literal || last-w.ops[p.op].End <= w.o.Tie)
	}
	for _, p := range preds {
		badGate = badGate || gates(p) && w.isNext(p.op)
	}
	for _, p := range preds {
		if !gates(p) {
			continue
		}
		switch q := &w.ops[p.op]; {
		case w.o.Semantics == Binding && badGate && !w.isNext(p.op):
		case q.End > op.Start+w.o.Tie:
			w.add(i, Culprit{Kind: Inconsistent, Op: op.ID, Pred: q.ID, Edge: p.kind})
		case w.isNext(p.op):
			w.push(p.op, i)
		case !lost:
			// Were a predecessor lost, it might be the reason.
			w.add(i, Culprit{Kind: Gap, Op: op.ID, Pred: q.ID, Edge: p.kind, CrossRank: q.Rank != op.Rank})
		}
	}
}

func (w *walk) push(i, from int32) {
	if w.visited[i] != w.number {
		w.visited[i] = w.number
		w.from[i] = from
		w.queue = append(w.queue, i)
	}
}

// add keeps a culprit found at an operator, with the path to it.
func (w *walk) add(at int32, c Culprit) {
	var path []int64
	for i := at; i >= 0; i = w.from[i] {
		path = append(path, w.ops[i].ID)
	}
	slices.Reverse(path)
	if c.Kind == Gap || c.Kind == Inconsistent {
		path = append(path, c.Pred)
	}
	w.found = append(w.found, finding{c, path})
}
