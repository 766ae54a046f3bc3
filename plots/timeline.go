package plots

import (
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Span is something that lasts, of one series. Until Busy it waits and is drawn paler.
type Span struct {
	From, Busy, To float64 // From ≤ Busy ≤ To
	Series         int
}

// Lane is a row of spans.
type Lane struct {
	Name  string
	Spans []Span
}

// Timeline is what lasted when, a row for each lane, the first on top.
type Timeline struct {
	X      Axis     // bounded by From and To
	Series []string // beyond eight, colours repeat
	Tracks [][]Lane // lanes that belong together; a line is drawn between tracks
	Waits  string   // what paler means, for the legend; "" says nothing
}

// laneHeight is that of a row on paper, laneFill the part of it that spans take.
const (
	laneHeight vg.Length = 8.5
	laneFill   float64   = 0.7
)

// Draw makes the figure of a timeline. Spans outside of the axis are left out, and cut where they reach beyond it.
func (l Timeline) Draw(w Width) (*Figure, error) {
	lanes, shown := 0, false
	for _, track := range l.Tracks {
		lanes += len(track)
		shown = shown || slices.ContainsFunc(track, func(lane Lane) bool { return slices.ContainsFunc(lane.Spans, l.shows) })
	}
	if !shown {
		return nil, ErrNothing
	}
	p := newPlot(l.X, Axis{})
	p.X.Min, p.X.Max = l.X.From, l.X.To
	p.Y.Min, p.Y.Max = 0, float64(lanes)
	p.Y.Tick.Marker = plot.ConstantTicks(l.names(lanes))
	p.Y.Tick.Length = 0
	p.Add(&plotter.Grid{Vertical: rule}, painter(func(c draw.Canvas, p *plot.Plot) { l.plot(c, p, lanes) }))
	f := figure(w, vg.Length(lanes)*laneHeight, p)
	f.legend = l.legend()
	return f, nil
}

func (l Timeline) shows(s Span) bool { return s.From < l.X.To && s.To > l.X.From && s.From <= s.To }

// names returns the labels of the lanes.
func (l Timeline) names(lanes int) []plot.Tick {
	var out []plot.Tick
	for _, track := range l.Tracks {
		for _, lane := range track {
			lanes--
			out = append(out, plot.Tick{Value: float64(lanes) + 0.5, Label: short(lane.Name)})
		}
	}
	return out
}

func (l Timeline) plot(c draw.Canvas, p *plot.Plot, lanes int) {
	_, y := p.Transforms(&c)
	row := lanes
	for _, track := range l.Tracks {
		if row < lanes {
			at := y(float64(row))
			c.StrokeLine2(pen(dim, 0.4), c.Min.X, at, c.Max.X, at)
		}
		for _, lane := range track {
			row--
			middle := float64(row) + 0.5
			l.lane(c, p, lane, [2]vg.Length{y(middle - laneFill/2), y(middle + laneFill/2)})
		}
	}
}

// lane draws the spans of a lane between two heights. What is narrower than a hair is as wide as one.
func (l Timeline) lane(c draw.Canvas, p *plot.Plot, lane Lane, at [2]vg.Length) {
	const hair = 0.25
	x, _ := p.Transforms(&c)
	place := func(t float64) vg.Length { return x(min(max(t, l.X.From), l.X.To)) }
	for _, s := range lane.Spans {
		if !l.shows(s) {
			continue
		}
		fill := part(s.Series)
		from, busy, to := place(s.From), place(min(max(s.Busy, s.From), s.To)), place(s.To)
		if busy > from {
			paint(c, pale(fill), vg.Rectangle{Min: vg.Point{X: from, Y: at[0]}, Max: vg.Point{X: busy, Y: at[1]}})
		}
		paint(c, fill, vg.Rectangle{Min: vg.Point{X: busy, Y: at[0]}, Max: vg.Point{X: max(to, busy+hair), Y: at[1]}})
	}
}

// pale returns a colour with much white.
func pale(c color.Color) color.Color {
	const white = 0.72
	r, g, b, _ := c.RGBA()
	mix := func(v uint32) uint8 { return uint8(math.Round((1-white)*float64(v>>8) + white*0xFF)) }
	return color.RGBA{mix(r), mix(g), mix(b), 0xFF}
}

func (l Timeline) legend() []entry {
	out := swatches(l.Series, func(c draw.Canvas, k int) { paint(c, part(k), c.Rectangle) })
	if l.Waits != "" {
		out = append(out, entry{l.Waits, func(c draw.Canvas) { paint(c, pale(parts[0]), c.Rectangle) }})
	}
	return out
}
