package plots

import (
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Worker is a row of a map.
type Worker struct {
	Name    string // its rank, as a rule
	Group   int    // workers next to each other with equal groups are one block: a pipeline stage
	Culprit bool   // it was found; its row is pointed at
}

// workerAxis is how workers stand along an axis, the first at 0.
type workerAxis []Worker

// labelsIn returns labels for as many workers as fit into a length, when each label
// takes a certain part of it: every one, or every second, fourth, eighth and so on.
// Worker i stands at at(i).
func (ws workerAxis) labelsIn(length, each vg.Length, at func(i int) float64) []plot.Tick {
	step := 1
	for vg.Length(len(ws))*each > length*vg.Length(step) {
		step *= 2
	}
	var out []plot.Tick
	for i := 0; i < len(ws); i += step {
		out = append(out, plot.Tick{Value: at(i), Label: short(ws[i].Name)})
	}
	return out
}

// widest returns the width of the widest name on paper.
func (ws workerAxis) widest() vg.Length {
	style := words(tickSize)
	var wide vg.Length
	for _, w := range ws {
		wide = max(wide, style.Width(short(w.Name)))
	}
	return wide
}

// borders returns the positions between blocks; none where blocks are too many to
// be told apart.
func (ws workerAxis) borders() []int {
	var out []int
	for i := 1; i < len(ws); i++ {
		if ws[i].Group != ws[i-1].Group {
			out = append(out, i)
		}
	}
	if len(out) > 63 || 2*len(out) >= len(ws) {
		return nil
	}
	return out
}

// rowsOf draws the borders between blocks of rows, and points at the rows of culprits.
// Row 0 is on top; y is the number of rows less the row.
func (ws workerAxis) rowsOf(c draw.Canvas, p *plot.Plot) {
	_, y := p.Transforms(&c)
	n := float64(len(ws))
	for _, b := range ws.borders() {
		at := y(n - float64(b))
		c.StrokeLine2(pen(dim, 0.4), c.Min.X, at, c.Max.X, at)
	}
	for i, w := range ws {
		if w.Culprit {
			pointer(c, vg.Point{X: c.Max.X + 1, Y: y(n - float64(i) - 0.5)})
		}
	}
}

// columnsOf draws the borders between blocks of columns.
func (ws workerAxis) columnsOf(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	for _, b := range ws.borders() {
		at := x(float64(b))
		c.StrokeLine2(pen(dim, 0.4), at, c.Min.Y, at, c.Max.Y)
	}
}

// pointer draws a small triangle that points to a place on its left.
func pointer(c draw.Canvas, at vg.Point) {
	c.FillPolygon(vermillion, []vg.Point{at, {X: at.X + 4, Y: at.Y + 2.2}, {X: at.X + 4, Y: at.Y - 2.2}})
}

// culpritEntry explains pointers.
func (ws workerAxis) culpritEntry(what string) []entry {
	if what == "" || !slices.ContainsFunc(ws, func(w Worker) bool { return w.Culprit }) {
		return nil
	}
	return []entry{{what, func(c draw.Canvas) { pointer(c, c.Center()) }}}
}
