// Package plots draws figures for print from values that are computed
// elsewhere: charts of points with intervals, grouped bars, and maps of workers
// against workers or time.
//
// A constructor takes plain values and a [Width] and gives a [Figure], which
// [Figure.Write] turns into PNG (300 dots per inch), SVG or PDF. Fonts have one
// size in points whatever the width, so that a figure is included at its own
// size and never scaled. Nothing is read, measured or estimated here: intervals
// come with the points. What cannot be drawn, such as NaN, is left out; a figure
// of nothing is an error.
//
// All figures have one style. Colours are those of Okabe and Ito (2008, Color
// Universal Design), which people with any common colour blindness tell apart;
// series also differ in marker and dash, so that a copy in grey still reads.
// Maps run from white to black with lightness linear in the value. Legends
// stand above the data, never on it.
//
// Bytes are the same for the same values, on one processor architecture: there
// are no dates, and nothing depends on the order of a map or of threads.
//
// The fonts are Liberation Sans. PNG and PDF carry their shapes (in PDF, text is
// outlines); SVG keeps its text and names Arial and Helvetica, which are of the
// same widths, for where Liberation is not installed.
package plots
