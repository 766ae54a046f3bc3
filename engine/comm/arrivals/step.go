package arrivals

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// rare is how many times less often than the most frequent place a place may be
// entered and still end a step. Less frequent calls, such as logging, do not end
// steps.
const rare = 8

// extent finds from when to when the job repeats itself, and the ends of its steps: where the
// recorder ends them, or else where a place is entered that is visited all the time
// and as seldom as any such.
func (s *strikes) extent(r *Result, lines []fitted) (steps []int64) {
	v := s.visiting(s.repeating())
	if len(v.of) == 0 {
		return nil
	}
	r.Begin, r.End = v.begin, v.end
	for i := range lines {
		begin := slices.DeleteFunc(slices.Clone(lines[i].begin), func(at int64) bool { return at <= r.Begin || at >= r.End })
		if len(begin) >= enough {
			r.Step = period(begin)
			return begin
		}
	}
	for i, at := range v.steady(func(turns) bool { return true }) {
		if r.Step = max(r.Step, at.every); i == 0 {
			steps = at.ends
		}
	}
	return steps
}

// repeating are the places that repeat.
func (s *strikes) repeating() (places []int) {
	for i := range s.places {
		if s.repeats(i) {
			places = append(places, i)
		}
	}
	return places
}

// turns are when a place is left behind, by the group that visits it most.
type turns struct {
	place int
	ends  []int64
	every int64 // median
}

// visited are the turns of places, with the first and the last time of any of them, and how many the most frequent has.
type visited struct {
	of         []turns
	begin, end int64
	most       int
}

func (s *strikes) visiting(places []int) visited {
	v := visited{begin: math.MaxInt64, end: math.MinInt64}
	for _, i := range places {
		by := map[int32][]int64{}
		for _, c := range s.places[i].cohorts {
			now := s.lastOf(c)
			for _, e := range c {
				v.begin = min(v.begin, s.at(back(e, 1)))
			}
			v.end = max(v.end, now)
			by[s.call(c[0]).group] = append(by[s.call(c[0]).group], now)
		}
		ends := slices.MaxFunc(slices.Collect(maps.Values(by)), func(a, b []int64) int {
			return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(b[0], a[0]))
		})
		slices.Sort(ends)
		v.of, v.most = append(v.of, turns{i, ends, period(ends)}), max(v.most, len(ends))
	}
	return v
}

// steady are the turns of places that are visited all the time and as seldom as any of those, of which more is asked.
func (v *visited) steady(also func(turns) bool) []turns {
	out := slices.DeleteFunc(slices.Clone(v.of), func(t turns) bool {
		return len(t.ends)*rare <= v.most || t.every*int64(len(t.ends))*2 <= v.end-v.begin || !also(t)
	})
	longest := int64(0)
	for _, t := range out {
		longest = max(longest, t.every)
	}
	return slices.DeleteFunc(out, func(t turns) bool { return t.every*20 < longest*19 })
}

// period is the median time between neighbours.
func period(at []int64) int64 {
	var every []int64
	for i := 1; i < len(at); i++ {
		every = append(every, at[i]-at[i-1])
	}
	return median(every)
}

// whereAt is the step and the stage that a rank is in at a time: of its recorder, or of
// another's, or else of the job; −1: before and after all of them.
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
