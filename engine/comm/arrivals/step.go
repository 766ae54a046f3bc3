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

// repeating are the places that repeat.
func (t *timed) repeating() (places []int) {
	for i := range t.places {
		if t.repeats(i) {
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

func (t *timed) visiting(places []int) visited {
	v := visited{begin: math.MaxInt64, end: math.MinInt64}
	for _, i := range places {
		by := map[int32][]int64{}
		for _, c := range t.places[i].cohorts {
			now := t.lastOf(c)
			for _, e := range c {
				v.begin = min(v.begin, t.at(back(e, 1)))
			}
			v.end = max(v.end, now)
			by[t.call(c[0]).group] = append(by[t.call(c[0]).group], now)
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
