package plots

import (
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"
)

// Bin is a range of X and how much of each series lies in it.
type Bin struct {
	From, To float64
	Values   []float64 // one for each of Histogram.Series
}

// HistogramPanel is one quantity over the bins, from 0.
type HistogramPanel struct {
	Y    Axis // linear: parts of a bar add up
	Bins []Bin
}

// Histogram is panels below each other of bars over ranges of X; the series of a bin stand on
// each other.
type Histogram struct {
	X      Axis
	Series []string // beyond eight, colours repeat
	Panels []HistogramPanel
	// Layered draws the series as layers without edges, and names the uppermost first: of
	// many bins side by side the layers matter, and not the bins.
	Layered bool
}

// parts are the colours of series that stand on each other. Neighbours differ in lightness.
var parts = []color.Color{blue, sky, vermillion, orange, green, purple, dim, faint}

func part(series int) color.Color { return parts[series%len(parts)] }

// Draw makes the figure of a histogram.
func (h Histogram) Draw(w Width) (*Figure, error) {
	if len(h.Series) == 0 || len(h.Panels) == 0 {
		return nil, ErrNothing
	}
	var panels []*plot.Plot
	shared := h.extent()
	for _, panel := range h.Panels {
		p, err := h.plot(panel, shared)
		if err != nil {
			return nil, err
		}
		panels = append(panels, p)
	}
	f := figure(w, 0.32*w.length(), panels...)
	f.legend = swatches(h.Series, func(c draw.Canvas, k int) { fillBox(c, part(k), c.Rectangle) })
	if h.Layered {
		slices.Reverse(f.legend)
	}
	return f, nil
}

// extent returns the ends of all bins that can be shown: panels have one axis.
func (h Histogram) extent() (xs []float64) {
	for _, panel := range h.Panels {
		for _, b := range panel.Bins {
			if h.shows(b) && panel.height(b, len(h.Series)) > 0 {
				xs = append(xs, b.From, b.To)
			}
		}
	}
	return xs
}

// height returns the height of the first parts of a bin together.
func (panel HistogramPanel) height(b Bin, first int) (total float64) {
	for _, v := range b.Values[:min(first, len(b.Values))] {
		if panel.Y.shows(v) && !math.IsInf(total+v, 0) {
			total += max(v, 0)
		}
	}
	return total
}

func (h Histogram) shows(b Bin) bool { return h.X.shows(b.From) && h.X.shows(b.To) && b.From < b.To }

// mostEdged is how many bins have edges: of more one would see nothing else.
const mostEdged = 96

func (h Histogram) plot(panel HistogramPanel, xs []float64) (*plot.Plot, error) {
	p := newPlot(h.X, panel.Y)
	bins := slices.DeleteFunc(slices.Clone(panel.Bins), func(b Bin) bool { return !h.shows(b) })
	highest := []float64{0}
	for _, b := range bins {
		highest = append(highest, panel.height(b, len(h.Series)))
	}
	if err := h.X.setRange(&p.X, xs); err != nil {
		return nil, err
	}
	if err := panel.Y.setRange(&p.Y, highest); err != nil {
		return nil, err
	}
	p.Y.Min = 0
	p.Add(&plotter.Grid{Horizontal: rule})
	for k := len(h.Series) - 1; k >= 0; k-- { // a series hides the part below it of what stands on it
		steps := &plotter.Line{StepStyle: plotter.PostStep, FillColor: part(k)}
		if !h.Layered && len(bins) <= mostEdged {
			steps.LineStyle = pen(black, 0.4)
		}
		for _, b := range bins {
			steps.XYs = append(steps.XYs, plotter.XY{X: h.X.place(b.From), Y: panel.height(b, k+1)}, plotter.XY{X: h.X.place(b.To)})
		}
		p.Add(painter(steps.Plot))
	}
	return p, nil
}
