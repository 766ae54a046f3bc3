package ingest

import (
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// linesOf returns the lines that a terminal would show.
func linesOf(t *testing.T, r io.Reader) (out []string) {
	t.Helper()
	for lines := NewTerminalLines(r, "log", Limits{}); ; {
		line, _, err := lines.NextCut()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(line))
	}
}

// TestTerminalLines holds to the lines of bars that are drawn over, without what steers the terminal, wherever reads end.
func TestTerminalLines(t *testing.T) {
	for text, want := range map[string][]string{
		"a\nb\r\nc":                             {"a", "b", "c"},
		"\r 1%\r 2%\r 3%\nend":                  {"", " 1%", " 2%", " 3%", "end"},
		"bar\r\r\nend\r":                        {"bar", "", "end"},
		"\x1b[32mok\x1b[0m 1/2\x1b[K":           {"ok 1/2"},
		"\x1b[1;31;48m\x1b[?25lx\x1b[":          {"x["},
		"\x1b]8;;http://a\x1b\\link\x1b]8;;\a.": {"link."},
		"a\x1b":                                 {"a"}, "\x1b]open": {"]open"}, "\x1b[3\tx": {"[3\tx"}, "": nil,
	} {
		for name, r := range map[string]io.Reader{"whole": strings.NewReader(text), "bytes": iotest.OneByteReader(strings.NewReader(text)),
			"with the end": iotest.DataErrReader(strings.NewReader(text))} {
			if got := linesOf(t, r); !slices.Equal(got, want) {
				t.Errorf("%q, read %s: %q, expected %q", text, name, got, want)
			}
		}
		var got []string
		for line := range TerminalLines([]byte(text)) {
			got = append(got, string(line))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q in memory: %q, expected %q", text, got, want)
		}
	}
	bars := strings.Repeat("\r 12345/99999 [00:10, 4.98it/s]", 10_000) // a read ends at carriage returns too
	if got := linesOf(t, strings.NewReader(bars)); len(got) != 10_001 {
		t.Errorf("%d lines of 10,000 bars", len(got))
	}
}
