package plots

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Point is a value with its interval.
type Point struct {
	X, Y      float64
	Low, High float64 // of the interval around Y; both 0 or not finite: none is drawn
	Open      bool    // drawn hollow: what Chart.Hollow says holds
}

func (p Point) hasInterval() bool {
	return p.Low != p.High && !math.IsNaN(p.Low-p.High) && !math.IsInf(p.Low-p.High, 0)
}

// Line is a series of points, by ascending X.
type Line struct {
	Name     string
	Points   []Point
	Unjoined bool // each point stands for itself
	Unmarked bool // a line alone, without marks
}

// Reference is a value that data are compared with, drawn across the panel.
type Reference struct {
	Name     string // "τ = 0.80"
	Value    float64
	Vertical bool // at an X; else horizontal, at a Y
}

// Panel is one pair of axes.
type Panel struct {
	Title      string // above it; "": none
	X, Y       Axis
	Lines      []Line
	References []Reference
}

// Chart is panels in rows. Series of one name look the same in all.
type Chart struct {
	Panels  []Panel
	Columns int    // panels in a row; 0: one, and so in a column, which has room for no more
	Hollow  string // what a hollow point means, for the legend; "" says nothing
}

// Draw makes the figure of a chart. Points without finite coordinates are left
// out; it is an error if a panel has no other.
func (ch Chart) Draw(w Width) (*Figure, error) {
	if len(ch.Panels) == 0 {
		return nil, ErrNothing
	}
	f := &Figure{}
	names := make(map[string]int)
	var panels []*plot.Plot
	for i, panel := range ch.Panels {
		p, err := panel.plot(func(l Line) look { return f.lookOf(names, l) })
		if err != nil {
			return nil, fmt.Errorf("panel %d: %w", i+1, err)
		}
		panels = append(panels, p)
	}
	high := 0.5 * w.length()
	columns := max(1, ch.Columns)
	if w == Column {
		columns = 1
	}
	if len(panels) > 1 {
		high = 0.36 * w.length()
	}
	if columns > 1 {
		high = 0.5 * w.length() / vg.Length(columns)
	}
	legend := f.legend
	f = figureOf(w, high, columns, panels)
	f.legend = legend
	if ch.Hollow != "" && ch.hasHollow() {
		f.legend = append(f.legend, entry{ch.Hollow, func(c draw.Canvas) {
			look{color: dim, filled: draw.CircleGlyph{}, hollow: draw.RingGlyph{}}.mark(c, c.Center(), true)
		}})
	}
	return f, nil
}

func (ch Chart) hasHollow() bool {
	for _, panel := range ch.Panels {
		for _, l := range panel.Lines {
			if slices.ContainsFunc(panel.visible(l), func(p Point) bool { return p.Open }) {
				return true
			}
		}
	}
	return false
}

// lookOf returns the look of a series by name, which enters the legend when it is
// new.
func (f *Figure) lookOf(names map[string]int, line Line) look {
	k, known := names[line.Name]
	if known {
		return lookOf(k)
	}
	k = len(names)
	names[line.Name] = k
	l := lookOf(k)
	f.legend = append(f.legend, entry{short(line.Name), func(c draw.Canvas) {
		if !line.Unjoined {
			c.StrokeLine2(l.line(), c.Min.X, c.Center().Y, c.Max.X, c.Center().Y)
		}
		if !line.Unmarked {
			l.mark(c, c.Center(), false)
		}
	}})
	return l
}

