package plots

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Group is the bars of one row of [Bars].
type Group struct {
	Name   string
	Values []float64 // a bar for each of Bars.Series; NaN: none
	Marks  []float64 // a mark beside each; NaN or nil: none
}

// Bars are groups of horizontal bars, the first on top: names of groups are read
// without turning the page.
type Bars struct {
	X      Axis
	Series []string // at most three
	Groups []Group
	Mark   string // what the marks are, for the legend
}

// barHeight is the height of a bar on paper.
const barHeight vg.Length = 6

// publishedLook is that of marks beside bars.
var publishedLook = look{color: vermillion, filled: draw.CircleGlyph{}, hollow: draw.RingGlyph{}}

// Draw makes the figure of bars.
func (b Bars) Draw(w Width) (*Figure, error) {
	n := len(b.Groups)
	if n == 0 {
		return nil, ErrNothing
	}
	p := newPlot(b.X, Axis{})
	values := []float64{0}
	ticks := make([]plot.Tick, n)
	for i, g := range b.Groups {
		values = append(append(values, g.Values...), g.Marks...)
		ticks[i] = plot.Tick{Value: float64(n - 1 - i), Label: short(g.Name)}
	}
	if err := b.X.setRange(&p.X, values); err != nil {
		return nil, err
	}
	p.X.Min = 0
	p.Y.Min, p.Y.Max = -0.5, float64(n)-0.5
	p.Y.Tick.Marker, p.Y.Tick.Length = plot.ConstantTicks(ticks), 0
	p.Add(&plotter.Grid{Vertical: rule})
	for k := range b.Series {
		p.Add(painter(b.series(k).Plot), painter(func(c draw.Canvas, p *plot.Plot) { b.marks(c, p, k) }))
	}
	f := figure(w, vg.Length(n*(len(b.Series)+1))*barHeight, p)
	f.legend = b.legend()
	return f, nil
}

// series returns the bars of one series, those of the last group first: rows count from below.
func (b Bars) series(k int) *plotter.BarChart {
	bars := &plotter.BarChart{Width: barHeight, Color: fills[k], LineStyle: pen(black, 0.4), Horizontal: true, Offset: b.rise(k) * barHeight}
	for i := range b.Groups {
		v := b.Groups[len(b.Groups)-1-i].Values[k]
		if !b.X.shows(v) {
			v = 0
		}
		bars.Values = append(bars.Values, v)
	}
	return bars
}

// rise returns by how many bars a series stands above the middle of its group.
func (b Bars) rise(k int) vg.Length { return vg.Length(len(b.Series)-1)/2 - vg.Length(k) }

func (b Bars) marks(c draw.Canvas, p *plot.Plot, k int) {
	x, y := p.Transforms(&c)
	for i, g := range b.Groups {
		if g.Marks != nil && !math.IsNaN(g.Marks[k]) {
			publishedLook.mark(c, vg.Point{X: x(clampTo(p.X, g.Marks[k])), Y: y(float64(len(b.Groups)-1-i)) + b.rise(k)*barHeight}, true)
		}
	}
}

// legend returns the legend of several series; a single one is named by the axis.
func (b Bars) legend() []entry {
	if len(b.Series) == 1 && b.Mark == "" {
		return nil
	}
	out := swatches(b.Series, func(c draw.Canvas, k int) { fillBox(c, fills[k], c.Rectangle) })
	if b.Mark != "" {
		out = append(out, entry{b.Mark, func(c draw.Canvas) { publishedLook.mark(c, c.Center(), true) }})
	}
	return out
}
