package arrivals

import (
	"math"
	"slices"

	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/internal/robust"
)

// Hidden is a delay in every step that may be the offset of a clock.
type Hidden struct {
	Delay int64 // ns, 0: none
	Ranks []int // whose clocks they are, where they are fewer than the others
}

func (h *Hidden) add(delay int64, ranks ...int) {
	h.Delay = max(h.Delay, delay)
	h.Ranks = append(h.Ranks, ranks...)
}

// eitherClock reports whether a late rank may as well be the other of two, as either clock may be
// wrong: one rank may be late at a place, or the other at all others.
func (s *strikes) eitherClock(c claim.Claim) bool {
	l := c.Entered
	return l.Clock && len(s.Clocks) == 2 && !s.Agree && 2*l.Strikes > l.Points
}

// mayHide returns the delay that the offset of a clock may hide: where the ranks wait in one place only, an offset moves a
// clock by as much as a constant delay does, within what the entries allow. Clocks that were left as they are hide nothing: one
// would have to be wrong by just the delay. And what a delay costs that may be its clock's in part is not known.
func (s *strikes) mayHide(r *Result) (h Hidden) {
	for _, l := range r.Late {
		// Where clocks were moved, those of a whole group may have been moved by what
		// its late member costs the others.
		if l.Entered.Clock || len(s.Clocks) > 1 && !s.Agree && l.Saves.Largest()*float64(r.Step) < float64(l.Size)/2 {
			h.add(min(l.Size, r.Step), l.Ranks...)
		}
	}
	if len(s.Clocks) < 2 || len(s.Clocks) > 2 && len(s.goOn()) > 1 {
		return h
	}
	hides, visits, stays := make([]int64, len(s.Clocks)), s.visitsPerStep(r), s.leastAfterCalls()
	for d, c := range s.Clocks {
		each := min(absolute(c.Offset), stays[d])
		if c.HalfWidth >= 0 {
			each = min(each, 2*c.HalfWidth)
		}
		hides[d] = min(int64(visits*float64(each)), r.Step)
	}
	most := slices.Max(hides)
	for d, c := range s.Clocks {
		if hides[d] > most/2 {
			h.add(hides[d], c.Ranks...)
		}
	}
	if 2*len(h.Ranks) >= len(r.Ranks) {
		h.Ranks = nil
	}
	return h
}

// leastAfterCalls returns, of each clock, the least time from a rank's entry into a call with ranks of other clocks to the entry that waits for it, of the
// place and the rank that take longest, ns: no delay there in every step is longer, whatever the clocks.
func (s *strikes) leastAfterCalls() []int64 {
	out := make([]int64, len(s.Clocks))
	for _, p := range s.ClockPlaces() {
		if !s.IsRepeated(p) {
			continue
		}
		least := make(map[int32]int64)
		for _, c := range p.Cohorts {
			for _, e := range c {
				w, ok := s.Awaited(e, s.LagOf(e, p.Lag))
				if !ok {
					continue
				}
				took := s.Time(e) - s.Time(w)
				if have, known := least[e.Process]; !known || took < have {
					least[e.Process] = took
				}
			}
		}
		for r, took := range least {
			out[s.Domain[r]] = max(out[s.Domain[r]], took)
		}
	}
	return out
}

// visitsPerStep returns the largest number of visits in a step to a place entered after a wait, at least 1: a rank that is late
// there is late at each.
func (s *strikes) visitsPerStep(r *Result) float64 {
	most := 1.0
	v := s.Visits(s.goOn())
	for _, t := range v.Of {
		most = max(most, float64(len(t.Ends))*float64(r.Step)/float64(max(1, r.End-r.Begin)))
	}
	return most
}

// goOn returns the places at which the ranks go on together, from one to the next, those of several clocks.
func (s *strikes) goOn() []int {
	return slices.DeleteFunc(s.Repeating(), func(i int) bool {
		return s.Places[i].Lag == 0 || s.Places[i].Carried || len(s.Clocks) > 1 && !s.AwaitsClocks(&s.Places[i])
	})
}

// What even takes for a clock's offset: own delays whose largest is little larger than
// the least, at places before which there is much more work at one than at another. A
// slower rank would lose more where there is more work.
const (
	alike   = 1.25 // largest own delay to the least
	unalike = 2    // most work to the least
	mostOf  = 0.5  // of the rank's delay is at every place
)

// even reports whether a rank is late by as much wherever ranks have waited, although
// there is twice as much work before some of those places: its clock is, rather than
// the rank, whatever host it is on.
func (s *strikes) even(rank int, delay int64) bool {
	low, high := [2]int64{math.MaxInt64, math.MaxInt64}, [2]int64{}
	for i := range s.Places {
		p, t := &s.Places[i], s.cells[cell{i, rank}]
		if t == nil || p.Lag == 0 || !s.Repeats(i) || s.Carries(p) {
			continue
		}
		var work []int64
		for _, c := range s.Sample(p.Cohorts) {
			for _, e := range c {
				work = append(work, s.WorkSince(e, p.Lag))
			}
		}
		for k, x := range [2]int64{robust.Lower(slices.Clone(t.own)), robust.Lower(work)} {
			low[k], high[k] = min(low[k], x), max(high[k], x)
		}
	}
	if low[0] > high[0] { // there is no such place
		return false
	}
	late, work := [2]float64{float64(low[0]), float64(high[0])}, [2]float64{float64(low[1]), float64(high[1])}
	return late[0] > mostOf*float64(delay) && late[1] <= alike*late[0] && work[1] >= unalike*work[0]
}
