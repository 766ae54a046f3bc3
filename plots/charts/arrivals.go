package charts

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/plots"
)

// Arrivals gathers how far each rank enters each collective behind the first of its members. The zero value
// is empty.
type Arrivals struct {
	groups []*group
}

// group are the synchronisation points of one group of ranks.
type group struct {
	name, desc string
	members    map[int]bool // that have entries, or should
	points     []arrivals.Point
}

// Add takes a synchronisation point, in the order of arrivals.Options.EachPoint.
func (m *Arrivals) Add(p arrivals.Point) {
	for len(m.groups) <= p.Group {
		m.groups = append(m.groups, &group{members: map[int]bool{}})
	}
	g := m.groups[p.Group]
	g.name, g.desc = p.Name, p.Desc
	for _, ranks := range [][]int{p.Ranks, p.Absent} {
		for _, r := range ranks {
			g.members[r] = true
		}
	}
	g.points = append(g.points, p)
}

// Limits of what can be told apart.
const (
	mostColumns = 360
	mostLanes   = 8
)

// Drawing is the figure of what was added, with what the analysis found.
func (m *Arrivals) Drawing(r *arrivals.Result) plots.Entries {
	e := plots.Entries{}
	culprits, found := culpritsOf(r)
	e.Found = found
	row := map[int]int{}
	for i, id := range r.Ranks {
		row[id] = i
		e.Ranks = append(e.Ranks, plots.Worker{Name: strconv.Itoa(id), Culprit: slices.Contains(culprits, id)})
	}
	lanes := m.lanes()
	for _, l := range lanes {
		e.Groups = append(e.Groups, l.columns(row, mostColumns/len(lanes)))
	}
	return e
}

// culpritsOf are the ranks that are pointed at, and why.
func culpritsOf(r *arrivals.Result) (ranks []int, why string) {
	if r.Hang != nil {
		for _, b := range r.Hang.Groups {
			for _, a := range b.Missing {
				ranks = append(ranks, a.Rank)
			}
		}
		return ranks, "never entered the last call"
	}
	for _, l := range r.Late {
		ranks = append(ranks, l.Rank)
	}
	if len(ranks) == 0 && r.Set != nil {
		return r.Set.Ranks, "one of these is late of its own"
	}
	return ranks, "late of its own"
}

// lane are groups side by side in one block of columns: no rank is in two.
type lane struct {
	groups  []*group
	members map[int]bool
	calls   int // of the group that has most
}

// lanes puts groups of one description and size that have no rank in common
// together, such as those of tensor parallelism. Those with most calls come
// first; beyond mostLanes they are left out.
func (m *Arrivals) lanes() []*lane {
	var out []*lane
	for _, g := range m.groups {
		if len(g.members) < 2 || len(g.points) == 0 {
			continue
		}
		i := slices.IndexFunc(out, func(l *lane) bool { return l.takes(g) })
		if i < 0 {
			i = len(out)
			out = append(out, &lane{members: map[int]bool{}})
		}
		l := out[i]
		l.groups = append(l.groups, g)
		l.calls = max(l.calls, len(g.points))
		for r := range g.members {
			l.members[r] = true
		}
	}
	slices.SortStableFunc(out, func(a, b *lane) int { return b.calls - a.calls })
	return out[:min(len(out), mostLanes)]
}

func (l *lane) takes(g *group) bool {
	one := l.groups[0]
	if one.desc != g.desc || len(one.members) != len(g.members) {
		return false
	}
	for r := range g.members {
		if l.members[r] {
			return false
		}
	}
	return true
}

// name is the description where there is one, else the names of the groups.
func (l *lane) name() string {
	if d := l.groups[0].desc; d != "" && d != "undefined" {
		return d
	}
	var names []string
	for _, g := range l.groups {
		names = append(names, g.name)
	}
	if len(names) == 1 {
		return "group " + names[0]
	}
	return "groups " + strings.Join(names, ", ")
}

// columns are the entries of a lane in at most so many columns: of those that
// share one, the longest counts. Recordings end together, so calls are counted
// from the end.
func (l *lane) columns(row map[int]int, most int) plots.EntryGroup {
	each := (l.calls + most - 1) / most
	n := (l.calls + each - 1) / each
	out := plots.EntryGroup{Name: l.name(), Calls: l.calls, Behind: make([][]float64, len(row))}
	for i := range out.Behind {
		out.Behind[i] = slices.Repeat([]float64{-1}, n)
	}
	for _, g := range l.groups {
		for k, p := range g.points {
			c := n - 1 - (len(g.points)-1-k)/each
			first := slices.Min(p.Enter)
			for i, id := range p.Ranks {
				to := &out.Behind[row[id]][c]
				*to = max(*to, float64(p.Enter[i]-first)/1e6) // NaN stays
			}
			for _, id := range p.Absent {
				out.Behind[row[id]][c] = math.NaN()
			}
		}
	}
	return out
}
