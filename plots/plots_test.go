package plots

import (
	"bytes"
	"errors"
	"fmt"
	"image/png"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var nan = math.NaN()

// written is a figure in a format.
func written(t *testing.T, f *Figure, err error, as Format) []byte {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := f.Write(&b, as); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// said is what a figure says, one entry per text of its SVG.
func said(t *testing.T, f *Figure, err error) []string {
	t.Helper()
	var out []string
	for _, m := range regexp.MustCompile(`(?s)<text[^>]*>(.*?)</text>`).FindAllSubmatch(written(t, f, err, SVG), -1) {
		out = append(out, string(m[1]))
	}
	return out
}

// says fails for each text that a figure lacks.
func says(t *testing.T, f *Figure, err error, want ...string) {
	t.Helper()
	all := said(t, f, err)
	for _, w := range want {
		found := false
		for _, s := range all {
			found = found || s == w
		}
		if !found {
			t.Errorf("the figure lacks %q, it says %q", w, all)
		}
	}
}

func routing() Bars {
	return Bars{X: Axis{Name: "windows routed right", Unit: "%", From: 0, To: 100},
		Series: []string{"top-1", "top-2", "candidate hit"}, Mark: "published",
		Groups: []Group{
			{Name: "frontier", Values: []float64{80, 100, 100}, Marks: []float64{80, 100, 100}},
			{Name: "rank-0 local total", Values: []float64{40, 80, nan}, Marks: []float64{nan, 80, 100}},
		}}
}

func transition() Chart {
	delay := Axis{Name: "delay", Unit: "ms", Ticks: []float64{12, 60, 180}}
	return Chart{Hollow: "not routed in some run", Panels: []Panel{
		{X: delay, Y: Axis{Name: "share", From: 0, To: 1},
			Lines: []Line{{Name: "data", Points: []Point{
				{X: 12, Y: 0.2, Low: 0.15, High: 0.3, Open: true}, {X: 60, Y: 0.6, Low: 0.5, High: 0.7}, {X: 180, Y: 0.9, Low: nan, High: nan}}}},
			References: []Reference{{"τ = 0.80", 0.8, false}, {"137 ms", 137, true}}},
		{X: delay, Y: Axis{Name: "rate", From: 0, To: 1},
			Lines: []Line{{Name: "top-1", Points: []Point{{X: 12, Y: 0, Low: 0, High: 0.5}, {X: 180, Y: 1, Low: 0.5, High: 1}}}, {Name: "data", Points: []Point{{X: 12, Y: 0.3}}}}},
	}}
}

// divergent is n workers in blocks of four of which one is far from all others.
func divergent(n int) Matrix {
	r := rand.New(rand.NewPCG(1, 2))
	d := Matrix{Found: "found by the test", X: Axis{Name: "rank"}, Y: Axis{Name: "rank"}, Value: Axis{Name: "K-S distance D"}, Values: make([]float64, n*n)}
	culprit := n * 3 / 4
	for a := range n {
		d.Rows = append(d.Rows, Worker{Name: strconv.Itoa(a), Group: a * 4 / n, Culprit: a == culprit})
		for b := range a {
			v := 0.1 + 0.05*r.Float64()
			if a == culprit || b == culprit {
				v += 0.3
			}
			d.Values[a*n+b], d.Values[b*n+a] = v, v
		}
	}
	d.Columns = d.Rows
	return d
}

// active is how often n workers complete something, over time.
func active(n, bins int) Matrix {
	a := Matrix{Key: []string{"backward-compute"}, Found: "slow", Lines: []float64{0, 1}, Columns: make([]Worker, bins), Y: Axis{Name: "rank"},
		X: Axis{Name: "time", Unit: "s", To: 0.1 * float64(bins)}, Value: Axis{Name: "completions", Unit: "1/s"}}
	for w := range n {
		for b := range bins {
			a.Values = append(a.Values, float64(10+(w+b)%3))
		}
		a.Rows = append(a.Rows, Worker{Name: strconv.Itoa(w), Culprit: w == 1})
	}
	return a
}

// drawings are one of each kind of figure.
func drawings() map[string]func(Width) (*Figure, error) {
	return map[string]func(Width) (*Figure, error){
		"bars": routing().Draw, "chart": transition().Draw, "divergence": divergent(8).Draw, "activity": active(4, 30).Draw,
		"timeline": lasting().Draw, "matrix": ranked().Draw,
	}
}

// TestLabels: every axis has its quantity and unit, the legend all series, and
// text of SVG is text.
func TestLabels(t *testing.T) {
	f, err := routing().Draw(Column)
	says(t, f, err, "windows routed right (%)", "top-1", "top-2", "candidate hit", "published", "frontier", "rank-0 local total", "0", "100")
	f, err = transition().Draw(Column)
	says(t, f, err, "delay (ms)", "share", "rate", "data", "top-1", "τ = 0.80", "137 ms", "not routed in some run", "12", "60", "180")
	if n := len(f.legend); n != 3 {
		t.Errorf("%d entries in the legend, expected data once, top-1, and hollow", n)
	}
	f, err = divergent(8).Draw(Column)
	says(t, f, err, "rank", "K-S distance D", "found by the test", "7")
	f, err = active(4, 30).Draw(Page)
	says(t, f, err, "time (s)", "completions (1/s)", "rank", "backward-compute", "slow")
}

// TestFormats: every figure can be written in every format, at its width, and
// twice to the same bytes, also when the time is another.
func TestFormats(t *testing.T) {
	begin := map[Format]string{PNG: "\x89PNG", SVG: "<?xml", PDF: "%PDF"}
	for name, draw := range drawings() {
		for _, as := range []Format{PNG, SVG, PDF} {
			t.Run(name+"/"+as.String(), func(t *testing.T) {
				first, err := draw(Column)
				one := written(t, first, err, as)
				if !bytes.HasPrefix(one, []byte(begin[as])) {
					t.Errorf("begins with %q", one[:4])
				}
				if name == "chart" && as == PDF { // a date would change
					time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second)))
				}
				second, err := draw(Column)
				if two := written(t, second, err, as); !bytes.Equal(one, two) {
					t.Errorf("not the same twice: %d and %d bytes", len(one), len(two))
				}
				if again := written(t, first, nil, as); !bytes.Equal(one, again) {
					t.Error("not the same when written again")
				}
			})
		}
	}
}

