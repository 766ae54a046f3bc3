package arrivals

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/engine/sync"
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
		*sync.Point
		at int64
	}
	all := make([]begun, len(t.Points))
	for i := range t.Points {
		p := &t.Points[i]
		all[i] = begun{p, t.Time(slices.MinFunc(p.Entries, func(a, b sync.Entry) int { return cmp.Compare(t.Time(a), t.Time(b)) }))}
	}
	slices.SortStableFunc(all, func(a, b begun) int { return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.at, b.at)) })
	for _, b := range all {
		f(t.pointOf(int(b.Group), b.Point))
	}
}

func (t *strikes) pointOf(group int, p *sync.Point) Point {
	out := Point{Group: group, Name: t.Groups[group].Name, Desc: t.Groups[group].Desc}
	entered := make(map[int]bool, len(p.Entries))
	for _, e := range p.Entries {
		out.Ranks = append(out.Ranks, t.Ranks[e.Process].ID)
		out.Enter = append(out.Enter, t.Time(e))
		entered[int(e.Process)] = true
	}
	if !t.IsComplete(p) && !p.Message {
		for _, r := range t.Members[group] {
			if !entered[r] {
				out.Absent = append(out.Absent, t.Ranks[r].ID)
			}
		}
	}
	return out
}
