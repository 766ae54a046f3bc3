package plots

import (
	"math"

	"gonum.org/v1/plot"
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

// Draw makes the figure of bars.
func (b Bars) Draw(w Width) (*Figure, error) {
	if len(b.Groups) == 0 {
		return nil, ErrNothing
	}
	p := newPlot(b.X, Axis{})
	values := []float64{0}
	for _, g := range b.Groups {
		values = append(append(values, g.Values...), g.Marks...)
	}
	if err := b.X.fit(&p.X, values); err != nil {
		return nil, err
	}
	p.X.Min = 0
	p.Y.Min, p.Y.Max = 0, float64(len(b.Groups))
	p.Y.Tick.Marker = plot.ConstantTicks(b.names())
	p.Y.Tick.Length = 0
	p.Add(plotter(b.plot))
	rows := vg.Length(len(b.Groups) * (len(b.Series) + 1))
	f := figure(w, rows*barHeight, p)
	f.legend = b.legend()
	return f, nil
}

// names are the ticks of the groups, the first on top.
func (b Bars) names() []plot.Tick {
	var out []plot.Tick
	for i, g := range b.Groups {
		out = append(out, plot.Tick{Value: b.middle(i), Label: short(g.Name)})
	}
	return out
}

func (b Bars) middle(group int) float64 { return float64(len(b.Groups)-group) - 0.5 }

func (b Bars) plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	vertical(c, p)
	share := 1 / float64(len(b.Series)+1) // of a group's height, for a bar
	for i, g := range b.Groups {
		for k, v := range g.Values {
			top := y(b.middle(i) + share*(float64(len(b.Series))/2-float64(k)))
			bottom := y(b.middle(i) + share*(float64(len(b.Series))/2-float64(k+1)))
			if b.X.shows(v) {
				bar := vg.Rectangle{Min: vg.Point{X: x(0), Y: bottom}, Max: vg.Point{X: x(clampTo(p.X, v)), Y: top}}
				fillBox(c, fills[k], bar)
			}
			if g.Marks != nil && !math.IsNaN(g.Marks[k]) {
				drawMarker(c, publishedLook, open, vg.Point{X: x(clampTo(p.X, g.Marks[k])), Y: (top + bottom) / 2})
			}
		}
	}
}

// publishedLook is that of marks beside bars.
var publishedLook = look{color: vermillion, marker: diamond}

// legend tells series apart; one is told by the axis.
func (b Bars) legend() []entry {
	if len(b.Series) == 1 && b.Mark == "" {
		return nil
	}
	out := swatches(b.Series, func(c draw.Canvas, k int) { fillBox(c, fills[k], c.Rectangle) })
	if b.Mark != "" {
		out = append(out, entry{b.Mark, func(c draw.Canvas) { drawMarker(c, publishedLook, open, c.Center()) }})
	}
	return out
}
