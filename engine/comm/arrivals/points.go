package arrivals

import (
	"cmp"
	"slices"
)

// Point is one synchronisation point: a call of a group, or a send and its
// receive, with the entries of its members.
type Point struct {
	Group  int // groups are numbered from 0
	Name   string
	Desc   string
	Ranks  []int   // that entered
	Enter  []int64 // when each of them did, on the common clock
	Absent []int   // ranks with a record, of which that has no entry here: of collectives only
}

// eachPoint hands out all synchronisation points, those of each group in the
// order of their first entries.
func (t *strikes) eachPoint(f func(Point)) {
	type begun struct {
		*point
		at int64
	}
	all := make([]begun, len(t.points))
	for i := range t.points {
		p := &t.points[i]
		all[i] = begun{p, t.at(slices.MinFunc(p.Entries, func(a, b entry) int { return cmp.Compare(t.at(a), t.at(b)) }))}
	}
	slices.SortStableFunc(all, func(a, b begun) int { return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.at, b.at)) })
	for _, b := range all {
		f(t.pointOf(int(b.Group), b.point))
	}
}

func (t *strikes) pointOf(group int, p *point) Point {
	out := Point{Group: group, Name: t.groups[group].name, Desc: t.groups[group].desc}
	entered := make(map[int]bool, len(p.Entries))
	for _, e := range p.Entries {
		out.Ranks = append(out.Ranks, t.ranks[e.Process].id)
		out.Enter = append(out.Enter, t.at(e))
		entered[int(e.Process)] = true
	}
	if !t.whole(p) && !p.Message {
		for _, r := range t.members[group] {
			if !entered[r] {
				out.Absent = append(out.Absent, t.ranks[r].id)
			}
		}
	}
	return out
}
