package plots

import (
	"fmt"
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Matrix is a map of values that are 0 or more, by row and column. A map whose
// columns are its rows is square.
type Matrix struct {
	Rows, Columns []Worker // by name and group; culprits are outlined
	Y, X          Axis     // what rows and columns are; an X with bounds is divided evenly among the columns, and has numbers
	Value         Axis     // what the colour is, linear
	// Values has one at row·len(Columns) + column; NaN: not known, which has a colour
	// of its own.
	Values []float64
	Text   []string  // in the cells, where they are wide enough; nil: none
	Lines  []float64 // on an X with bounds: where lines go down, if they can be told apart
	Key    []string  // what names that are too short to tell stand for, above the map
	Found  string    // what it means that a row is a culprit, for the legend
}

// Draw makes the map. The first row is on top.
func (m Matrix) Draw(w Width) (*Figure, error) {
	rows, columns := len(m.Rows), len(m.Columns)
	if len(m.Values) != rows*columns || m.Text != nil && len(m.Text) != len(m.Values) {
		return nil, fmt.Errorf("plots: %d values and %d texts of %d rows and %d columns", len(m.Values), len(m.Text), rows, columns)
	}
	shown := cells{rows, columns, func(r, c int) float64 { return m.Values[r*columns+c] }}.reduced()
	top, gaps := shown.top()
	if !slices.ContainsFunc(m.Values, func(v float64) bool { return v > 0 && m.Value.shows(v) }) {
		return nil, ErrNothing
	}
	p := newPlot(m.X, m.Y)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, float64(columns), 0, float64(rows)
	ys, xs := workerAxis(m.Rows), workerAxis(m.Columns)
	tall := min(max(vg.Length(rows)*(tickSize+3), 75), 1.2*w.length())
	p.Y.Tick.Marker = plot.ConstantTicks(ys.labelsIn(tall, tickSize+1, func(i int) float64 { return float64(rows-i) - 0.5 }))
	p.Add(painted(shown.image(top)), plotter(ys.rowsOf))
	if m.X.From < m.X.To {
		p.X.Min, p.X.Max = m.X.From, m.X.To
		p.Add(plotter(m.down))
	} else {
		p.X.Tick.Marker = plot.ConstantTicks(xs.labelsIn(m.wide(w), xs.widest()+4, func(i int) float64 { return float64(i) + 0.5 }))
		p.Add(plotter(xs.columnsOf), plotter(func(c draw.Canvas, p *plot.Plot) { m.write(c, p, top) }))
	}
	f := figure(w, tall, p)
	f.beside = scale(m.Value, top)
	if slices.Equal(m.Rows, m.Columns) {
		wide, around := f.room(p)
		f.body = wide + around + 2*edge
	}
	for _, k := range m.Key {
		f.legend = append(f.legend, entry{name: k})
	}
	f.legend = append(f.legend, ys.foundEntry(m.Found)...)
	if gaps {
		f.legend = append(f.legend, unknownEntry)
	}
	return f, nil
}

// mostLines is how many lines can be told apart.
const mostLines = 40

// down draws the lines.
func (m Matrix) down(c draw.Canvas, p *plot.Plot) {
	if len(m.Lines) > mostLines {
		return
	}
	x, _ := p.Transforms(&c)
	line := pen(dim, 0.4)
	line.Dashes = []vg.Length{2, 2}
	for _, v := range m.Lines {
		if at := x(v); at > c.Min.X && at < c.Max.X {
			c.StrokeLine2(line, at, c.Min.Y, at, c.Max.Y)
		}
	}
}

// wide is about how wide the data are.
func (m Matrix) wide(w Width) vg.Length {
	return w.length() - besideWide - workerAxis(m.Rows).widest() - 24
}

// write puts texts into cells, if all of them fit.
func (m Matrix) write(c draw.Canvas, p *plot.Plot, top float64) {
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
		if m.Values[i] > 0.45*top { // dark
			style.Color = color.White
		}
		c.FillText(style, vg.Point{X: x(float64(column) + 0.5), Y: y(float64(len(m.Rows)-row) - 0.5)}, text)
	}
}
