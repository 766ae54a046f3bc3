package sync

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// rareRatio is how many times less often than the most frequent place a place may be entered and still end a step. Rarer
// calls, such as logging, do not.
const rareRatio = 8

// Repeating returns the places that repeat.
func (t *Waits) Repeating() (places []int) {
	for i := range t.Places {
		if t.Repeats(i) {
			places = append(places, i)
		}
	}
	return places
}

// Turns are when a place is left behind, by the group that visits it most.
type Turns struct {
	Place int
	Ends  []int64
	Every int64 // median
}

// Visits are the turns of places, with the first and the last time of any of them, and how many the most frequent
// has.
type Visits struct {
	Of         []Turns
	Begin, End int64
	maxTurns   int
}

// Visits returns the turns of places.
func (t *Waits) Visits(places []int) Visits {
	v := Visits{Begin: math.MaxInt64, End: math.MinInt64}
	for _, i := range places {
		by := map[int32][]int64{}
		for _, c := range t.Places[i].Cohorts {
			now := t.lastOf(c)
			for _, e := range c {
				v.Begin = min(v.Begin, t.Time(Previous(e, 1)))
			}
			v.End = max(v.End, now)
			by[t.Call(c[0]).Group] = append(by[t.Call(c[0]).Group], now)
		}
		ends := slices.MaxFunc(slices.Collect(maps.Values(by)), func(a, b []int64) int {
			return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(b[0], a[0]))
		})
		slices.Sort(ends)
		v.Of, v.maxTurns = append(v.Of, Turns{i, ends, Period(ends)}), max(v.maxTurns, len(ends))
	}
	return v
}

// Steady returns the turns of the places that are visited from begin to end and least often, among those for which also
// holds.
func (v *Visits) Steady(also func(Turns) bool) []Turns {
	out := slices.DeleteFunc(slices.Clone(v.Of), func(t Turns) bool {
		return len(t.Ends)*rareRatio <= v.maxTurns || t.Every*int64(len(t.Ends))*2 <= v.End-v.Begin || !also(t)
	})
	longest := int64(0)
	for _, t := range out {
		longest = max(longest, t.Every)
	}
	return slices.DeleteFunc(out, func(t Turns) bool { return t.Every*20 < longest*19 })
}

// Period returns the median time between neighbours.
func Period(at []int64) int64 {
	var every []int64
	for i := 1; i < len(at); i++ {
		every = append(every, at[i]-at[i-1])
	}
	return median(every)
}
