package comm

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/trace/comms"
)

// alignCounts makes the sides of one communicator count alike. A recording that begins after a communicator was made counts
// its launches from there on, and that need not be the same launch on all ranks. The sides are
// compared with one that counts from the communicator's making, or else with the longest: a collective ends on
// all ranks at once.
func (r *Result) alignCounts(t *tiedCalls) {
	if len(t.late) == 0 {
		return
	}
	units, late := r.endsOfGroups(t), map[int]bool{}
	for _, g := range t.late {
		late[g] = true
	}
	byID := map[uint64][]int{}
	for i := range r.Groups {
		if id := r.Groups[i].ID; id != 0 && len(units[i]) > 0 {
			byID[id] = append(byID[id], i)
		}
	}
	shift := make([]int64, len(r.Groups))
	for _, sides := range byID {
		reference := slices.MinFunc(sides, func(x, y int) int {
			if late[x] != late[y] {
				return map[bool]int{true: 1, false: -1}[late[x]]
			}
			return cmp.Or(cmp.Compare(len(units[y]), len(units[x])), cmp.Compare(x, y))
		})
		least := int64(0)
		for _, s := range sides {
			if s != reference && late[s] {
				if d, ok := countShift(units[s], units[reference]); ok {
					shift[s] = -d
					least = min(least, units[s][0].Count-d)
				}
			}
		}
		for _, s := range sides { // no count is below 0
			shift[s] -= least
		}
	}
	r.Calls = slices.Clone(r.Calls)
	for i := range r.Calls {
		c := &r.Calls[i]
		c.Launch = max(c.Launch+shift[c.Group], 0)
	}
}

// endsOfGroups returns the launches of each communicator with the ends of their kernels, by count.
func (r *Result) endsOfGroups(t *tiedCalls) map[int][]launchUnit {
	ends := map[int]int64{} // of calls
	var calls []int
	for i := range r.Ranks {
		for _, x := range t.ties[i] {
			if !r.Calls[x.call].Op.PointToPoint() {
				ends[x.call], calls = r.Kernels(i)[x.kernel].End, append(calls, x.call)
			}
		}
	}
	_, units := unitsOf(calls, func(i int) *comms.Call { return &r.Calls[i] }, func(int) bool { return true })
	for _, list := range units {
		for n := range list {
			u := &list[n]
			u.Time, u.HasTime = ends[u.ids[0]], true
		}
	}
	return units
}
