package charts

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/engine/comm/parallel"
	"github.com/sfstat/sfstat/plots"
	"github.com/sfstat/sfstat/trace"
)

// communicatorMap returns how many bytes each rank called for on each communicator, those of a kind next to each other. A
// communicator of one rank communicates nothing and is left out. The scale is linear, and cells have their number.
func communicatorMap(r *comm.Result) plots.Matrix {
	m := plots.Matrix{X: plots.Axis{Name: "rank"}}
	column := map[int]int{} // of a rank's number
	for i := range r.Ranks {
		if _, twice := column[r.Ranks[i].Rank]; !twice {
			column[r.Ranks[i].Rank] = len(m.Columns)
			m.Columns = append(m.Columns, plots.Worker{Name: strconv.Itoa(r.Ranks[i].Rank)})
		}
	}
	row := map[int]int{} // of a communicator
	for _, g := range orderCommunicators(r) {
		c := &r.Communicators[g]
		name := trace.RankList(slices.Compact(slices.Clone(c.Ranks)))
		if c.Kind != parallel.UnknownKind {
			name = c.Kind.String() + " " + name
		}
		row[g] = len(m.Rows)
		m.Rows = append(m.Rows, plots.Worker{Name: name, Group: int(c.Kind)})
	}
	m.Values = make([]float64, len(m.Rows)*len(m.Columns))
	for i := range r.Ranks {
		for _, n := range r.Ranks[i].Calls {
			g, _ := r.CommunicatorOf(n)
			if at, drawn := row[g]; drawn {
				m.Values[at*len(m.Columns)+column[r.Ranks[i].Rank]] += float64(max(r.Calls[n].Bytes, 0))
			}
		}
	}
	m.Value, m.Text = scaleToUnit(m.Values)
	return m
}

// scaleToUnit brings bytes to the unit of the most, and writes each with three digits; "" for none.
func scaleToUnit(values []float64) (axis plots.Axis, text []string) {
	most, unit, name := 0.0, 1.0, "B"
	for _, v := range values {
		most = max(most, v)
	}
	for _, larger := range []string{"kB", "MB", "GB", "TB"} {
		if most >= 1000*unit {
			unit, name = 1000*unit, larger
		}
	}
	for i := range values {
		switch values[i] /= unit; {
		case values[i] == 0:
			text = append(text, "")
		case values[i] < 0.01:
			text = append(text, "<0.01")
		default:
			text = append(text, strconv.FormatFloat(values[i], 'g', 3, 64))
		}
	}
	return plots.Axis{Name: "volume as logged", Unit: name}, text
}

// orderCommunicators returns the communicators that join ranks and on which something was called, by kind, size and ranks.
func orderCommunicators(r *comm.Result) (list []int) {
	for g := range r.Communicators {
		c := &r.Communicators[g]
		if _, bytes := c.Total(); bytes > 0 && c.NRanks > 1 && len(c.Ranks) > 0 {
			list = append(list, g)
		}
	}
	slices.SortStableFunc(list, func(a, b int) int {
		x, y := &r.Communicators[a], &r.Communicators[b]
		return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(y.NRanks, x.NRanks), slices.Compare(x.Ranks, y.Ranks))
	})
	return list
}
