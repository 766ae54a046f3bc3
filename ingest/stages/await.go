package stages

import (
	"math"
	"slices"

	"github.com/sfstat/sfstat/engine/clock"
	"github.com/sfstat/sfstat/trace/profile"
)

// unawaitedEnds returns, for each rank and collective, when it would have ended on the rank's own clock had all members come
// when the rank did: as long after it began as it took once the last was there. Other work often covers the beginning of a
// collective; then its end is later because of who arrived late, though nobody was waited for while it was exposed. After all
// times where the collective was not matched.
func unawaitedEnds(ranks []*profile.Rank, m *matching, clocks []clock.Placed) [][]int64 {
	out := make([][]int64, len(ranks))
	for r := range ranks {
		out[r] = slices.Repeat([]int64{math.MaxInt64}, len(ranks[r].Comm.Calls))
	}
	start := func(of member) int64 {
		at, _ := ran(ranks, of)
		return clocks[of.Process].Reference(at)
	}
	settle := func(own member, last int64) {
		from, to := ran(ranks, own)
		out[own.Process][own.Call] = max(from, to-max(0, last-start(own)))
	}
	for _, set := range m.sets {
		last := int64(math.MinInt64)
		for _, each := range set {
			last = max(last, start(each))
		}
		for _, each := range set {
			settle(each, last)
		}
	}
	for own, partners := range m.partners {
		if m.of[own.Process][own.Call] >= 0 {
			continue
		}
		last := start(own)
		for _, each := range partners {
			last = max(last, start(each))
		}
		settle(own, last)
	}
	return out
}
