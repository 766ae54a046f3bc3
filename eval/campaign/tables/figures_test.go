package tables

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/plots"
)

// TestTransitionChart: points are at the delays, with the intervals of the
// curve; a delay at which some run has no candidate is hollow.
func TestTransitionChart(t *testing.T) {
	s := &Score{Tau: 0.8, Runs: []*scoredRun{
		run(12, 0.1, verdict{}, routing{Place: 4}),
		run(12, 0.3, verdict{}, routing{Place: 3, Hit: true}),
		run(60, 0.7, verdict{}, routing{Place: 2, Hit: true}),
		run(60, 0.7, verdict{}, routing{Place: 1, Hit: true}),
		run(180, 0.9, verdict{}, routing{Place: 1, Hit: true}),
	}}
	curves := s.curves()
	c := curves[0].transitionChart(s.Tau)
	share := c.Panels[0].Lines[0].Points
	if len(share) != 3 || share[0].X != 12 || math.Abs(share[0].Y-0.2) > 1e-12 || !share[0].Open || share[1].Open || share[2].Open {
		t.Errorf("shares are %+v", share)
	}
	if !math.IsNaN(share[2].Low) || share[0].Low != 0 || share[0].High != 1 {
		t.Errorf("intervals are %+v: of one run none, of 0.1 and 0.3 all there is", share)
	}
	if r := c.Panels[0].References; len(r) != 2 || r[0].Name != "τ = 0.80" || r[1].Name != "120 ms" || math.Abs(r[1].Value-120) > 1e-9 {
		t.Errorf("references are %+v, expected τ, and half way from 60 ms to 180 ms", r)
	}
	top1, top2 := c.Panels[1].Lines[0].Points, c.Panels[1].Lines[1].Points
	if top1[1].Y != 0.5 || top2[0].Y != 0 || top2[1].Y != 1 {
		t.Errorf("rates are %+v and %+v", top1, top2)
	}
	if _, err := c.Draw(plots.Column); err != nil {
		t.Error(err)
	}
}

func TestCrossing(t *testing.T) {
	at := func(y ...float64) []plots.Point {
		var out []plots.Point
		for i, v := range y {
			out = append(out, plots.Point{X: float64(i), Y: v})
		}
		return out
	}
	for _, c := range []struct {
		points []plots.Point
		x      float64
		ok     bool
	}{
		{at(0.2, 0.6, 1), 1.5, true}, {at(0.2, 0.8), 1, true}, {at(0.9, 1), 0, false}, {at(0.2, 0.3), 0, false},
		{at(), 0, false}, {at(0.2, math.NaN(), 1), 0, false}, {at(1, 0, 1.6), 1.5, true},
	} {
		if x, ok := firstCrossing(c.points, 0.8); ok != c.ok || math.Abs(x-c.x) > 1e-12 {
			t.Errorf("%+v pass 0.8 at %v, %v; expected %v, %v", c.points, x, ok, c.x, c.ok)
		}
	}
}

// TestMethodBars: six methods in per cent, the published counts beside.
func TestMethodBars(t *testing.T) {
	r := run(120, 0.5, verdict{}, routing{Place: 1, Hit: true})
	r.Windows[0].Methods = make([]routing, 5)
	b := (&Score{Runs: []*scoredRun{r}}).methodBars()
	if len(b.Groups) != 6 || b.Groups[0].Values[0] != 100 || b.Groups[1].Values[2] != 0 || b.Groups[0].Marks[0] != 80 || b.Groups[4].Marks[2] != 92 {
		t.Errorf("bars are %+v", b.Groups)
	}
}

// measurements writes a file of the second kind.
func measurements(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.csv")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestMeasured(t *testing.T) {
	const head = "series,workers,value,lower,upper,n\n"
	m := &measuredKinds[2]
	lines, err := m.read(nil, measurements(t, head+"a,8,0.5,0.4,0.6,5\nb,8,1,,,1\na,16,0.7,,,1\n"))
	if err != nil {
		t.Fatal(err)
	}
	if len(lines) != 2 || len(lines[0].Points) != 2 || lines[0].Points[0] != (plots.Point{X: 8, Y: 0.5, Low: 0.4, High: 0.6}) || lines[1].Name != "b" {
		t.Errorf("lines are %+v", lines)
	}
	for _, bad := range []struct{ text, want string }{
		{"", ":1: "},
		{"series,ranks,value,lower,upper,n\n", ":1: "},
		{head, "no row under the header"},
		{head + "a,8,0.5,0.4,0.6,5\na,x,1,,,1\n", `:3: field 2 is "x", expected a number`},
		{head + "a,8,,,,1\n", `:2: field 3 is ""`},
		{head + "a,8,1,,,0\n", `:2: n is "0"`},
		{head + "a,8,1\n", `:2: 3 fields, expected 6`},
		{head + "\"a,8", "m.csv"},
		{head + "a,1,1,,,1\nb,1,1,,,1\nc,1,1,,,1\nd,1,1,,,1\ne,1,1,,,1\nf,1,1,,,1\ng,1,1,,,1\nh,1,1,,,1\ni,1,1,,,1\n", ":10: more than 8 series"},
	} {
		if _, err := m.read(nil, measurements(t, bad.text)); err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%q: error %v, expected %q", bad.text, err, bad.want)
		}
	}
	if _, err := m.read(nil, "none.csv"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error is %v", err)
	}
}

// FuzzMeasured: no file of measurements ends the program, whatever it holds.
func FuzzMeasured(f *testing.F) {
	f.Add("series,workers,value,lower,upper,n\na,8,0.5,0.4,0.6,5\n")
	f.Add("series,workers,value,lower,upper,n\na,NaN,-Inf,0,1e999,1\na,0,1e-320,,,2\n")
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "m.csv")
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		for i := range measuredKinds {
			lines, err := measuredKinds[i].read(nil, path)
			if err != nil {
				continue
			}
			figure, err := measuredKinds[i].chart(lines).Draw(plots.Column)
			if errors.Is(err, plots.ErrNothing) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := figure.Write(discard{}, plots.SVG); err != nil {
				t.Error(err)
			}
		}
	})
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

// TestSizesChart: of three sizes of a job each has a panel with all methods; two are drawn in figures of their own.
func TestSizesChart(t *testing.T) {
	var s Score
	for _, ranks := range []int{8, 16, 32} {
		for _, delay := range []simulate.Millis{1, 6} {
			r := run(delay, 0.1, verdict{}, routing{})
			r.Ranks = ranks
			s.Runs = append(s.Runs, r)
		}
	}
	of := curvesBySize(s.curves())
	if len(of) != 1 {
		t.Fatalf("%d figures, expected one", len(of))
	}
	chart := sizesChart(of[0])
	var titles []string
	for _, p := range chart.Panels {
		titles = append(titles, p.Title)
		if len(p.Lines) != 6 {
			t.Errorf("%s: %d lines", p.Title, len(p.Lines))
		}
	}
	if diff := cmp.Diff([]string{"data, 8 ranks", "data, 16 ranks", "data, 32 ranks"}, titles); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	s.Runs = s.Runs[:4]
	if of := curvesBySize(s.curves()); len(of) > 0 {
		t.Errorf("two sizes make %d figures", len(of))
	}
}
