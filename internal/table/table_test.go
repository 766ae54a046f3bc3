package table

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/internal/glyph"
)

// A bar is as long as its part of the peak, to an eighth of a column.
func TestBar(t *testing.T) {
	s := shownColumn{peak: 80}
	for v, want := range map[float64]string{0: "", 80: "██████████", 40: "█████", 1: "▏", 0.001: "", 79.4: "█████████▉", 6: "▊", -3: "", math.Inf(-1): ""} {
		if got := s.bar(RealCell(v), 10); got != want {
			t.Errorf("bar(%v of 80, 10) = %q, want %q", v, got, want)
		}
	}
}

func TestScale(t *testing.T) {
	for _, c := range []struct {
		largest, ns float64
		want        string
	}{
		{250, 17, "ns 17"}, {2.5e3, 17, "µs 0.02"}, {121e6, 1.14e6, "ms 1.1"}, {121e6, 121e6, "ms 121.0"}, {9.5e6, 34e3, "ms 0.03"}, {0, 0, "ns 0"},
	} {
		s := scaleFor(c.largest)
		if got := s.unit.Name + " " + s.format(c.ns); got != c.want {
			t.Errorf("%v on the scale of %v = %q, want %q", c.ns, c.largest, got, c.want)
		}
	}
}

// sample has a cell of each content, in a table with words or without.
func sample(name Kind) *Table {
	t := &Table{Title: "title", Columns: slices.Concat(Heads(name, "name"), Heads(Integer, "calls"), Heads(Part, "right"), Heads(Hundredths, "mean"), Heads(Real, "rate"))}
	t.Add(TextCell("=a"), WholeCell(12345), PartCell(3, 50), RealCell(2), RealCell(-0.25))
	t.Add(TextCell("b"), WholeCell(-1), PartCell(0, 0), TextCell("all"))
	return t
}

// Where a column holds words every cell is shown in full, to the left, and whole numbers
// without gaps; else numbers stand to the right and under each other.
func TestKinds(t *testing.T) {
	formats := map[string]func(*Table, *bytes.Buffer){
		"text":     func(t *Table, out *bytes.Buffer) { t.Text(&glyph.Page{Out: out, Width: 80}) },
		"markdown": func(t *Table, out *bytes.Buffer) { t.Markdown(out) },
		"csv":      func(t *Table, out *bytes.Buffer) { _ = t.CSV(out) },
	}
	for _, c := range []struct {
		kind         Kind
		format, want string
	}{
		{Wrapped, "text", "name  calls  right  mean  rate\n=a    12345  3/50   2.00  -0.25\nb     -1     –      all\n"},
		{Text, "text", "name   calls  right  mean   rate\n=a    12 345   3/50  2.00  -0.25\nb         -1      –   all      –\n"},
		{Wrapped, "markdown", "| name | calls | right | mean | rate |\n| --- | --- | --- | --- | --- |\n| =a | 12345 | 3/50 | 2.00 | -0.25 |\n| b | -1 | – | all |  |\n"},
		{Text, "markdown", "| name | calls | right | mean | rate |\n| --- | ---: | ---: | ---: | ---: |\n| =a | 12 345 | 3/50 | 2.00 | -0.25 |\n| b | -1 | – | all | – |\n"},
		{Wrapped, "csv", "name,calls,right,mean,rate\n'=a,12345,3/50,2.00,-0.25\nb,-1,–,all,\n"},
		{Text, "csv", "name,calls,right,mean,rate\n'=a,12345,3/50,2,-0.25\nb,-1,–,all,\n"},
	} {
		var out bytes.Buffer
		formats[c.format](sample(c.kind), &out)
		if out.String() != c.want {
			t.Errorf("%s of kind %d:\n%s\nexpected\n%s", c.format, c.kind, &out, c.want)
		}
	}
}

// The kinds of numbers differ in how many digits are shown.
func TestDigits(t *testing.T) {
	for kind, want := range map[Kind]string{Fraction: "1.2 %", Rate: "1.23 %", Fine: "1.235 %", Factor: "0.01 ×", Hundredths: "0.01", Unit: "0.012", Precise: "0.0123457", Real: "0.0123"} {
		if got := (shownColumn{Column: Column{Kind: kind}}).value(RealCell(0.01234567)); got != want {
			t.Errorf("of kind %d: %q, want %q", kind, got, want)
		}
	}
}

// A table of names and lengths has its unit in the head, and CSV the base unit.
func TestLengthsInCSV(t *testing.T) {
	x := &Table{Columns: []Column{{Head: "name", Kind: Name}, {Head: "step %s", Kind: Length}}}
	x.Add(TextCell("a"), RealCell(2.5e6))
	var out strings.Builder
	if err := x.CSV(&out); err != nil || out.String() != "name,step ns\na,2.5e+06\n" {
		t.Errorf("%v, %q", err, &out)
	}
}
