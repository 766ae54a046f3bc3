package arrivals

import (
	"slices"

	"github.com/sfstat/sfstat/engine/sync"
)

// Between is the rank whose own work before calls between the steps, such as those of an evaluation, is
// longest, and by how much in all; Delay is 0 where no calls are entered there.
type Between struct {
	Rank  int
	Delay int64
}

// delayBetweenSteps adds up the own delays at calls that are entered between steps: after the end of one, and before the
// next begins. Both must have been recorded.
func (s *strikes) delayBetweenSteps(lines []fitted) (out Between) {
	of := map[int]*fitted{}
	for i := range lines {
		if l := &lines[i]; l.exact && l.wall != nil {
			of[s.ByRank[l.rank]] = l
		}
	}
	if len(of) == 0 {
		return out
	}
	sums := make([]int64, len(s.Ranks))
	for i := range s.Places {
		s.VisitWork(&s.Places[i], func(e sync.Entry, _, own int64) {
			if l := of[int(e.Process)]; l != nil && own > 0 && l.pausesAt(s.Time(e)) {
				sums[e.Process] += own
			}
		})
	}
	for r, sum := range sums {
		if sum > out.Delay {
			out = Between{s.Ranks[r].ID, sum}
		}
	}
	sums = slices.DeleteFunc(sums, func(x int64) bool { return x == out.Delay })
	if len(sums) > 0 { // what the next has as well is chance
		out.Delay -= slices.Max(sums)
	}
	return out
}

// pausesAt reports whether a time lies between two steps that follow one another.
func (f *fitted) pausesAt(at int64) bool {
	next, _ := slices.BinarySearch(f.begin, at+1)
	return next > 0 && next < len(f.steps) && f.steps[next] == f.steps[next-1]+1 && at >= f.begin[next-1]+f.wall[next-1]
}
