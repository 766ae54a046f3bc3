package comm

import (
	"cmp"
	"slices"
)

// alignCounts makes the sides of one communicator count alike. A recording that begins after a communicator was made counts
// its launches from there on, and that need not be the same launch on all ranks. The sides are
// compared with one that counts from the communicator's making, or else with the longest: a collective ends on
// all ranks at once.
func (r *Result) alignCounts(t *tied) {
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
				if d, ok := countShift(units[s], units[reference], nil); ok {
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

// endsOfGroups is the launches of each communicator with the ends of their kernels, by count.
func (r *Result) endsOfGroups(t *tied) map[int][]launchUnit {
	at := map[launchKey]int{}
	units := map[int][]launchUnit{}
	for i := range r.Ranks {
		kernels := r.Kernels(i)
		for _, x := range t.ties[i] {
			c := &r.Calls[x.call]
			if c.Op.PointToPoint() {
				continue
			}
			key := launchKey{c.Group, c.Launch}
			n, known := at[key]
			if !known {
				n = len(units[c.Group])
				at[key] = n
				units[c.Group] = append(units[c.Group], launchUnit{Count: c.Launch, Time: kernels[x.kernel].End, HasTime: true})
			}
			units[c.Group][n].Calls = append(units[c.Group][n].Calls, signOf(c))
		}
	}
	for _, list := range units {
		slices.SortStableFunc(list, func(x, y launchUnit) int { return cmp.Compare(x.Count, y.Count) })
	}
	return units
}
