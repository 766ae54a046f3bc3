package plots

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"
)

// cells is a matrix of values that are 0 or more; NaN is not known.
type cells struct {
	rows, columns int
	at            func(row, column int) float64
}

// mostCells is how many cells a side of a map has. Larger ones are drawn with
// the largest value of neighbours in a cell, so that what is unusual stays
// visible.
const mostCells = 512

// reduce returns the matrix with at most so many cells a side.
func (m cells) reduce() cells {
	high, wide := (m.rows+mostCells-1)/mostCells, (m.columns+mostCells-1)/mostCells
	if high <= 1 && wide <= 1 {
		return m
	}
	rows, columns := (m.rows+high-1)/high, (m.columns+wide-1)/wide
	values := make([]float64, rows*columns)
	for i := range values {
		values[i] = math.NaN()
	}
	for r := range m.rows {
		for c := range m.columns {
			to := &values[r/high*columns+c/wide]
			if v := m.at(r, c); math.IsNaN(*to) || v > *to {
				*to = v
			}
		}
	}
	return cells{rows, columns, func(r, c int) float64 { return values[r*columns+c] }}
}

// top returns the largest value, 1 if nothing is above 0.
func (m cells) top() (top float64, gaps bool) {
	for r := range m.rows {
		for c := range m.columns {
			v := m.at(r, c)
			gaps = gaps || math.IsNaN(v)
			if v > top && !math.IsInf(v, 0) {
				top = v
			}
		}
	}
	if top == 0 {
		top = 1
	}
	return top, gaps
}

// minImageDots is how many dots a side of an image has at least: few cells are enlarged
// here, because what shows an image smooths it.
const minImageDots = 600

// dots are a matrix as a grid of dots, many to a cell, the first row on top. Its place
// is from 0 to 1 along both axes.
type dots struct {
	cells
	high, wide int // of a cell
}

func (m cells) dots() dots {
	return dots{m, max(1, minImageDots/m.rows), max(1, minImageDots/m.columns)}
}

func (d dots) Dims() (c, r int)   { return d.columns * d.wide, d.rows * d.high }
func (d dots) Z(c, r int) float64 { return max(0, d.at(d.rows-1-r/d.high, c/d.wide)) }
func (d dots) X(c int) float64    { return (float64(c) + 0.5) / float64(d.columns*d.wide) }
func (d dots) Y(r int) float64    { return (float64(r) + 0.5) / float64(d.rows*d.high) }

// paint draws a matrix over the whole of the data.
func (m cells) paint(top float64) painter {
	colours := shades(top).Palette(shadeCount)
	heat := plotter.HeatMap{GridXYZ: m.dots(), Palette: colours, Max: top, NaN: unknown, Overflow: colours.Colors()[shadeCount-1], Rasterized: true}
	return func(c draw.Canvas, p *plot.Plot) {
		whole := *p
		whole.X.Min, whole.X.Max, whole.Y.Min, whole.Y.Max = 0, 1, 0, 1
		heat.Plot(c, &whole)
		frame(c, p)
	}
}

// frame draws the edge of the data.
func frame(c draw.Canvas, _ *plot.Plot) {
	c.SetLineStyle(pen(black, 0.5))
	c.Stroke(c.Rectangle.Path())
}

// scale returns the colour bar: what the colours mean, from 0 to top. Its image is
// narrow, so that no other in the figure is as wide: the PDF library orders
// images by their width, and those of one width at random.
func scale(value Axis, top float64) *plot.Plot {
	p := newPlot(Axis{}, value)
	p.HideX()
	p.Add(&plotter.ColorBar{ColorMap: shades(top), Vertical: true, Colors: shadeCount}, painter(frame))
	return p
}