// TestSize: a column is 8.5 cm at 300 dots per inch, a page 17.5 cm, and a map
// of distances is square.
func TestSize(t *testing.T) {
	for name, draw := range drawings() {
		for width, cm := range map[Width]float64{Column: 8.5, Page: 17.5} {
			f, err := draw(width)
			img, err := png.Decode(bytes.NewReader(written(t, f, err, PNG)))
			if err != nil {
				t.Fatal(err)
			}
			if got, want := float64(img.Bounds().Dx()), cm/2.54*300; math.Abs(got-want) > 1 {
				t.Errorf("%s is %v dots wide, expected %v", name, got, want)
			}
		}
	}
}

// TestOdd: one point, equal values, values that are none.
func TestOdd(t *testing.T) {
	point := func(points ...Point) Chart {
		return Chart{Panels: []Panel{{X: Axis{Name: "x", Unit: "ms"}, Y: Axis{Name: "y", Unit: "s"}, Lines: []Line{{Name: "line", Points: points}}}}}
	}
	good := map[string]Chart{
		"one point":      point(Point{X: 1, Y: 2}),
		"one at zero":    point(Point{}),
		"all equal":      point(Point{X: 1, Y: 5}, Point{X: 1, Y: 5}, Point{X: 1, Y: 5}),
		"some not there": point(Point{X: nan, Y: 1}, Point{X: 1, Y: nan}, Point{X: 2, Y: math.Inf(1)}, Point{X: 3, Y: 4, Low: math.Inf(-1), High: 5}),
		"huge":           point(Point{X: -1e300, Y: 1e300}, Point{X: 1e300, Y: -1e300}),
		"tiny":           point(Point{X: 1e-300, Y: 5e-324}, Point{X: 2e-300, Y: 1e-320}),
	}
	for name, c := range good {
		t.Run(name, func(t *testing.T) {
			for _, as := range []Format{PNG, SVG, PDF} {
				f, err := c.Draw(Column)
				if text := written(t, f, err, as); as == SVG && strings.Contains(string(text), "NaN") {
					t.Error("NaN in the figure")
				}
			}
		})
	}
	log := point(Point{X: 0, Y: 1}, Point{X: 10, Y: -1}, Point{X: 10, Y: 100, Low: -5, High: 200}, Point{X: 1000, Y: 0.5})
	log.Panels[0].X.Log, log.Panels[0].Y.Log = true, true
	f, err := log.Draw(Column)
	says(t, f, err, "10", "100")
}

