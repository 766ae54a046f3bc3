package charts

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/engine/comm/parallel"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/plots"
)

// mostPoints is how many calls of a series are drawn, evenly taken.
const mostPoints = 500

// minClass returns the size class from which on messages are drawn: flags and losses of some bytes, which take a thousandth of a link, would press all others
// together. Where there is nothing else, all are.
func minClass(r *comm.Result) int {
	small := comm.Class(4 << 10)
	for i := range r.Speed.Cells {
		if r.Speed.Cells[i].Class >= small {
			return small
		}
	}
	return 0
}

// bandwidthChart draws bus bandwidth by size of message, a series for what is communicated for and by which operation, and the
// limits: of links, and by size what nccl-tests reached of the same.
func bandwidthChart(r *comm.Result) plots.Chart {
	panel := plots.Panel{X: plots.Axis{Name: "message", Bytes: true}, Y: plots.Axis{Name: "bus bandwidth", Unit: "GB/s", Log: true}}
	series := map[string][]plots.Point{}
	limits := map[comm.Limit]bool{}
	var names []string
	least := minClass(r)
	for i := range r.Speed.Cells {
		c := &r.Speed.Cells[i]
		if c.Class < least {
			continue
		}
		if l := r.Speed.Subjects[c.Subject].Limit; l.Bandwidth > 0 {
			limits[comm.Limit{Link: l.Link, Bandwidth: l.Bandwidth}] = true
		}
		name := r.WorkOf(c)
		if k := r.Communicators[r.Speed.Subjects[c.Subject].Communicator].Kind; k != parallel.UnknownKind {
			name = k.String() + " " + name
		}
		if _, known := series[name]; !known {
			names = append(names, name)
		}
		for _, x := range c.Calls {
			series[name] = append(series[name], plots.Point{X: float64(x.Bytes), Y: x.Bus})
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(len(series[b]), len(series[a])) })
	for _, name := range names[:min(len(names), mostOps+1)] {
		all := series[name]
		var points []plots.Point
		for i := 0; i < len(all); i += 1 + len(all)/mostPoints {
			points = append(points, all[i])
		}
		panel.Lines = append(panel.Lines, plots.Line{Name: name, Points: points, Unjoined: true})
	}
	panel.Lines = append(panel.Lines, benchmarkLines(r, least)...)
	for l := range limits {
		panel.References = append(panel.References, plots.Reference{Name: fmt.Sprintf("%v, %g GB/s", l.Link, l.Bandwidth), Value: l.Bandwidth})
	}
	slices.SortFunc(panel.References, func(a, b plots.Reference) int {
		return cmp.Or(cmp.Compare(a.Value, b.Value), cmp.Compare(a.Name, b.Name))
	})
	return plots.Chart{Panels: []plots.Panel{panel}}
}

// benchmarkLines returns what nccl-tests reached of what calls are held against, by size from a class on.
func benchmarkLines(r *comm.Result, least int) (lines []plots.Line) {
	for i := range r.Speed.Cells {
		c := &r.Speed.Cells[i]
		s := &r.Speed.Subjects[c.Subject]
		line := plots.Line{Name: fmt.Sprintf("%s test, %d ranks, %s", r.WorkOf(c), s.Ranks, table.Counted(s.Hosts, "host")), Unmarked: true}
		if slices.ContainsFunc(lines, func(l plots.Line) bool { return l.Name == line.Name }) {
			continue
		}
		for _, x := range r.Speed.Theory.Curve(s, c.Op) {
			if comm.Class(x.Bytes) >= least {
				line.Points = append(line.Points, plots.Point{X: float64(x.Bytes), Y: x.Bus})
			}
		}
		if len(line.Points) > 1 {
			lines = append(lines, line)
		}
	}
	return lines
}
