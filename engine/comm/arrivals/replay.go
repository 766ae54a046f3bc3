package arrivals

import (
	"cmp"
	"math"
	"slices"
)

// replay replays all calls with the work of some entries reduced. Waits and all
// other work stay as they are. It returns how much earlier the last point ends.
func (t *timed) replay(less map[entry]int64) int64 {
	lag := t.lags()
	var order []entry
	at := make([][]int64, len(t.ranks)) // of the replay
	for r := range t.ranks {
		at[r] = make([]int64, len(t.ranks[r].calls))
		for i := range t.ranks[r].calls {
			order = append(order, entry{int32(r), int32(i)})
		}
	}
	slices.SortFunc(order, func(a, b entry) int {
		return cmp.Or(cmp.Compare(t.at(a), t.at(b)), cmp.Compare(a.rank, b.rank), cmp.Compare(a.call, b.call))
	})
	release := make([]int64, len(t.points))
	for i := range release {
		release[i] = math.MinInt64
	}
	before, after := int64(math.MinInt64), int64(math.MinInt64)
	for _, e := range order {
		now := t.at(e)
		if e.call > 0 {
			l := t.lagOf(e, lag[e.rank][e.call])
			from := at[e.rank][e.call-1]
			if l > 0 && int32(l) <= e.call {
				waited := entry{e.rank, e.call - int32(l)}
				p := t.of[waited.rank][waited.call]
				if t.message(&t.points[p]) && t.isSend(waited) {
					p = -1
				}
				switch {
				case p >= 0 && t.inTree(p):
					t.eachInTree(p, e.rank, func(o entry) { from = max(from, at[o.rank][o.call]) })
				case p >= 0:
					from = max(from, release[p])
				}
			}
			now = from + t.work(e, l) - less[e]
		}
		at[e.rank][e.call] = now
		p := t.of[e.rank][e.call]
		release[p] = max(release[p], now)
		before, after = max(before, t.at(e)), max(after, now)
	}
	return before - after
}

// lags are how many calls back each call waits for one, [rank][call]. Calls of groups
// without records of their other members are in no place, and wait as those of the
// same kind do after the same call.
func (t *timed) lags() [][]int8 {
	type site struct{ kind, before int32 }
	usual := map[site]int8{}
	for i := range t.places {
		p := &t.places[i]
		usual[site{p.kind, p.before}] = p.lag
	}
	lag := make([][]int8, len(t.ranks))
	for r := range t.ranks {
		calls := t.ranks[r].calls
		lag[r] = make([]int8, len(calls))
		for i := 1; i < len(calls); i++ {
			lag[r][i] = usual[site{calls[i].kind, calls[i-1].kind}]
		}
	}
	for i := range t.places {
		for _, c := range t.places[i].cohorts {
			for _, e := range c {
				lag[e.rank][e.call] = t.places[i].lag
			}
		}
	}
	return lag
}
