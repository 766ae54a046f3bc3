package communication

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/sfstat/sfstat/eval/campaign/tables"
	"github.com/sfstat/sfstat/plots"
	"github.com/sfstat/sfstat/plots/charts"
)

// Figures are those of every recording, called KIND-RECORDING, and where truths are known one of how well each method pairs. What there is
// nothing to draw of is left out.
func Figures(list []*Recording, w plots.Width) ([]tables.Artifact, error) {
	var out []tables.Artifact
	known := having(list, func(r *Recording) bool { return r.Truth != nil })
	if len(known) > 0 {
		scores, err := scoreAll(known)
		if err != nil {
			return nil, err
		}
		figure, err := alignmentMap(scores).Draw(w)
		if err != nil {
			return nil, fmt.Errorf("alignment: %w", err)
		}
		a := tables.Artifact{Name: "alignment", Figure: figure}
		for _, r := range known {
			a.Inputs = append(a.Inputs, r.Inputs...)
		}
		out = append(out, a)
	}
	for _, r := range list {
		for _, c := range charts.Communication(r.Result) {
			figure, err := c.Of.Draw(w)
			if errors.Is(err, plots.ErrNothing) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("%s of %s: %w", c.Name, r.Name, err)
			}
			out = append(out, tables.Artifact{Name: c.Name + "-" + r.Name, Figure: figure, Inputs: r.Inputs})
		}
	}
	return out, nil
}

// alignmentMap is F1 of each recording and method.
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
