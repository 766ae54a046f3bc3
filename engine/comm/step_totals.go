package comm

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/sfstat/sfstat/engine/comm/parallel"
	"github.com/sfstat/sfstat/internal/ordered"
)

// StepTotal adds up the calls of one step, or of one era outside of steps, over all ranks.
type StepTotal struct {
	Place
	Calls    int64            // calls of all ranks
	Bytes    int64            // bytes as logged, of all ranks
	Begin    int64            // start of the first kernel, on the first rank's clock; 0 without kernels
	End      int64            // end of the last kernel, likewise
	Transfer int64            // collectives and messages after the last rank arrived, added up
	Wait     int64            // waiting for the last rank, of all ranks, added up
	Ops      []parallel.OpUse // what was called, by operation; most bytes first
}

// Length returns how long it was from the first kernel's start to the last one's end; 0 where none are known.
func (t *StepTotal) Length() int64 { return t.End - t.Begin }

// label returns the name of a step without a mark: its number, from 1.
func stepLabel(step int) string { return strconv.Itoa(step + 1) }

// total adds up the calls of every place.
func (s *Steps) total(r *Result) {
	var totals ordered.List[Place, StepTotal]
	ops := map[Place]parallel.OpTally{}
	of := func(call int) *StepTotal {
		p := s.Places[call]
		t, first := totals.Of(p)
		if first {
			t.Place, ops[p] = p, parallel.OpTally{}
		}
		return t
	}
	for i := range r.Ranks {
		for _, c := range r.Ranks[i].Calls {
			t, x := of(c), &r.Calls[c]
			t.Calls, t.Bytes = t.Calls+1, t.Bytes+max(x.Bytes, 0)
			ops[t.Place].Add(x.Op, x.Bytes)
		}
	}
	for _, m := range r.Matches {
		k := &r.Kernels(m.Rank)[m.Kernel]
		start, known := r.FirstClockTime(m.Rank, k.Start)
		end, _ := r.FirstClockTime(m.Rank, k.End)
		if t := of(m.Call); known && !r.Timeless {
			if t.End == 0 {
				t.Begin = start
			}
			t.Begin, t.End = min(t.Begin, start), max(t.End, end)
		}
	}
	for c := range r.CollectivesAndMessages() { // of the place that the first of its ranks has it in
		t := of(c.Parts[0].Call)
		t.Transfer += max(c.End-c.Begin, 0)
		for _, p := range c.Parts {
			t.Wait += max(c.Begin-p.Start, 0)
		}
	}
	s.Totals = totals.All
	for i := range s.Totals {
		t := &s.Totals[i]
		t.Ops = ops[t.Place].Uses()
		slices.SortFunc(t.Ops, func(a, b parallel.OpUse) int { return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Op, b.Op)) })
	}
	slices.SortFunc(s.Totals, func(a, b StepTotal) int {
		return cmp.Or(cmp.Compare(a.Era, b.Era), cmp.Compare(a.Step, b.Step))
	})
}
