package plots

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Activity is how often each worker completes an operator, over time: the
// time-frequency view of KAIR (ASE 2025).
type Activity struct {
	Operator string
	Workers  []Worker
	Rates    [][]float64 // [worker][bin], completions per second
	Bin      float64     // length of a bin, s
	Steps    []float64   // where steps begin, s from the first bin
	Found    string      // what it means that a worker is a culprit, for the legend
}

// Draw makes the view. The first worker is on top.
func (a Activity) Draw(w Width) (*Figure, error) {
	n := len(a.Workers)
	if n == 0 || len(a.Rates) == 0 || len(a.Rates[0]) == 0 {
		return nil, ErrNothing
	}
	bins := len(a.Rates[0])
	for i, row := range a.Rates {
		if len(a.Rates) != n || len(row) != bins {
			return nil, fmt.Errorf("plots: %d rows, row %d of %d bins, expected %d of %d", len(a.Rates), i, len(row), n, bins)
		}
	}
	if !(a.Bin > 0) || math.IsInf(a.Bin, 0) {
		return nil, fmt.Errorf("plots: bins of %v s, expected more than 0", a.Bin)
	}
	m := cells{n, bins, func(r, c int) float64 { return a.Rates[r][c] }}.reduced()
	top, _ := m.top()
	ws := workerAxis(a.Workers)
	time := Axis{Name: "time", Unit: "s"}
	p := newPlot(time, Axis{Name: "rank"})
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, float64(bins)*a.Bin, 0, float64(n)
	high := min(max(vg.Length(n)*(tickSize+2), 60), 0.75*w.length())
	p.Y.Tick.Marker = plot.ConstantTicks(ws.labelsIn(high, tickSize+1, func(i int) float64 { return float64(n-i) - 0.5 }))
	p.Add(painted(m.image(top)), plotter(a.stepLines), plotter(ws.rowsOf))
	f := figure(w, high, p)
	f.beside = scale(Axis{Name: "completions", Unit: "1/s"}, top)
	f.legend = append([]entry{{name: short(a.Operator)}}, ws.foundEntry(a.Found)...)
	return f, nil
}

// mostSteps is how many steps can be told apart.
const mostSteps = 40

// stepLines draws where steps begin.
func (a Activity) stepLines(c draw.Canvas, p *plot.Plot) {
	if len(a.Steps) > mostSteps {
		return
	}
	x, _ := p.Transforms(&c)
	line := pen(dim, 0.4)
	line.Dashes = []vg.Length{2, 2}
	for _, s := range a.Steps {
		if at := x(s); at > c.Min.X && at < c.Max.X {
			c.StrokeLine2(line, at, c.Min.Y, at, c.Max.Y)
		}
	}
}
