package plots

import (
	"cmp"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Matrix is a map of values that are 0 or more, by row and column. A map whose
// columns are its rows is square.
type Matrix struct {
	Rows, Columns []Worker // by name and group; culprits are pointed at
	Y, X          Axis     // what rows and columns are; an X with bounds is divided evenly among the columns, and has numbers
	Value         Axis     // what the colour is, linear
	// Values has one at row·len(Columns) + column; NaN: not known, which has a colour
	// of its own; negative: there can be none.
	Values []float64
	Text   []string  // in the cells, where they are wide enough; nil: none
	Lines  []float64 // on an X with bounds: where lines go down, if they can be told apart
	Blocks []Block   // what the columns of each group are, in place of their names; nil: these
	Top    float64   // what is darkest: larger values are as dark; 0: the largest
	Key    []string  // what names that are too short to tell stand for, above the map
	Found  string    // what it means that a row is a culprit, for the legend
	Gaps   string    // what it means that a value is not known, for the legend; "": that
}

// Block is what is written below columns of one group.
type Block struct {
	Name string // is cut where it is long
	Note string // stands behind it
}

// Draw makes the map. The first row is on top.
func (m Matrix) Draw(w Width) (*Figure, error) {
	rows, columns := len(m.Rows), len(m.Columns)
	shown := cells{rows, columns, func(r, c int) float64 { return m.Values[r*columns+c] }}.reduce()
	most, gaps := shown.top()
	top := m.Top
	if top == 0 {
		if !slices.ContainsFunc(m.Values, func(v float64) bool { return v > 0 && m.Value.shows(v) }) {
			return nil, ErrNothing
		}
		top = most
	}
	p := newPlot(m.X, m.Y)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, float64(columns), 0, float64(rows)
	ys := workerAxis(m.Rows)
	tall := min(max(vg.Length(rows)*(tickSize+3), 75), 1.2*w.length())
	p.Y.Tick.Marker = plot.ConstantTicks(ys.labelsIn(tall, tickSize+1, func(i int) float64 { return float64(rows-i) - 0.5 }))
	p.Add(shown.paint(top), painter(ys.rowsOf))
	m.nameColumns(p, w, top)
	f := figure(w, tall, p)
	f.beside = scale(m.Value, top)
	if slices.Equal(m.Rows, m.Columns) {
		wide, around := f.room(p)
		f.body = wide + around + 2*edge
	}
	for _, k := range m.Key {
		f.legend = append(f.legend, entry{name: k})
	}
	f.legend = append(f.legend, ys.culpritEntry(m.Found)...)
	if gaps {
		f.legend = append(f.legend, entry{cmp.Or(m.Gaps, "not known"), func(c draw.Canvas) { fillBox(c, unknown, c.Rectangle) }})
	}
	f.legend = append(f.legend, m.nameBlocks(p, w)...)
	if most > top {
		f.legend = append(f.legend, entry{name: "darkest: as long or longer, up to " + Number(math.Round(most)) + " " + m.Value.Unit})
	}
	return f, nil
}

// nameColumns labels what columns are: by numbers on an axis with bounds, or each by its
// name; blocks are set apart.
func (m Matrix) nameColumns(p *plot.Plot, w Width, top float64) {
	xs := workerAxis(m.Columns)
	switch {
	case m.X.From < m.X.To:
		p.X.Min, p.X.Max = m.X.From, m.X.To
		p.Add(painter(m.drawLines))
	case m.Blocks != nil:
		p.Add(painter(xs.drawBorders))
	default:
		p.X.Tick.Marker = plot.ConstantTicks(xs.labelsIn(m.wide(w), xs.widest()+4, func(i int) float64 { return float64(i) + 0.5 }))
		p.Add(painter(xs.columnsOf), painter(func(c draw.Canvas, p *plot.Plot) { m.write(c, p, top) }))
	}
}

// nameBlocks labels the blocks below their columns where all names fit; otherwise
// they are numbered, and the legend says what for.
func (m Matrix) nameBlocks(p *plot.Plot, w Width) (key []entry) {
	if m.Blocks == nil {
		return nil
	}
	width := make([]int, len(m.Blocks))
	for _, c := range m.Columns {
		width[c.Group]++
	}
	labels := make([]string, len(m.Blocks))
	fit := true
	for i, b := range m.Blocks {
		labels[i] = short(b.Name) + b.Note
		style := words(tickSize)
		part := (w.length() - besideWide - 44) * vg.Length(width[i]) / vg.Length(len(m.Columns))
		fit = fit && style.Width(labels[i])+4 <= part
	}
	var ticks []plot.Tick
	at := 0
	for i, label := range labels {
		if !fit {
			label = Number(float64(i + 1))
			key = append(key, entry{name: label + " = " + labels[i]})
		}
		ticks = append(ticks, plot.Tick{Value: float64(at) + float64(width[i])/2, Label: label})
		at += width[i]
	}
	p.X.Tick.Marker = plot.ConstantTicks(ticks)
	p.X.Tick.Length = 0
	return key
}

// drawBorders draws the borders between blocks of columns.
func (ws workerAxis) drawBorders(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	for i := 1; i < len(ws); i++ {
		if ws[i].Group != ws[i-1].Group {
			c.StrokeLine2(pen(black, 0.6), x(float64(i)), c.Min.Y, x(float64(i)), c.Max.Y)
		}
	}
}

// mostLines is how many lines can be told apart.
const mostLines = 40

// drawLines draws the lines.
func (m Matrix) drawLines(c draw.Canvas, p *plot.Plot) {
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

// wide returns about how wide the data are.
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
