package glyph

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/quick"
	"unicode"
	"unicode/utf8"
)

func TestDistinct(t *testing.T) {
	for _, c := range []struct {
		name, names string
		width       int
		want        string
	}{
		{"as they are", "data forward", 10, "data forward"},
		{"without the common suffix", "model.backward_cpu_wall data.next_wait", 16, "model.backward… data.next_wait"},
		{"in the middle", "a-very-long-name-of-a-run another-very-long-name", 11, "a-ver…a-run anoth…-name"},
		{"at what differs", "e3-backward-r8-s0 e3-callback-r8-s0 e3-data-r8-s0", 10, "…backward… …callback… …data…"},
		{"at what differs, some fit", "run-0000-a-0000 run-0000-b-0000 run-c", 9, "…000-a-0000 x x"},
		{"by number", "abc0000000def1111111ghi abc0000000deg1111111ghi xbc0000000def1111111gh0", 9, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			names := strings.Fields(c.names)
			cuts := Distinct(names, c.width)
			var got []string
			for _, name := range names {
				got = append(got, cuts[name])
				if Columns(cuts[name]) > c.width {
					t.Errorf("%q is wider than %d", cuts[name], c.width)
				}
			}
			if unique := slices.Compact(slices.Sorted(slices.Values(got))); len(unique) != len(names) {
				t.Errorf("%q became %q", names, got)
			}
			if text := strings.Join(got, " "); c.want != "" && !strings.Contains(c.want, " x") && text != c.want {
				t.Errorf("%q, expected %q", text, c.want)
			}
		})
	}
}

// Names that differ are shown as different ones, whatever they are, in any width
// that has room for their numbers.
func TestDistinctAlways(t *testing.T) {
	if err := quick.Check(func(prefix string, seeds []uint16, wide uint8) bool {
		prefix = Visible(prefix)
		n := 8 + int(wide%30)
		var names []string
		for _, seed := range seeds {
			if name := fmt.Sprint(prefix, strings.Repeat("é", int(seed%7)), seed/7%5, prefix, seed%3); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		seen := make(map[string]bool)
		for _, cut := range Distinct(append(names, "x"), n) {
			if seen[cut] || Columns(cut) > n {
				return false
			}
			seen[cut] = true
		}
		return true
	}, nil); err != nil {
		t.Error(err)
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
		if got := ShortenName(c.in, c.n); got != c.want {
			t.Errorf("ShortenName(%q, %d) = %q, want %q", c.in, c.n, got, c.want)
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
		for _, short := range []string{Shorten(v, n), ShortenName(v, n), Clip(v, n)} {
			if Columns(short) > n {
				t.Fatalf("%q is wider than %d", short, n)
			}
		}
		lines := Wrap(v, n)
		for _, l := range lines {
			if Columns(l) > n {
				t.Fatalf("line %q of %q is wider than %d", l, v, n)
			}
		}
		squeeze := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if squeeze(strings.Join(lines, "")) != squeeze(v) {
			t.Fatalf("Wrap(%q, %d) = %q", v, n, lines)
		}
	})
}
