package charts

import (
	"fmt"
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

// Drawing returns the figure of what was added, with what the analysis found: how far each rank
// enters each call behind the first of its members, group by group.
func (m *Arrivals) Drawing(r *arrivals.Result) plots.Matrix {
	const narrowest = 0.12 // of all columns: what a group that has few is widened to, so that it can be seen
	culprits, found := culpritsOf(r)
	out := plots.Matrix{X: plots.Axis{Name: "calls of each group, in order of time"}, Y: plots.Axis{Name: "rank"},
		Value: plots.Axis{Name: "behind the first", Unit: "ms"}, Found: found, Gaps: "no entry"}
	row := map[int]int{}
	for i, id := range r.Ranks {
		row[id] = i
		out.Rows = append(out.Rows, plots.Worker{Name: strconv.Itoa(id), Culprit: slices.Contains(culprits, id)})
	}
	lanes := m.lanes()
	var behind [][][]float64 // by lane
	all := 0
	for _, l := range lanes {
		own := l.columns(row, mostColumns/len(lanes))
		behind, all = append(behind, own), all+len(own)
	}
	values := make([][]float64, len(r.Ranks))
	for i, l := range lanes {
		n := len(behind[i])
		note := ": " + plots.Number(float64(l.calls))
		if n < l.calls {
			note += fmt.Sprintf(", the longest of %d a column", (l.calls+n-1)/n)
		}
		out.Blocks = append(out.Blocks, plots.Block{Name: l.name(), Note: note})
		wide := max(1, int(math.Ceil(narrowest*float64(all)/float64(n))))
		for k := range n * wide {
			out.Columns = append(out.Columns, plots.Worker{Group: i})
			for r, v := range behind[i][k/wide] {
				values[r] = append(values[r], v)
			}
		}
	}
	out.Values, out.Top = slices.Concat(values...), darkest(behind)
	return out
}

// darkest returns the longest skew, or twice that which one column in forty exceeds, so that a
// slow start does not pale everything else; 0 without a column.
func darkest(behind [][][]float64) float64 {
	var skews []float64
	for _, column := range slices.Concat(behind...) {
		skew := 0.0
		for _, v := range column {
			if v > skew {
				skew = v
			}
		}
		skews = append(skews, skew)
	}
	if len(skews) == 0 {
		return 0
	}
	slices.Sort(skews)
	most := skews[len(skews)-1]
	if top := min(most, 2*skews[(len(skews)-1)*39/40]); top > 0 {
		return top
	}
	return max(most, 1)
}

// culpritsOf returns the ranks that are pointed at, and why.
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
		ranks = append(ranks, l.Ranks...)
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
		i := slices.IndexFunc(out, func(l *lane) bool { return l.accepts(g) })
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

func (l *lane) accepts(g *group) bool {
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

// name returns the description where there is one, else the names of the groups.
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

// columns returns the entries of a lane, [column][row] in ms, in at most so many columns: of
// those that share one, the longest counts. Recordings end together, so calls are counted
// from the end. A member that did not enter has NaN, a rank that is no member less than 0.
func (l *lane) columns(row map[int]int, most int) [][]float64 {
	each := (l.calls + most - 1) / most
	n := (l.calls + each - 1) / each
	out := make([][]float64, n)
	for i := range out {
		out[i] = slices.Repeat([]float64{-1}, len(row))
	}
	for _, g := range l.groups {
		for k, p := range g.points {
			column := out[n-1-(len(g.points)-1-k)/each]
			first := slices.Min(p.Enter)
			for i, id := range p.Ranks {
				to := &column[row[id]]
				*to = max(*to, float64(p.Enter[i]-first)/1e6) // NaN stays
			}
			for _, id := range p.Absent {
				column[row[id]] = math.NaN()
			}
		}
	}
	return out
}
