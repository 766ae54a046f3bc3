package report

import (
	"math"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestLength(t *testing.T) {
	for _, c := range []struct {
		ns   float64
		want string
	}{
		{0, "0 ns"}, {1, "1 ns"}, {17, "17 ns"}, {137.5, "138 ns"}, {999.4, "999 ns"}, {999.6, "1.00 µs"}, {1234, "1.23 µs"},
		{9996, "10.0 µs"}, {121e3, "121 µs"}, {999499, "999 µs"}, {999600, "1.00 ms"}, {34.25e6, "34.2 ms"}, {120.6e6, "121 ms"},
		{1.5e9, "1.50 s"}, {99.96e9, "100 s"}, {4321e9, "4321 s"}, {-2e6, "-2.00 ms"}, {math.NaN(), "–"}, {math.Inf(1), "–"},
	} {
		if got := length(c.ns); got != c.want {
			t.Errorf("length(%v) = %q, want %q", c.ns, got, c.want)
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
		if got := s.unit.name + " " + s.format(c.ns); got != c.want {
			t.Errorf("%v on the scale of %v = %q, want %q", c.ns, c.largest, got, c.want)
		}
	}
}

func TestNumbers(t *testing.T) {
	check := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	check(percent(0.5839), "58.4 %")
	check(percent(1), "100.0 %")
	check(percent(-0.0001), "0.0 %")
	check(percent(math.NaN()), "–")
	check(grouped(0), "0")
	check(grouped(999), "999")
	check(grouped(137413), "137 413")
	check(grouped(-1234567), "-1 234 567")
	check(counted(1, "run"), "1 run")
	check(counted(1200, "run"), "1 200 runs")
}

// A bar is as long as its part of the peak, to an eighth of a column.
func TestBar(t *testing.T) {
	s := shown{peak: 80}
	for v, want := range map[float64]string{0: "", 80: "██████████", 40: "█████", 1: "▏", 0.001: "", 79.4: "█████████▉", 6: "▊", -3: "", math.Inf(-1): ""} {
		if got := s.bar(realCell(v), 10); got != want {
			t.Errorf("bar(%v of 80, 10) = %q, want %q", v, got, want)
		}
	}
}

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"model.fwd µs 数据":       "model.fwd µs 数据",
		"a\x1b[2Jb\x07":         `a\x1b[2Jb\a`,
		"line\nbreak\ttab\r":    `line\nbreak\ttab\r`,
		"\xff\xfeok":            `\xff\xfeok`,
		"\u202etxt\u200b\u2028": `\u202etxt\u200b\u2028`,
		"\x9b":                  `\x9b`,
		"\u009b":                `\u009b`,
		"\ufffd":                `�`,
		"\u00a0":                `\u00a0`,
		"it's":                  "it's",
	} {
		if got := Visible(in); got != want {
			t.Errorf("Visible(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestShorten(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{
		{"short", 5, "short"}, {"abcdefghij", 5, "ab…ij"}, {"abcdefghij", 1, "…"}, {"数据加载等待数据加载", 9, "数据…加载"},
		{"model.backward_cpu_wall", 16, "model.backward…"}, {"model.backward_cpu_wall", 23, "model.backward_cpu_wall"},
		{"callbacks.cpu_wall", 12, "callbacks…"}, {"model.backward_cpu_wall", 10, "model…ward"},
	} {
		if got := shortenName(c.in, c.n); got != c.want {
			t.Errorf("shortenName(%q, %d) = %q, want %q", c.in, c.n, got, c.want)
		}
	}
}

// Text that went through the glyphs is printable, fits, and keeps its words.
func FuzzGlyphs(f *testing.F) {
	f.Add("plain words of a sentence", 7)
	f.Add("数据 \x1b[0m \xff a-very-long-word-that-has-to-be-cut", 10)
	f.Add("", 1)
	f.Fuzz(func(t *testing.T, s string, n int) {
		if n < 2 || n > 200 {
			return
		}
		v := Visible(s)
		if !utf8.ValidString(v) || strings.ContainsFunc(v, func(r rune) bool { return !unicode.IsPrint(r) && r != utf8.RuneError }) {
			t.Fatalf("Visible(%q) = %q", s, v)
		}
		for _, short := range []string{shorten(v, n), shortenName(v, n), clip(v, n)} {
			if columns(short) > n {
				t.Fatalf("%q is wider than %d", short, n)
			}
		}
		lines := wrap(v, n)
		for _, l := range lines {
			if columns(l) > n {
				t.Fatalf("line %q of %q is wider than %d", l, v, n)
			}
		}
		squeeze := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if squeeze(strings.Join(lines, "")) != squeeze(v) {
			t.Fatalf("wrap(%q, %d) = %q", v, n, lines)
		}
	})
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{-1: "", 0: "0 B", 999: "999 B", 1000: "1 kB", 22_608: "22.6 kB", 999_600: "1 MB", 5_000_000_000: "5 GB"} {
		if got := Size(n); got != want {
			t.Errorf("%d: %q, expected %q", n, got, want)
		}
	}
}
