package plots

import (
	"image/color"
	"unicode/utf8"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Width is how wide a figure is printed.
type Width uint8

const (
	Column Width = iota // a column of a paper with two, 8.5 cm
	Page                // both columns, 17.5 cm
)

func (w Width) length() vg.Length {
	if w == Page {
		return 17.5 * vg.Centimeter
	}
	return 8.5 * vg.Centimeter
}

// Sizes of type, for print at the size of the figure.
const (
	labelSize vg.Length = 8 // points
	tickSize  vg.Length = 7
)

// hue is a colour of Okabe and Ito. Neighbours in the list of series differ in
// lightness too.
type hue color.RGBA

func (h hue) RGBA() (r, g, b, a uint32) { return color.RGBA(h).RGBA() }

var (
	blue       = hue{0x00, 0x72, 0xB2, 0xFF}
	vermillion = hue{0xD5, 0x5E, 0x00, 0xFF}
	green      = hue{0x00, 0x9E, 0x73, 0xFF}
	orange     = hue{0xE6, 0x9F, 0x00, 0xFF}
	purple     = hue{0xCC, 0x79, 0xA7, 0xFF}
	sky        = hue{0x56, 0xB4, 0xE9, 0xFF}
	black      = hue{0x00, 0x00, 0x00, 0xFF}

	faint = color.Gray{0xDD} // grid
	dim   = color.Gray{0x66} // references
)

// look is how one series is told from the others. A cross and a plus are the same
// filled and hollow.
type look struct {
	color          color.Color
	dashes         []vg.Length
	filled, hollow draw.GlyphDrawer
}

// looks are those of the series of a figure, in order; beyond them they repeat.
var looks = []look{
	{blue, nil, draw.CircleGlyph{}, draw.RingGlyph{}},
	{vermillion, []vg.Length{4, 2}, draw.BoxGlyph{}, draw.SquareGlyph{}},
	{green, []vg.Length{1, 2}, draw.PyramidGlyph{}, draw.TriangleGlyph{}},
	{orange, []vg.Length{6, 2, 1, 2}, draw.CircleGlyph{}, draw.RingGlyph{}},
	{black, []vg.Length{2, 2}, draw.BoxGlyph{}, draw.SquareGlyph{}},
	{purple, []vg.Length{8, 2}, draw.PyramidGlyph{}, draw.TriangleGlyph{}},
	{sky, []vg.Length{4, 1, 1, 1, 1, 1}, draw.CrossGlyph{}, draw.CrossGlyph{}},
	{dim, []vg.Length{1, 1}, draw.PlusGlyph{}, draw.PlusGlyph{}},
}

func lookOf(series int) look { return looks[series%len(looks)] }

func (l look) line() draw.LineStyle {
	return draw.LineStyle{Color: l.color, Width: 1, Dashes: l.dashes}
}

// mark draws a point; one that is open is white inside.
func (l look) mark(c draw.Canvas, at vg.Point, open bool) {
	style := draw.GlyphStyle{Color: l.color, Radius: 2.4, Shape: l.filled}
	if open {
		style.Color = color.White
		c.DrawGlyph(style, at)
		style.Color, style.Shape = l.color, l.hollow
	}
	c.DrawGlyph(style, at)
}

// fills are the colours of bars, dark to light so that they differ in grey.
var fills = []color.Color{blue, sky, hue{0xDC, 0xEE, 0xF8, 0xFF}}

var handler = text.Plain{Fonts: font.NewCache(liberation.Collection())}

// words returns the style of text of a size.
func words(size vg.Length) text.Style {
	return text.Style{Color: color.Black, Font: font.Font{Typeface: "Liberation", Variant: "Sans", Size: size},
		Handler: handler}
}

func pen(c color.Color, width vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: c, Width: width}
}

// rule is a line of the grid.
var rule = pen(faint, 0.4)

// fillBox fills a rectangle and draws its edge.
func fillBox(c draw.Canvas, fill color.Color, r vg.Rectangle) {
	paint(c, fill, r)
	c.SetLineStyle(pen(black, 0.4))
	c.Stroke(r.Path())
}

// paint fills a rectangle.
func paint(c draw.Canvas, fill color.Color, r vg.Rectangle) {
	c.SetColor(fill)
	c.Fill(r.Path())
}

// newPlot returns an empty plot with axes in the one style.
func newPlot(x, y Axis) *plot.Plot {
	p := plot.New()
	x.set(&p.X)
	y.set(&p.Y)
	return p
}

// longestName is how much of a name is shown; the middle of longer ones goes.
const longestName = 34

// short cuts a name, keeping both ends, which tell apart best.
func short(name string) string {
	if utf8.RuneCountInString(name) <= longestName {
		return name
	}
	r := []rune(name)
	head := longestName * 3 / 5
	return string(r[:head]) + "…" + string(r[len(r)-(longestName-head-1):])
}