// TestNothing: what cannot be drawn is an error that says so.
func TestNothing(t *testing.T) {
	empty := []struct {
		name string
		draw func(Width) (*Figure, error)
	}{
		{"chart", Chart{}.Draw},
		{"panel", Chart{Panels: []Panel{{}}}.Draw},
		{"NaN", Chart{Panels: []Panel{{Lines: []Line{{Name: "a", Points: []Point{{X: nan, Y: nan}}}}}}}.Draw},
		{"bars", Bars{Series: []string{"a"}}.Draw},
		{"matrix", Matrix{}.Draw},
	}
	for _, e := range empty {
		if _, err := e.draw(Column); !errors.Is(err, ErrNothing) {
			t.Errorf("%s: error is %v, expected %v", e.name, err, ErrNothing)
		}
	}
}

// TestOddMaps: maps of one, of equal and of unknown values.
func TestOddMaps(t *testing.T) {
	one := Matrix{Rows: []Worker{{Name: "0"}}, Columns: []Worker{{Name: "0"}}, Values: []float64{1}}
	f, err := one.Draw(Column)
	written(t, f, err, PNG)
	gaps := divergent(4)
	gaps.Values[1], gaps.Values[4] = nan, nan
	f, err = gaps.Draw(Column)
	says(t, f, err, "not known")
	brief := active(1, 1)
	brief.X.To = 1e-9
	f, err = brief.Draw(Column)
	written(t, f, err, SVG)
}

// TestManyWorkers: 2,048 workers make a small file quickly, and the one that is
// far from the others is seen though cells are joined.
func TestManyWorkers(t *testing.T) {
	d := divergent(2048)
	begin := time.Now()
	f, err := d.Draw(Column)
	file := written(t, f, err, PNG)
	t.Logf("%d bytes in %v", len(file), time.Since(begin))
	for _, as := range []Format{SVG, PDF} {
		if n := len(written(t, f, nil, as)); n > 1<<20 {
			t.Errorf("%d bytes of %v, expected less than 1 MiB", n, as)
		}
	}
	if len(file) > 1<<20 {
		t.Errorf("%d bytes, expected less than 1 MiB", len(file))
	}
	m := cells{2048, 2048, func(r, c int) float64 { return d.Values[r*2048+c] }}.reduce()
	if m.rows != mostCells || m.columns != mostCells {
		t.Fatalf("%d×%d cells, expected %d", m.rows, m.columns, mostCells)
	}
	for c := range m.columns {
		if v := m.at(2048*3/4/4, c); v < 0.4 {
			t.Fatalf("the culprit's row is %v in column %d, expected its own distance above 0.4", v, c)
		}
	}
}

// TestLongNames: they are cut in the middle, between characters.
func TestLongNames(t *testing.T) {
	b := routing()
	b.Groups[0].Name = strings.Repeat("ä", 200) + "end"
	f, err := b.Draw(Column)
	for _, s := range said(t, f, err) {
		if n := len([]rune(s)); n > longestName {
			t.Errorf("%q has %d characters, expected at most %d", s, n, longestName)
		}
	}
	if s := short(b.Groups[0].Name); !strings.HasSuffix(s, "äend") || !strings.Contains(s, "…") {
		t.Errorf("cut to %q", s)
	}
}

// TestMarkup: names cannot break SVG.
func TestMarkup(t *testing.T) {
	a := active(1, 2)
	a.Key[0] = `<script>&"`
	f, err := a.Draw(Column)
	if text := written(t, f, err, SVG); bytes.Contains(text, []byte("<script")) {
		t.Error("a name became an element")
	}
}

// TestShades: lightness falls in equal steps from white, and what is not known
// has a colour of its own.
func TestShades(t *testing.T) {
	shades := shades(1).Palette(shadeCount).Colors()
	lightness := func(i int) float64 { // CIE L* of sRGB, IEC 61966-2-1
		r, g, b, _ := shades[i].RGBA()
		linear := func(c uint32) float64 {
			v := float64(c) / 0xFFFF
			if v <= 0.04045 {
				return v / 12.92
			}
			return math.Pow((v+0.055)/1.055, 2.4)
		}
		y := 0.2126*linear(r) + 0.7152*linear(g) + 0.0722*linear(b)
		return 116*math.Cbrt(y) - 16
	}
	first, last := lightness(0), lightness(shadeCount-1)
	if first < 99 || last > 10 {
		t.Errorf("from lightness %.1f to %.1f, expected white to nearly black", first, last)
	}
	for i := range shadeCount {
		want := first + (last-first)*float64(i)/(shadeCount-1)
		if got := lightness(i); math.Abs(got-want) > 2 {
			t.Errorf("lightness %.1f at %d, expected %.1f", got, i, want)
		}
		if r, g, b, _ := shades[i].RGBA(); [3]uint32{r >> 8, g >> 8, b >> 8} == [3]uint32{uint32(unknown.R), uint32(unknown.G), uint32(unknown.B)} {
			t.Errorf("shade %d is that of the unknown", i)
		}
	}
}

