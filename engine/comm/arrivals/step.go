package arrivals

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// stepping holds the equally good ways to cut the time of a job into steps. A step
// ends where a place is entered that every step visits once, or where the recorder
// ends it.
type stepping [][]int64

// rare is how many times less often than the most frequent place a place may be
// entered and still end a step. Less frequent calls, such as logging, do not end
// steps.
const rare = 8

// extent finds from when to when the job repeats itself, and its steps: those
// that were recorded, or by the longest period of a place that is visited all
// the time.
func (s *strikes) extent(r *Result, lines []fitted) stepping {
	r.Begin, r.End = math.MaxInt64, math.MinInt64
	var all []visits
	most := 0
	for i := range s.places {
		if !s.repeats(i) {
			continue
		}
		v := s.visiting(i, r)
		most = max(most, len(v.ends))
		all = append(all, v)
	}
	if r.Begin > r.End {
		r.Begin, r.End = 0, 0
		return nil
	}
	for i := range lines {
		begin := slices.DeleteFunc(slices.Clone(lines[i].begin), func(at int64) bool { return at <= r.Begin || at >= r.End })
		if len(begin) >= enough {
			r.Step = period(begin)
			return stepping{begin}
		}
	}
	every := func(v visits) bool { return len(v.ends)*rare > most && v.every*int64(len(v.ends))*2 > r.End-r.Begin }
	for _, v := range all {
		if every(v) {
			r.Step = max(r.Step, v.every)
		}
	}
	var out stepping
	for _, v := range all {
		if every(v) && v.every*20 >= r.Step*19 {
			out = append(out, v.ends)
		}
	}
	return out
}

// visits are when a place is left behind, by the group that visits it most.
type visits struct {
	ends  []int64
	every int64 // median
}

// visiting are those of a place; the times of all groups extend the result.
func (s *strikes) visiting(at int, r *Result) visits {
	by := map[int32][]int64{}
	for _, c := range s.places[at].cohorts {
		g, now := s.call(c[0]).group, int64(math.MinInt64)
		for _, e := range c {
			now = max(now, s.at(e))
			r.Begin = min(r.Begin, s.at(back(e, 1)))
		}
		r.End = max(r.End, now)
		by[g] = append(by[g], now)
	}
	v := visits{ends: slices.MaxFunc(slices.Collect(maps.Values(by)), func(a, b []int64) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(b[0], a[0]))
	})}
	slices.Sort(v.ends)
	v.every = period(v.ends)
	return v
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
// another's, or else of the first cut of the job's time; −1: before and after all of
// them.
func whereAt(lines []fitted, steps stepping, rank int, at int64) (step int64, stage string) {
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
	i, _ := slices.BinarySearch(steps[0], at)
	return int64(i), ""
}
