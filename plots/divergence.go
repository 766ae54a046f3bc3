package plots

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Divergence is the distance between the completion times of every two workers.
type Divergence struct {
	Workers []Worker
	// D is the distance of workers a and b at a·len(Workers) + b, between 0 and 1;
	// negative or NaN: not known.
	D     []float64
	Found string // what it means that a worker is a culprit, for the legend
}

// Draw makes the map. The first worker is on top and to the left. O(N²).
func (d Divergence) Draw(w Width) (*Figure, error) {
	n := len(d.Workers)
	if n == 0 {
		return nil, ErrNothing
	}
	if len(d.D) != n*n {
		return nil, fmt.Errorf("plots: %d distances of %d workers, expected %d", len(d.D), n, n*n)
	}
	m := cells{n, n, func(r, c int) float64 {
		if v := d.D[r*n+c]; v >= 0 {
			return v
		}
		return math.NaN()
	}}.reduced()
	top, gaps := m.top()
	ws := workerAxis(d.Workers)
	p := newPlot(Axis{Name: "rank"}, Axis{Name: "rank"})
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, float64(n), 0, float64(n)
	side := w.length() - besideWide - 44 // of the data, or a little more
	p.X.Tick.Marker = plot.ConstantTicks(ws.labelsIn(side, ws.widest()+4, func(i int) float64 { return float64(i) + 0.5 }))
	p.Y.Tick.Marker = plot.ConstantTicks(ws.labelsIn(side, tickSize+1, func(i int) float64 { return float64(n-i) - 0.5 }))
	p.Add(painted(m.image(top)), plotter(ws.rowsOf), plotter(ws.columnsOf))
	f := &Figure{width: w.length(), panels: []*plot.Plot{p}, beside: scale(Axis{Name: "K-S distance D"}, top),
		legend: ws.foundEntry(d.Found)}
	wide, around := f.room(p)
	f.body = wide + around + 2*edge // square
	if gaps {
		f.legend = append(f.legend, unknownEntry)
	}
	return f, nil
}

// columnsOf draws what rowsOf draws, for columns; nothing points at them.
func (ws workerAxis) columnsOf(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	for _, b := range ws.borders() {
		at := x(float64(b))
		c.StrokeLine2(pen(dim, 0.4), at, c.Min.Y, at, c.Max.Y)
	}
	found := ws.culprits()
	if len(found) > mostOutlined {
		return
	}
	for _, i := range found {
		outline(c, vg.Rectangle{Min: vg.Point{X: x(float64(i)), Y: c.Min.Y}, Max: vg.Point{X: x(float64(i + 1)), Y: c.Max.Y}})
	}
}

var unknownEntry = entry{"not known", func(c draw.Canvas) {
	c.SetColor(shades[unknown])
	c.Fill(box(c.Rectangle))
	c.SetLineStyle(pen(black, 0.4))
	c.Stroke(box(c.Rectangle))
}}