// TestTicks: labels at round values, inside the range, at least two of them.
func TestTicks(t *testing.T) {
	for _, c := range []struct {
		axis      Axis
		low, high float64
		want      string
	}{
		{Axis{}, 0, 100, "0 20 40 60 80 100"},
		{Axis{}, 0, 1, "0 0.2 0.4 0.6 0.8 1"},
		{Axis{}, -0.3, 0.31, "−0.2 0 0.2"},
		{Axis{}, 0, 40_000, "0 10\u2009000 20\u2009000 30\u2009000 40\u2009000"},
		{Axis{}, 3, 3, ""},
		{Axis{Log: true}, 8, 2100, "10 100 1000"},
		{Axis{Log: true}, 4, 60, "5 10 20 50"},
		{Axis{Log: true}, 0.0005, 2000, "0.001 0.01 0.1 1 10 100 1000"},
	} {
		var got []string
		for _, tick := range (ticker{c.axis}).Ticks(c.axis.place(c.low), c.axis.place(c.high)) {
			if !tick.IsMinor() {
				got = append(got, tick.Label)
			}
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%v to %v: %q, expected %q", c.low, c.high, s, c.want)
		}
	}
}

// TestGivenTicks: labels that would touch are left out, ticks are not.
func TestGivenTicks(t *testing.T) {
	got := (ticker{Axis{Ticks: []float64{0, 1, 50, 51, 100}}}).Ticks(0, 100)
	if len(got) != 5 || got[0].Label != "0" || got[1].Label != "" || got[2].Label != "50" || got[3].Label != "" || got[4].Label != "100" {
		t.Errorf("ticks are %+v", got)
	}
}

func TestFormatOf(t *testing.T) {
	for path, want := range map[string]Format{"a.png": PNG, "b/c.SVG": SVG, "x.y.pdf": PDF} {
		if got, err := FormatOf(path); err != nil || got != want {
			t.Errorf("%s is %v, %v", path, got, err)
		}
	}
	for _, path := range []string{"", "a", "a.gif", ".png/a"} {
		if f, err := FormatOf(path); err == nil {
			t.Errorf("%q is %v, expected an error", path, f)
		}
	}
	if _, err := FormatOf("a.jpg"); err == nil || fmt.Sprint(PDF, Format(9)) != "pdf invalid(9)" {
		t.Error("names of formats")
	}
}

// TestWorkerLabels: labels of workers never overlap, however many there are.
func TestWorkerLabels(t *testing.T) {
	for _, n := range []int{1, 2, 9, 64, 100, 2048} {
		ws := workerAxis(divergent(n).Rows)
		const length, each = 200, 10
		ticks := ws.labelsIn(length, each, func(i int) float64 { return float64(i) })
		if len(ticks) == 0 || len(ticks)*each > length+each {
			t.Errorf("%d workers have %d labels of %d in %d", n, len(ticks), each, length)
		}
	}
}

// TestLegends: what has no words is in no legend, and layers are named from the top.
func TestLegends(t *testing.T) {
	m := Matrix{Rows: []Worker{{Name: "0"}, {Name: "1", Culprit: true}}, Columns: []Worker{{Name: "data"}}, Values: []float64{1, 2}}
	h := Histogram{Series: []string{"lower", "upper"}, Panels: []HistogramPanel{{Bins: []Bin{{0, 1, []float64{1, 2}}}}}}
	for _, c := range []struct {
		name string
		draw func(Width) (*Figure, error)
		want []string
	}{
		{"a culprit without words", m.Draw, nil},
		{"bars", h.Draw, []string{"lower", "upper"}},
		{"layers", Histogram{Series: h.Series, Panels: h.Panels, Layered: true}.Draw, []string{"upper", "lower"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := c.draw(Column)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range f.legend {
				got = append(got, e.name)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("legend %q, expected %q", got, c.want)
			}
		})
	}
}
