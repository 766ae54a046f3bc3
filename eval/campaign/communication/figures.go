package communication

import (
	"strconv"

	"github.com/sfstat/sfstat/eval/campaign/tables"
	"github.com/sfstat/sfstat/plots"
	"github.com/sfstat/sfstat/plots/charts"
)

// figures returns the figures of a recording, called KIND-RECORDING.
func (r *Recording) figures() (out []tables.Artifact) {
	for _, c := range charts.Communication(r.Result) {
		out = append(out, tables.Artifact{Name: c.Name + "-" + r.Name, Figure: c.Of, Inputs: r.Inputs})
	}
	return out
}

// alignmentMap returns F1 of each recording and method.
func alignmentMap(list []scored) plots.Matrix {
	m := plots.Matrix{X: plots.Axis{Name: "method"}, Value: plots.Axis{Name: "F1 of pairs"}}
	for k := range methods {
		number := strconv.Itoa(int(k) + 1)
		m.Columns = append(m.Columns, plots.Worker{Name: number})
		m.Key = append(m.Key, number+" "+k.String())
	}
	for _, s := range list {
		m.Rows = append(m.Rows, plots.Worker{Name: s.name})
		for _, score := range s.scores {
			m.Values = append(m.Values, score.F1())
			m.Text = append(m.Text, strconv.FormatFloat(score.F1(), 'f', 2, 64))
		}
	}
	return m
}
