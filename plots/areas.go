package plots

import (
	"fmt"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Area is one series of [Areas].
type Area struct {
	Name   string
	Values []float64 // 0 or more, one for each of Areas.Places
}

// Areas are series that add up, stacked from the first at the bottom.
type Areas struct {
	X, Y   Axis
	Places []float64 // ascending X
	Series []Area
}

// Draw makes the figure. Each value holds from halfway to its neighbour before
// to halfway to the one behind.
func (a Areas) Draw(w Width) (*Figure, error) {
	if len(a.Places) == 0 || len(a.Series) == 0 {
		return nil, ErrNothing
	}
	tops := make([][]float64, len(a.Series))
	below := make([]float64, len(a.Places))
	for k, s := range a.Series {
		if len(s.Values) != len(a.Places) {
			return nil, fmt.Errorf("plots: series %s has %d values for %d places", s.Name, len(s.Values), len(a.Places))
		}
		tops[k] = make([]float64, len(a.Places))
		for i, v := range s.Values {
			below[i] += v
			tops[k][i] = below[i]
		}
	}
	p := newPlot(a.X, a.Y)
	if err := a.Y.fit(&p.Y, append([]float64{0}, below...)); err != nil {
		return nil, err
	}
	p.Y.Min = 0
	edges := a.edges()
	p.X.Min, p.X.Max = edges[0], edges[len(edges)-1]
	p.Add(plotter(func(c draw.Canvas, p *plot.Plot) {
		for k := len(tops) - 1; k >= 0; k-- { // from the back to the front
			a.fill(c, p, edges, tops[k], k)
		}
	}))
	f := figure(w, 0.42*w.length(), p)
	for k := len(a.Series) - 1; k >= 0; k-- {
		f.legend = append(f.legend, entry{short(a.Series[k].Name), func(c draw.Canvas) {
			c.SetColor(areaFill(k))
			c.Fill(box(c.Rectangle))
		}})
	}
	return f, nil
}

// edges are where the values end: one more than there are places.
func (a Areas) edges() []float64 {
	n := len(a.Places)
	out := make([]float64, n+1)
	for i := 1; i < n; i++ {
		out[i] = (a.Places[i-1] + a.Places[i]) / 2
	}
	first, last := 0.5, 0.5
	if n > 1 {
		first, last = out[1]-a.Places[0], a.Places[n-1]-out[n-1]
	}
	out[0], out[n] = a.Places[0]-first, a.Places[n-1]+last
	return out
}

// fill paints everything below the top of a series.
func (a Areas) fill(c draw.Canvas, p *plot.Plot, edges, top []float64, series int) {
	x, y := p.Transforms(&c)
	var path vg.Path
	path.Move(vg.Point{X: x(edges[0]), Y: y(0)})
	for i, v := range top {
		path.Line(vg.Point{X: x(edges[i]), Y: y(v)})
		path.Line(vg.Point{X: x(edges[i+1]), Y: y(v)})
	}
	path.Line(vg.Point{X: x(edges[len(top)]), Y: y(0)})
	path.Close()
	c.SetColor(areaFill(series))
	c.Fill(path)
}

// areaFills are the colours of areas: large, so without black, and neighbours
// differ in lightness.
var areaFills = []color.Color{blue, orange, green, sky, vermillion, purple, color.Gray{0x66}, color.Gray{0xBB}}

func areaFill(series int) color.Color { return areaFills[series%len(areaFills)] }
