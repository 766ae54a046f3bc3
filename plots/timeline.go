package plots

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
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
	Series []string // at most as many as there are colours, eight
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
	if len(l.Series) == 0 || len(l.Series) > len(parts) {
		return nil, fmt.Errorf("plots: %d series of a timeline, expected 1 to %d", len(l.Series), len(parts))
	}
	if !(l.X.From < l.X.To) || math.IsInf(l.X.To-l.X.From, 0) {
		return nil, fmt.Errorf("plots: a timeline from %v to %v", l.X.From, l.X.To)
	}
	lanes, spans, err := l.count()
	if err != nil {
		return nil, err
	}
	if spans == 0 {
		return nil, ErrNothing
	}
	p := newPlot(l.X, Axis{})
	p.X.Min, p.X.Max = l.X.From, l.X.To
	p.Y.Min, p.Y.Max = 0, float64(lanes)
	p.Y.Tick.Marker = plot.ConstantTicks(l.names(lanes))
	p.Y.Tick.Length = 0
	p.Add(plotter(func(c draw.Canvas, p *plot.Plot) { l.plot(c, p, lanes) }))
	f := figure(w, vg.Length(lanes)*laneHeight, p)
	f.legend = l.legend()
	return f, nil
}

// count is the lanes, and the spans that can be shown.
func (l Timeline) count() (lanes, spans int, err error) {
	for _, track := range l.Tracks {
		lanes += len(track)
		for _, lane := range track {
			for _, s := range lane.Spans {
				if s.Series < 0 || s.Series >= len(l.Series) {
					return 0, 0, fmt.Errorf("plots: lane %s has series %d of %d", lane.Name, s.Series, len(l.Series))
				}
				if l.shows(s) {
					spans++
				}
			}
		}
	}
	return lanes, spans, nil
}

func (l Timeline) shows(s Span) bool { return s.From < l.X.To && s.To > l.X.From && s.From <= s.To }

// names are the labels of the lanes.
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
	vertical(c, p)
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
		fill := parts[s.Series]
		from, busy, to := place(s.From), place(min(max(s.Busy, s.From), s.To)), place(s.To)
		if busy > from {
			c.SetColor(pale(fill))
			c.Fill(box(vg.Rectangle{Min: vg.Point{X: from, Y: at[0]}, Max: vg.Point{X: busy, Y: at[1]}}))
		}
		c.SetColor(fill)
		c.Fill(box(vg.Rectangle{Min: vg.Point{X: busy, Y: at[0]}, Max: vg.Point{X: max(to, busy+hair), Y: at[1]}}))
	}
}

// pale is a colour with much white.
func pale(c color.Color) color.Color {
	const white = 0.72
	r, g, b, _ := c.RGBA()
	mix := func(v uint32) uint8 { return uint8(math.Round((1-white)*float64(v>>8) + white*0xFF)) }
	return color.RGBA{mix(r), mix(g), mix(b), 0xFF}
}

func (l Timeline) legend() []entry {
	var out []entry
	for k, name := range l.Series {
		out = append(out, entry{short(name), func(c draw.Canvas) {
			c.SetColor(parts[k])
			c.Fill(box(c.Rectangle))
		}})
	}
	if l.Waits != "" {
		out = append(out, entry{l.Waits, func(c draw.Canvas) {
			c.SetColor(pale(parts[0]))
			c.Fill(box(c.Rectangle))
		}})
	}
	return out
}
