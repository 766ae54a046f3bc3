package plots

import (
	"image/color"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// marker is the shape of a point. Shapes are polygons throughout, because not
// all formats draw arcs alike.
type marker uint8

const (
	circle marker = iota
	square
	triangle
	diamond
	inverted
	cross
	plus
)

// markerSize is the radius of a marker.
const markerSize vg.Length = 2.2

// path is the outline of a marker around a place.
func (m marker) path(at vg.Point, radius vg.Length) vg.Path {
	switch m {
	case square:
		return polygon(at, radius*1.15, 4, math.Pi/4)
	case triangle:
		return polygon(at, radius*1.25, 3, math.Pi/2)
	case diamond:
		return polygon(at, radius*1.25, 4, 0)
	case inverted:
		return polygon(at, radius*1.25, 3, -math.Pi/2)
	case cross:
		return star(at, radius*1.3, math.Pi/4)
	case plus:
		return star(at, radius*1.3, 0)
	}
	return polygon(at, radius, 24, 0)
}

func polygon(at vg.Point, radius vg.Length, corners int, from float64) vg.Path {
	return corner(at, corners, func(k int) (vg.Length, float64) {
		return radius, from + 2*math.Pi*float64(k)/float64(corners)
	})
}

// star is a plus of strokes as wide as a third of its size, turned by an angle.
func star(at vg.Point, radius vg.Length, turn float64) vg.Path {
	const half = 0.3 // of a stroke's width to its length
	long, wide := radius*vg.Length(math.Hypot(1, half)), radius*vg.Length(half*math.Sqrt2)
	tip := math.Atan(half)
	return corner(at, 12, func(k int) (vg.Length, float64) {
		arm := turn + math.Pi/2*float64(k/3)
		switch k % 3 {
		case 0:
			return long, arm - tip
		case 1:
			return long, arm + tip
		}
		return wide, arm + math.Pi/4
	})
}

// corner is a closed path by the polar coordinates of its corners.
func corner(at vg.Point, corners int, polar func(int) (vg.Length, float64)) vg.Path {
	var path vg.Path
	for k := range corners {
		radius, angle := polar(k)
		sin, cos := math.Sincos(angle)
		p := vg.Point{X: at.X + radius*vg.Length(cos), Y: at.Y + radius*vg.Length(sin)}
		if k == 0 {
			path.Move(p)
			continue
		}
		path.Line(p)
	}
	path.Close()
	return path
}

// fill says whether a marker is filled.
type fill uint8

const (
	filled fill = iota
	open
)

// drawMarker draws a marker, an open one with white inside.
func drawMarker(c draw.Canvas, l look, as fill, at vg.Point) {
	inside := l.color
	if as == open {
		inside = color.White
	}
	path := l.marker.path(at, markerSize)
	c.SetColor(inside)
	c.Fill(path)
	c.SetLineStyle(pen(l.color, 0.8))
	c.Stroke(path)
}

// box is a rectangle as a path.
func box(r vg.Rectangle) vg.Path {
	var path vg.Path
	path.Move(r.Min)
	path.Line(vg.Point{X: r.Max.X, Y: r.Min.Y})
	path.Line(r.Max)
	path.Line(vg.Point{X: r.Min.X, Y: r.Max.Y})
	path.Close()
	return path
}

// fillBox fills a rectangle and draws its edge.
func fillBox(c draw.Canvas, fill color.Color, r vg.Rectangle) {
	c.SetColor(fill)
	c.Fill(box(r))
	c.SetLineStyle(pen(black, 0.4))
	c.Stroke(box(r))
}
