package plots

import (
	"image/color"

	"gonum.org/v1/plot/palette"
	"gonum.org/v1/plot/palette/moreland"
)

// shades returns the colours of maps, of values from 0 to top: from white, as paper is,
// over green and blue to a blue that is nearly black. CIE lightness falls linearly
// with the value (Moreland 2016, Why We Use Bad Color Maps, Electronic Imaging),
// so equal differences look equal, and a copy in grey says the same.
func shades(top float64) palette.ColorMap {
	m, err := moreland.NewLuminance([]color.Color{
		color.RGBA{0x06, 0x10, 0x38, 0xFF}, color.RGBA{0x22, 0x4E, 0xA0, 0xFF}, color.RGBA{0x2C, 0xA2, 0xC2, 0xFF},
		color.RGBA{0xB8, 0xE2, 0xB4, 0xFF}, color.White})
	if err != nil { // their lightness does not rise
		panic("plots: " + err.Error())
	}
	m.SetMin(0)
	m.SetMax(top)
	return palette.Reverse(m)
}

// shadeCount is even: of an odd number the library reverses all colours but the middle one.
const shadeCount = 256

// unknown is the colour of what is not known.
var unknown = color.RGBA{0xE8, 0xC8, 0xB0, 0xFF}
