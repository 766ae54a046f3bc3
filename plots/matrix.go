package plots

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Matrix is a map of values that are 0 or more, by row and column.
type Matrix struct {
	Rows, Columns []Worker // by name and group
	Y, X          Axis     // what rows and columns are
	Value         Axis     // what the colour is; where its scale is not linear, values of 0 are blank
	// Values has one at row·len(Columns) + column; NaN: none, which is blank too.
	Values []float64
	Text   []string // in the cells, where they are wide enough; nil: none
	Key    []string // what names that are too short to tell stand for, above the map
}

// Draw makes the map. The first row is on top.
func (m Matrix) Draw(w Width) (*Figure, error) {
	rows, columns := len(m.Rows), len(m.Columns)
	if len(m.Values) != rows*columns || m.Text != nil && len(m.Text) != len(m.Values) {
		return nil, fmt.Errorf("plots: %d values and %d texts of %d rows and %d columns", len(m.Values), len(m.Text), rows, columns)
	}
	low, high, err := m.bounds()
	if err != nil {
		return nil, err
	}
	shown := cells{rows, columns, func(r, c int) float64 { return m.level(m.Values[r*columns+c], low, high) }}.reduced()
	p := newPlot(m.X, m.Y)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, float64(columns), 0, float64(rows)
	ys, xs := workerAxis(m.Rows), workerAxis(m.Columns)
	tall := min(max(vg.Length(rows)*(tickSize+3), 75), 1.2*w.length())
	p.Y.Tick.Marker = plot.ConstantTicks(ys.labelsIn(tall, tickSize+1, func(i int) float64 { return float64(rows-i) - 0.5 }))
	p.X.Tick.Marker = plot.ConstantTicks(xs.labelsIn(m.wide(w), xs.widest()+4, func(i int) float64 { return float64(i) + 0.5 }))
	p.Add(painted(shown.image(1)), plotter(ys.rowsOf), plotter(xs.columnsOf), plotter(func(c draw.Canvas, p *plot.Plot) { m.write(c, p, shown) }))
	f := figure(w, tall, p)
	f.beside = m.bar(low, high)
	for _, k := range m.Key {
		f.legend = append(f.legend, entry{name: k})
	}
	return f, nil
}

// wide is about how wide the data are.
func (m Matrix) wide(w Width) vg.Length {
	return w.length() - besideWide - workerAxis(m.Rows).widest() - 24
}

// bounds are the least and the greatest place of a value; of a linear scale the least is 0.
func (m Matrix) bounds() (low, high float64, err error) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, v := range m.Values {
		if m.Value.shows(v) && v > 0 {
			low, high = min(low, m.Value.place(v)), max(high, m.Value.place(v))
		}
	}
	if low > high {
		return 0, 0, ErrNothing
	}
	if m.Value.Scale == Linear {
		low = 0
	}
	if low == high { // all equal
		low--
	}
	return low, high, nil
}

// blank is how much of the colours is left to what has no value, where scales have no 0.
const blank = 0.15

// level is a value as a part of the colours, 0 where there is none.
func (m Matrix) level(v, low, high float64) float64 {
	if !m.Value.shows(v) || v <= 0 {
		return 0
	}
	part := (m.Value.place(v) - low) / (high - low)
	if m.Value.Scale == Linear {
		return part
	}
	return blank + (1-blank)*part
}

// bar says what the colours mean.
func (m Matrix) bar(low, high float64) *plot.Plot {
	p := newPlot(Axis{}, m.Value)
	p.HideX()
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, low, high
	first := blank
	if m.Value.Scale == Linear {
		first = 0
	}
	shown := cells{shadeCount, 1, func(r, _ int) float64 { return first + (1-first)*float64(shadeCount-1-r)/(shadeCount-1) }}
	p.Add(painted(shown.enlarged(1, 2, 1)))
	return p
}

// write puts texts into cells, if all of them fit.
func (m Matrix) write(c draw.Canvas, p *plot.Plot, shown cells) {
	style := words(tickSize)
	style.XAlign, style.YAlign = draw.XCenter, draw.YCenter
	size := c.Size()
	for _, text := range m.Text {
		if style.Width(text)+2 > size.X/vg.Length(len(m.Columns)) || tickSize > size.Y/vg.Length(len(m.Rows)) {
			return
		}
	}
	x, y := p.Transforms(&c)
	for i, text := range m.Text {
		row, column := i/len(m.Columns), i%len(m.Columns)
		style.Color = color.Black
		if shown.at(row, column) > 0.45 { // dark
			style.Color = color.White
		}
		c.FillText(style, vg.Point{X: x(float64(column) + 0.5), Y: y(float64(len(m.Rows)-row) - 0.5)}, text)
	}
}
