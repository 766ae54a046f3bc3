package plots

import (
	"bytes"
	"errors"
	"math"
	"regexp"
	"strings"
	"testing"
)

func messages() Histogram {
	bytes := Axis{Name: "message", Bytes: true}
	return Histogram{X: bytes, Series: []string{"AllReduce", "Send"}, Panels: []HistogramPanel{
		{Y: Axis{Name: "calls"}, Bins: []Bin{{8, 16, []float64{40, 0}}, {1 << 20, 1 << 21, []float64{10, 30}}}},
		{Y: Axis{Name: "bytes", Unit: "GB"}, Bins: []Bin{{1 << 20, 1 << 21, []float64{0.5, 1.5}}}},
	}}
}

// A series is one area in each panel, beside its box of the legend, and the parts of a bin stand on each other: both end
// at the height of the total.
func TestHistogram(t *testing.T) {
	f, err := messages().Draw(Column)
	says(t, f, err, "message", "1\u2009MiB", "1\u2009KiB", "calls", "bytes (GB)", "AllReduce", "Send")
	svg := written(t, f, err, SVG)
	count := func(h hue) int {
		return len(regexp.MustCompile(`(?i)<path[^>]*fill:#`+hexOf(h)).FindAllIndex(svg, -1))
	}
	if b, s := count(blue), count(sky); b != 2+1 || s != 2+1 {
		t.Errorf("%d blue and %d sky boxes, want 3 and 3 with the legend's", b, s)
	}
}

func hexOf(h hue) string {
	const digits = "0123456789ABCDEF"
	var out strings.Builder
	for _, v := range []uint8{h.R, h.G, h.B} {
		out.WriteByte(digits[v>>4])
		out.WriteByte(digits[v&15])
	}
	return out.String()
}

func TestHistogramRefuses(t *testing.T) {
	h := messages()
	h.Series = nil
	if _, err := h.Draw(Page); err == nil {
		t.Error("a histogram without series is drawn")
	}
	h = messages()
	h.Panels = []HistogramPanel{{Bins: []Bin{{0, 8, []float64{1, 1}}, {8, 16, []float64{math.NaN(), -3}}, {16, 8, []float64{1, 1}}}}}
	if _, err := h.Draw(Page); !errors.Is(err, ErrNothing) {
		t.Errorf("nothing that can stand on the axis: %v", err)
	}
}

// Scattered points are the same markers without the line.
func TestScattered(t *testing.T) {
	chart := transition()
	joined, err := chart.Draw(Column)
	lines := bytes.Count(written(t, joined, err, SVG), []byte("<path"))
	for i := range chart.Panels {
		for k := range chart.Panels[i].Lines {
			chart.Panels[i].Lines[k].Unjoined = true
		}
	}
	scattered, err := chart.Draw(Column)
	// The two series of two points or more, and two in the legend.
	if without := bytes.Count(written(t, scattered, err, SVG), []byte("<path")); without != lines-4 {
		t.Errorf("%d paths scattered, %d joined", without, lines)
	}
}