func (panel Panel) plot(lookOf func(Line) look) (*plot.Plot, error) {
	p := newPlot(panel.X, panel.Y)
	if panel.Title != "" {
		p.Title.Text, p.Title.TextStyle, p.Title.Padding = panel.Title, alignText(words(tickSize), p.Title.TextStyle), 2
	}
	var xs, ys []float64
	for _, l := range panel.Lines {
		for _, pt := range panel.visible(l) {
			xs, ys = append(xs, pt.X), append(ys, pt.Y)
			if pt.hasInterval() {
				ys = append(ys, pt.Low, pt.High)
			}
		}
	}
	for _, r := range panel.References {
		if !r.Vertical && len(ys) > 0 {
			ys = append(ys, r.Value)
		}
	}
	if err := panel.X.setRange(&p.X, xs); err != nil {
		return nil, err
	}
	if err := panel.Y.setRange(&p.Y, ys); err != nil {
		return nil, err
	}
	p.Add(&plotter.Grid{Vertical: rule, Horizontal: rule})
	for _, r := range panel.References {
		panel.reference(p, r)
	}
	for i, l := range panel.Lines {
		aside := pointOffset * (vg.Length(i) - vg.Length(len(panel.Lines)-1)/2)
		if l.Unjoined || l.Unmarked {
			aside = 0
		}
		p.Add(panel.series(p, l, lookOf(l), aside))
	}
	return p, nil
}

// pointOffset is how far the points of two series of the same X stand from each other
// on paper, so that neither hides the interval of the other.
const pointOffset vg.Length = 2

// visible returns the points that can be drawn.
func (panel Panel) visible(l Line) []Point {
	var out []Point
	for _, p := range l.Points {
		if panel.X.shows(p.X) && panel.Y.shows(p.Y) {
			out = append(out, p)
		}
	}
	return out
}

// series draws a series, its points so far aside on paper.
func (panel Panel) series(p *plot.Plot, of Line, l look, aside vg.Length) painter {
	line := plotter.Line{LineStyle: l.line()}
	bars := plotter.YErrorBars{LineStyle: pen(l.color, 0.7), CapWidth: 3.6}
	points := panel.visible(of)
	for _, pt := range points {
		at := plotter.XY{X: panel.X.place(pt.X), Y: panel.Y.place(pt.Y)}
		line.XYs = append(line.XYs, at)
		if pt.hasInterval() {
			bars.XYs = append(bars.XYs, at)
			bars.YErrors = append(bars.YErrors, struct{ Low, High float64 }{at.Y - panel.intervalEnd(p, pt.Low), panel.intervalEnd(p, pt.High) - at.Y})
		}
	}
	return func(c draw.Canvas, p *plot.Plot) {
		c.Push()
		defer c.Pop()
		c.Translate(vg.Point{X: aside})
		if !of.Unjoined {
			line.Plot(c, p)
		}
		if of.Unmarked {
			return
		}
		bars.Plot(c, p)
		x, y := p.Transforms(&c)
		for i, at := range line.XYs {
			l.mark(c, vg.Point{X: x(at.X), Y: y(at.Y)}, points[i].Open)
		}
	}
}

// intervalEnd returns the place of the end of an interval, on the axis.
func (panel Panel) intervalEnd(p *plot.Plot, v float64) float64 {
	if !panel.Y.shows(v) {
		return p.Y.Min // not positive
	}
	return clampTo(p.Y, panel.Y.place(v))
}

// clampTo keeps a place on an axis.
func clampTo(a plot.Axis, v float64) float64 { return min(max(v, a.Min), a.Max) }

// reference draws a dashed line with its name at its end, above it or to its
// left.
func (panel Panel) reference(p *plot.Plot, r Reference) {
	at := panel.Y.place(r.Value)
	line, end := plotter.XYs{{X: p.X.Min, Y: at}, {X: p.X.Max, Y: at}}, vg.Point{X: 2, Y: 1.5}
	name := words(tickSize - 0.5)
	name.Color = dim
	if r.Vertical {
		at = panel.X.place(r.Value)
		line, end = plotter.XYs{{X: at, Y: p.Y.Min}, {X: at, Y: p.Y.Max}}, vg.Point{X: -2, Y: 2}
		name.XAlign = draw.XRight
	}
	p.Add(painter((&plotter.Line{XYs: line, LineStyle: draw.LineStyle{Color: dim, Width: 0.8, Dashes: []vg.Length{3, 2}}}).Plot),
		painter((&plotter.Labels{XYs: line[:1], Labels: []string{r.Name}, TextStyle: []text.Style{name}, Offset: end}).Plot))
}
