package plots

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Worker is a row of a map.
type Worker struct {
	Name    string // its rank, as a rule
	Group   int    // workers next to each other with equal groups are one block: a pipeline stage
	Culprit bool   // it was found; its row is outlined
}

// workerAxis is how workers stand along an axis, the first at 0.
type workerAxis []Worker

// labelsIn are labels for as many workers as fit into a length, when each label
// takes a certain part of it: every one, or every second, fifth, tenth and so on.
// Worker i stands at at(i).
func (ws workerAxis) labelsIn(length, each vg.Length, at func(i int) float64) []plot.Tick {
	step := 1
	for _, more := range []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024} {
		step = more
		if vg.Length(len(ws))*each <= length*vg.Length(more) {
			break
		}
	}
	var out []plot.Tick
	for i := 0; i < len(ws); i += step {
		out = append(out, plot.Tick{Value: at(i), Label: short(ws[i].Name)})
	}
	return out
}

// widest is the width of the widest name on paper.
func (ws workerAxis) widest() vg.Length {
	style := words(tickSize)
	var wide vg.Length
	for _, w := range ws {
		wide = max(wide, style.Width(short(w.Name)))
	}
	return wide
}

// borders are the positions between blocks; none where blocks are too many to
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

// mostOutlined is how many culprits are outlined; more are only pointed at.
const mostOutlined = 8

func (ws workerAxis) culprits() []int {
	var out []int
	for i, w := range ws {
		if w.Culprit {
			out = append(out, i)
		}
	}
	return out
}

// rowsOf draws the borders between blocks of rows, and outlines and points at
// the rows of culprits. Row 0 is on top; y is the number of rows less the row.
func (ws workerAxis) rowsOf(c draw.Canvas, p *plot.Plot) {
	_, y := p.Transforms(&c)
	n := float64(len(ws))
	for _, b := range ws.borders() {
		at := y(n - float64(b))
		c.StrokeLine2(pen(dim, 0.4), c.Min.X, at, c.Max.X, at)
	}
	found := ws.culprits()
	for _, i := range found {
		low, high := y(n-float64(i)-1), y(n-float64(i))
		if len(found) <= mostOutlined {
			outline(c, vg.Rectangle{Min: vg.Point{X: c.Min.X, Y: low}, Max: vg.Point{X: c.Max.X, Y: high}})
		}
		pointer(c, vg.Point{X: c.Max.X + 3, Y: (low + high) / 2})
	}
}

// columnsOf draws what rowsOf draws, for columns; nothing points at them.
func (ws workerAxis) columnsOf(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	for _, b := range ws.borders() {
		at := x(float64(b))
		c.StrokeLine2(pen(dim, 0.4), at, c.Min.Y, at, c.Max.Y)
	}
	found := ws.culprits()
	if len(found) > mostOutlined {
		return
	}
	for _, i := range found {
		outline(c, vg.Rectangle{Min: vg.Point{X: x(float64(i)), Y: c.Min.Y}, Max: vg.Point{X: x(float64(i + 1)), Y: c.Max.Y}})
	}
}

// pointer draws a small triangle that points to the left.
func pointer(c draw.Canvas, at vg.Point) {
	c.SetColor(vermillion)
	c.Fill(polygon(at, 2.4, 3, math.Pi))
}

// foundEntry explains outlines and pointers.
func (ws workerAxis) foundEntry(what string) []entry {
	if what == "" || len(ws.culprits()) == 0 {
		return nil
	}
	return []entry{{what, func(c draw.Canvas) { pointer(c, c.Center()) }}}
}
