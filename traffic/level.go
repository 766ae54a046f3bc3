package traffic

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/engine/align"
)

// level makes the sides of one communicator count alike. A recording that begins after a communicator was made tells
// its launches from there on, and that need not be the same launch on all ranks. The sides are
// compared with one that counts from the communicator's making, or else with the longest: a collective ends on
// all ranks at once.
func (a *assembly) level() {
	if len(a.adrift) == 0 {
		return
	}
	units := a.endsOfComms()
	log := a.in.Log
	adrift := map[int]bool{}
	for _, s := range a.adrift {
		adrift[s] = true
	}
	byID := map[uint64][]int{}
	for i := range log.Communicators {
		if id := log.Communicators[i].ID; id != 0 && len(units[i]) > 0 {
			byID[id] = append(byID[id], i)
		}
	}
	shifts := map[int]int64{}
	for _, sides := range byID {
		reference := slices.MinFunc(sides, func(x, y int) int {
			return cmp.Or(order(adrift[x], adrift[y]), cmp.Compare(len(units[y]), len(units[x])), cmp.Compare(x, y))
		})
		least := int64(0)
		for _, s := range sides {
			if s != reference && adrift[s] {
				if d, ok := align.Shift(units[s], units[reference], nil); ok {
					shifts[s] = -d
					least = min(least, units[s][0].Count-d)
				}
			}
		}
		for _, s := range sides { // no count is below 0
			shifts[s] -= least
		}
	}
	log.Calls = slices.Clone(log.Calls)
	for i := range log.Calls {
		c := &log.Calls[i]
		c.OpCount = uint64(max(int64(c.OpCount)+shifts[c.Comm], 0))
	}
}

// order puts what is false first.
func order(x, y bool) int {
	switch {
	case x == y:
		return 0
	case x:
		return 1
	}
	return -1
}

// endsOfComms is the launches of each communicator with the ends of their kernels, by count.
func (a *assembly) endsOfComms() map[int][]align.Unit {
	log := a.in.Log
	at := map[meetingKey]int{}
	units := map[int][]align.Unit{}
	for i := range a.r.Ranks {
		k := &a.r.Ranks[i]
		for _, t := range a.ties[i] {
			c := &log.Calls[t.call]
			if c.Op.PointToPoint() {
				continue
			}
			key := meetingKey{c.Comm, c.OpCount}
			n, ok := at[key]
			if !ok {
				n = len(units[c.Comm])
				at[key] = n
				end := a.in.Exports[k.Export].Processes[k.Recorded].Kernels[t.kernel].End
				units[c.Comm] = append(units[c.Comm], align.Unit{Count: int64(c.OpCount), Time: end, HasTime: true})
			}
			units[c.Comm][n].Calls = append(units[c.Comm][n].Calls, signOf(c))
		}
	}
	for _, list := range units {
		slices.SortStableFunc(list, func(x, y align.Unit) int { return cmp.Compare(x.Count, y.Count) })
	}
	return units
}
