package plots

import (
	"image/color"
	"math"

	"gonum.org/v1/plot/palette/moreland"
)

// shades are the colours of maps, of rising value: from white, as paper is,
// over green and blue to a blue that is nearly black. CIE lightness falls linearly
// with the value (Moreland 2016, Why We Use Bad Color Maps, Electronic Imaging),
// so equal differences look equal, and a copy in grey says the same.
var shades = makeShades()

const (
	shadeCount = 255
	unknown    = shadeCount // position of the colour of what is not known
)

func makeShades() color.Palette {
	m, err := moreland.NewLuminance([]color.Color{
		color.RGBA{0x06, 0x10, 0x38, 0xFF}, color.RGBA{0x22, 0x4E, 0xA0, 0xFF}, color.RGBA{0x2C, 0xA2, 0xC2, 0xFF},
		color.RGBA{0xB8, 0xE2, 0xB4, 0xFF}, color.White})
	if err != nil { // their lightness does not rise
		panic("plots: " + err.Error())
	}
	m.SetMin(0)
	m.SetMax(1)
	out := make(color.Palette, 0, shadeCount+1)
	for i := range shadeCount {
		c, err := m.At(1 - float64(i)/(shadeCount-1))
		if err != nil { // no value between the bounds is refused
			c = color.Black
		}
		r, g, b, _ := c.RGBA()
		out = append(out, color.RGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), 0xFF})
	}
	return append(out, color.RGBA{0xE8, 0xC8, 0xB0, 0xFF})
}

// shade is the position in shades of a value between 0 and top.
func shade(v, top float64) uint8 {
	if math.IsNaN(v) {
		return unknown
	}
	return uint8(math.Round(min(max(v/top, 0), 1) * (shadeCount - 1)))
}
