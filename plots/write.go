package plots

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"time"

	"codeberg.org/go-pdf/fpdf"
	ximage "golang.org/x/image/draw"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"
	"gonum.org/v1/plot/vg/vgsvg"
)

// dotsPerInch is what printers of journals ask for.
const dotsPerInch = 300

// Write draws the figure in a format. The same figure gives the same bytes.
func (f *Figure) Write(w io.Writer, as Format) error {
	switch as {
	case PNG:
		return f.writePNG(w)
	case SVG:
		return f.writeSVG(w)
	}
	return f.writePDF(w)
}

func (f *Figure) writePNG(w io.Writer) error {
	width, height := f.size()
	c := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(dotsPerInch))
	f.draw(draw.NewCanvas(crisp{c}, width, height))
	return png.Encode(w, c.Image())
}

// crisp is a canvas whose images keep the borders between their dots; the
// library blurs them.
type crisp struct{ *vgimg.Canvas }

func (c crisp) DrawImage(r vg.Rectangle, img image.Image) {
	to := c.Image()
	dots := func(l vg.Length) int { return int(math.Round(l.Dots(c.DPI()))) }
	high := to.Bounds().Dy()
	place := image.Rect(dots(r.Min.X), high-dots(r.Max.Y), dots(r.Max.X), high-dots(r.Min.Y))
	ximage.NearestNeighbor.Scale(to, place, img, img.Bounds(), ximage.Src, nil)
}

// svgRepairs change what vgsvg writes: the type of an image, that it fills its
// place without being smoothed, and what stands in for a font that is not
// installed.
var svgRepairs = []struct{ old, new string }{
	{"data:image/jpg;base64", "data:image/png;base64"},
	{"<image ", `<image preserveAspectRatio="none" style="image-rendering:pixelated" `},
	{"font-family:Liberation Sans;", "font-family:'Liberation Sans',Arial,Helvetica,sans-serif;"},
}

func (f *Figure) writeSVG(w io.Writer) error {
	c := vgsvg.New(f.size())
	f.draw(draw.New(c))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return err
	}
	text := b.Bytes()
	for _, r := range svgRepairs {
		text = bytes.ReplaceAll(text, []byte(r.old), []byte(r.new))
	}
	_, err := w.Write(text)
	return err
}

// init makes the PDF library write the same bytes each time: it dates documents and orders parts at random otherwise. The
// setting holds for all later documents.
func init() {
	fpdf.SetDefaultCatalogSort(true)
	fpdf.SetDefaultCreationDate(time.Unix(0, 0).UTC())
	fpdf.SetDefaultModificationDate(time.Unix(0, 0).UTC())
}

func (f *Figure) writePDF(w io.Writer) error {
	width, height := f.size()
	c := vgpdf.New(width, height)
	c.EmbedFonts(false) // there are none
	f.draw(draw.NewCanvas(outlineCanvas{c}, width, height))
	_, err := c.WriteTo(w)
	return err
}

// outlineCanvas is a canvas that draws text as filled paths. The fonts that vgpdf
// embeds have no letters beyond those of Western Europe, so no τ, and are larger
// than most figures.
type outlineCanvas struct{ vg.Canvas }

func (o outlineCanvas) FillString(face font.Face, at vg.Point, text string) {
	var b sfnt.Buffer
	units := fixed.Int26_6(face.Face.UnitsPerEm())
	scale := face.Font.Size / vg.Length(units)
	var path vg.Path
	for _, r := range text {
		glyph, err := face.Face.GlyphIndex(&b, r)
		if err != nil {
			continue
		}
		segments, err := face.Face.LoadGlyph(&b, glyph, units, nil)
		if err != nil {
			continue
		}
		path = append(path, glyphPath(segments, at, scale)...)
		if advance, err := face.Face.GlyphAdvance(&b, glyph, units, 0); err == nil {
			at.X += vg.Length(advance) * scale
		}
	}
	if len(path) > 0 {
		o.Fill(path)
	}
}

// DrawImage turns the image over: the axes of PDF point upwards, and vgpdf does
// not turn images back.
func (o outlineCanvas) DrawImage(r vg.Rectangle, img image.Image) {
	o.Canvas.DrawImage(r, flippedImage{img})
}

// flippedImage is an image with its rows from bottom to top.
type flippedImage struct{ image.Image }

func (o flippedImage) At(x, y int) color.Color {
	b := o.Bounds()
	return o.Image.At(x, b.Max.Y-1-(y-b.Min.Y))
}

// glyphPath moves the outline of a glyph, y downwards in fractions of its em, to
// a place.
func glyphPath(segments sfnt.Segments, at vg.Point, scale vg.Length) vg.Path {
	place := func(p fixed.Point26_6) vg.Point {
		return vg.Point{X: at.X + vg.Length(p.X)*scale, Y: at.Y - vg.Length(p.Y)*scale}
	}
	var path vg.Path
	for _, s := range segments {
		switch s.Op {
		case sfnt.SegmentOpMoveTo:
			if len(path) > 0 {
				path.Close()
			}
			path.Move(place(s.Args[0]))
		case sfnt.SegmentOpLineTo:
			path.Line(place(s.Args[0]))
		case sfnt.SegmentOpQuadTo:
			path.QuadTo(place(s.Args[0]), place(s.Args[1]))
		case sfnt.SegmentOpCubeTo:
			path.CubeTo(place(s.Args[0]), place(s.Args[1]), place(s.Args[2]))
		}
	}
	if len(path) > 0 {
		path.Close()
	}
	return path
}
