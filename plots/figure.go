package plots

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Figure is a figure that is ready to be written.
type Figure struct {
	width   vg.Length
	body    vg.Length // height of all but the legend
	legend  []entry
	panels  []*plot.Plot // in rows of columns each, their data aligned
	columns int          // of panels; 0: one
	beside  *plot.Plot   // a narrow panel to the right of the last one; nil: none
}

// Drawing is a figure to be.
type Drawing interface {
	Draw(Width) (*Figure, error)
}

// Named is a figure to be, and what it is called in the name of a file.
type Named struct {
	Name string
	Of   Drawing
}

// entry is a line of the legend.
type entry struct {
	name   string
	sample func(draw.Canvas) // draws into the canvas's rectangle; nil: the name is a heading
}

// swatches returns entries for series, each painted by its number.
func swatches(series []string, paint func(draw.Canvas, int)) []entry {
	var out []entry
	for k, name := range series {
		out = append(out, entry{short(name), func(c draw.Canvas) { paint(c, k) }})
	}
	return out
}

// Distances on paper, in points.
const (
	edge       vg.Length = 4  // white around everything
	sampleWide vg.Length = 18 // a sample of the legend
	gap        vg.Length = 8  // between entries of the legend, and panels
	besideWide vg.Length = 46 // the panel to the right
)

// draw draws the whole figure.
func (f *Figure) draw(c draw.Canvas) {
	c.SetColor(color.White)
	c.Fill(c.Rectangle.Path())
	c = draw.Crop(c, edge, -edge, edge, -edge)
	c.Max.Y -= f.drawLegend(c)
	if f.beside != nil {
		right := draw.Crop(c, c.Size().X-besideWide, 0, 0, 0)
		c = draw.Crop(c, 0, -besideWide-gap, 0, 0)
		f.drawBeside(c, right)
	}
	rows := f.rows()
	tiles := draw.Tiles{Rows: len(rows), Cols: len(rows[0]), PadX: gap, PadY: gap}
	for i, row := range plot.Align(rows, tiles, c) {
		for j, tile := range row {
			if p := rows[i][j]; p != nil {
				p.Draw(tile)
			}
		}
	}
}

// rows returns the panels row by row; the last row may end in nil.
func (f *Figure) rows() [][]*plot.Plot {
	columns := min(max(1, f.columns), len(f.panels))
	rows := make([][]*plot.Plot, (len(f.panels)+columns-1)/columns)
	for i := range rows {
		rows[i] = make([]*plot.Plot, columns)
		copy(rows[i], f.panels[i*columns:])
	}
	return rows
}

// drawBeside draws the narrow panel as high as the data of the panel to its
// left.
func (f *Figure) drawBeside(left, right draw.Canvas) {
	data := f.panels[len(f.panels)-1].DataCanvas(left)
	own := f.beside.DataCanvas(right)
	right.Min.Y += data.Min.Y - own.Min.Y
	right.Max.Y += data.Max.Y - own.Max.Y
	f.beside.Draw(right)
}

// legendStyle returns the style of text in the legend.
func legendStyle() text.Style {
	style := words(tickSize)
	style.YAlign = draw.YCenter
	return style
}

// placeLegend returns where the entries of the legend stand, from the top left
// corner, in as many rows as a width needs, and how high they are together.
func (f *Figure) placeLegend(width vg.Length) (at []vg.Point, high vg.Length) {
	if len(f.legend) == 0 {
		return nil, 0
	}
	style := legendStyle()
	row := 1.4 * style.Height("X")
	x, y := vg.Length(0), -row/2
	for _, e := range f.legend {
		wide := e.indent() + style.Width(e.name)
		if x > 0 && x+wide > width {
			x, y = 0, y-row
		}
		at = append(at, vg.Point{X: x, Y: y})
		x += wide + gap
	}
	return at, row/2 - y + 3
}

// indent returns where the name of an entry begins.
func (e entry) indent() vg.Length {
	if e.sample == nil {
		return 0
	}
	return sampleWide + 3
}

// drawLegend draws the legend along the top of a canvas and returns how high it
// is.
func (f *Figure) drawLegend(c draw.Canvas) vg.Length {
	style := legendStyle()
	places, high := f.placeLegend(c.Size().X)
	for i, e := range f.legend {
		x, y := c.Min.X+places[i].X, c.Max.Y+places[i].Y
		if e.sample != nil {
			e.sample(draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
				Min: vg.Point{X: x, Y: y - 3}, Max: vg.Point{X: x + sampleWide, Y: y + 3}}})
		}
		c.FillText(style, vg.Point{X: x + e.indent(), Y: y}, e.name)
	}
	return high
}

// figure makes a figure of panels whose data are of a height each.
func figure(w Width, data vg.Length, panels ...*plot.Plot) *Figure {
	return figureOf(w, data, 1, panels)
}

// figureOf makes a figure in columns; the first panel of a row says how much is around
// its data.
func figureOf(w Width, data vg.Length, columns int, panels []*plot.Plot) *Figure {
	f := &Figure{width: w.length(), panels: panels, columns: columns}
	f.body = 2*edge - gap
	for _, row := range f.rows() {
		_, around := f.room(row[0])
		f.body += data + around + gap
	}
	return f
}

// room returns how wide the data of a panel are, and how much of its height is not
// data.
func (f *Figure) room(p *plot.Plot) (wide, around vg.Length) {
	const high = 1000
	all := f.width - 2*edge
	if n := vg.Length(f.columns); n > 1 {
		all = (all - (n-1)*gap) / n
	}
	if f.beside != nil {
		all -= besideWide + gap
	}
	data := p.DataCanvas(draw.NewCanvas(nil, all, high))
	return data.Size().X, high - data.Size().Y
}

// size returns how large the figure is, with its legend.
func (f *Figure) size() (width, height vg.Length) {
	_, legend := f.placeLegend(f.width - 2*edge)
	return f.width, f.body + legend
}

// painter is a function that draws onto the data of a plot.
type painter func(draw.Canvas, *plot.Plot)

// Plot implements plot.Plotter.
func (f painter) Plot(c draw.Canvas, p *plot.Plot) { f(c, p) }
