package plots

import (
	"image"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
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

// reduced is the matrix with at most so many cells a side.
func (m cells) reduced() cells {
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

// top is the largest value, 1 if nothing is above 0.
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

// sharp is how many dots a side of an image has at least: few cells are enlarged
// here, because what shows an image smooths it.
const sharp = 600

// image paints the matrix, the first row on top.
func (m cells) image(top float64) image.Image {
	return m.enlarged(top, max(1, sharp/m.rows), max(1, sharp/m.columns))
}

// enlarged paints the matrix, each cell so many dots high and wide.
func (m cells) enlarged(top float64, high, wide int) image.Image {
	img := image.NewPaletted(image.Rect(0, 0, m.columns*wide, m.rows*high), shades)
	for r := range m.rows {
		first := img.Pix[r*high*img.Stride : (r*high+1)*img.Stride]
		for c := range m.columns {
			s := shade(m.at(r, c), top)
			for k := range wide {
				first[c*wide+k] = s
			}
		}
		for k := 1; k < high; k++ {
			copy(img.Pix[(r*high+k)*img.Stride:], first)
		}
	}
	return img
}

// painted draws an image over the whole of the data.
func painted(img image.Image) plotter {
	return func(c draw.Canvas, _ *plot.Plot) {
		c.DrawImage(c.Rectangle, img)
		c.SetLineStyle(pen(black, 0.5))
		c.Stroke(box(c.Rectangle))
	}
}

// scale is the colour bar: what the colours mean, from 0 to top. Its image is
// narrow, so that no other in the figure is as wide: the PDF library orders
// images by their width, and those of one width at random.
func scale(value Axis, top float64) *plot.Plot {
	p := newPlot(Axis{}, value)
	p.HideX()
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, 0, top
	bar := cells{shadeCount, 1, func(r, _ int) float64 { return top * float64(shadeCount-1-r) / (shadeCount - 1) }}
	p.Add(painted(bar.enlarged(top, 2, 1)))
	return p
}

// outline draws a rectangle that shows on any colour, if it leaves something to
// see of what it is around.
func outline(c draw.Canvas, r vg.Rectangle) {
	const narrowest = 4
	if size := r.Size(); min(size.X, size.Y) < narrowest {
		return
	}
	c.SetLineStyle(pen(color.White, 1.8))
	c.Stroke(box(r))
	c.SetLineStyle(pen(vermillion, 0.9))
	c.Stroke(box(r))
}
