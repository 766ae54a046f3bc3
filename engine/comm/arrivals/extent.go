package arrivals

import (
	"slices"

	"github.com/sfstat/sfstat/engine/sync"
)

// extent finds from when to when the job repeats itself, and the ends of its steps: where the
// recorder ends them, or else where a place is entered that is visited all the time
// and as seldom as any such.
func (s *strikes) extent(r *Result, lines []fitted) (steps []int64) {
	v := s.Visits(s.Repeating())
	if len(v.Of) == 0 {
		return nil
	}
	r.Begin, r.End = v.Begin, v.End
	for i := range lines {
		begin := slices.DeleteFunc(slices.Clone(lines[i].begin), func(at int64) bool { return at <= r.Begin || at >= r.End })
		if len(begin) >= sync.Enough {
			r.Step = sync.Period(begin)
			return begin
		}
	}
	for i, at := range v.Steady(func(sync.Turns) bool { return true }) {
		if r.Step = max(r.Step, at.Every); i == 0 {
			steps = at.Ends
		}
	}
	return steps
}

// whereAt returns the step and the stage that a rank is in at a time: of its recorder, or of another's, or else of
// the job; −1: before and after all of them.
func whereAt(lines []fitted, steps []int64, rank int, at int64) (step int64, stage string) {
	if len(lines) > 0 {
		l := &lines[max(0, slices.IndexFunc(lines, func(l fitted) bool { return l.rank == rank }))]
		i := l.step(at)
		if i < 0 {
			return -1, ""
		}
		stage, _, _ = l.span(at)
		return l.steps[i], stage
	}
	if len(steps) == 0 {
		return -1, ""
	}
	i, _ := slices.BinarySearch(steps, at)
	return int64(i), ""
}
