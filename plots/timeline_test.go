package plots

import (
	"errors"
	"image/color"
	"regexp"
	"strings"
	"testing"
)

func lasting() Timeline {
	return Timeline{X: Axis{Name: "time", Unit: "ms", From: 0, To: 10}, Series: []string{"AllReduce", "Send"}, Waits: "waiting", Tracks: [][]Lane{
		{{Name: "rank 0", Spans: []Span{{From: 1, Busy: 3, To: 4}, {From: 6, Busy: 6, To: 7, Series: 1}}}, {Name: "TP", Spans: []Span{{From: 1, Busy: 3, To: 4}}}},
		{{Name: "rank 1", Spans: []Span{{From: 3, Busy: 3, To: 4}, {From: 9, Busy: 9, To: 12}, {From: 11, Busy: 11, To: 12}, {From: 5, Busy: 5, To: 5}}}},
	}}
}

// A span is a box, and one more where it waits; what is outside of the axis has none, what is shorter than can be seen has
// one all the same.
func TestTimeline(t *testing.T) {
	f, err := lasting().Draw(Column)
	says(t, f, err, "time (ms)", "rank 0", "TP", "rank 1", "AllReduce", "Send", "waiting", "0", "10")
	svg := string(written(t, f, err, SVG))
	count := func(hex string) int {
		return len(regexp.MustCompile(`(?i)<path[^>]*fill:#`+hex).FindAllString(svg, -1))
	}
	if b, s, w := count(hexOf(blue)), count(hexOf(sky)), count(hexOf(hue(pale(blue).(color.RGBA)))); b != 5+1 || s != 1+1 || w != 2+1 {
		t.Errorf("%d blue, %d sky and %d pale boxes, want 6, 2 and 3 with the legend's", b, s, w)
	}
}

func TestTimelineOutOfView(t *testing.T) {
	l := lasting()
	l.X.From, l.X.To = 100, 200
	if _, err := l.Draw(Column); !errors.Is(err, ErrNothing) {
		t.Errorf("nothing in view: %v", err)
	}
}

func ranked() Matrix {
	return Matrix{Rows: []Worker{{Name: "TP 0-1", Group: 1}, {Name: "DP 0,2", Group: 2}}, Columns: []Worker{{Name: "0"}, {Name: "1"}, {Name: "2"}},
		X: Axis{Name: "rank"}, Value: Axis{Name: "volume", Unit: "MB"}, Values: []float64{1, 1, 0, 1000, nan, 1000}, Key: []string{"of a job"}}
}

// Colours say how much, blank cells that there is nothing; texts stand in cells that have room for all of them.
func TestMatrix(t *testing.T) {
	m := ranked()
	f, err := m.Draw(Column)
	says(t, f, err, "rank", "volume (MB)", "TP 0-1", "DP 0,2", "0", "2", "1000", "of a job", "not known")
	m.Text = []string{"1", "2", "3", "4", "5", "6 TB"}
	f, err = m.Draw(Column)
	says(t, f, err, "6 TB")
	m.Text[5] = strings.Repeat("wide ", 20)
	if f, err = m.Draw(Column); strings.Contains(strings.Join(said(t, f, err), "|"), "wide") {
		t.Error("a text is wider than its cell")
	}
	for i := range m.Values {
		m.Values[i] = 5
	}
	if _, err := m.Draw(Page); err != nil {
		t.Errorf("all equal: %v", err)
	}
	clear(m.Values)
	if _, err := m.Draw(Page); !errors.Is(err, ErrNothing) {
		t.Errorf("nothing at all: %v", err)
	}
}
