package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func tables(t *testing.T, list []Table, f Format, s Style) string {
	t.Helper()
	var b bytes.Buffer
	if err := to(&b, f, s).Tables(list); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTablesShowHostileNamesHarmlessly(t *testing.T) {
	evil := "\x1b[2Jrun\n| `x` \u202e\xff"
	list := []Table{{Title: evil, Head: []string{"a", "b"}, Rows: [][]string{{evil, "=1+1"}, {"", "x"}}, Notes: []string{evil}}}
	for _, f := range []Format{Text, CSV, Markdown, LaTeX} {
		out := tables(t, list, f, Style{})
		if strings.ContainsAny(out, "\x1b\u202e") || !utf8.ValidString(out) {
			t.Errorf("%v lets control characters through: %q", f, out)
		}
	}
	if csv := tables(t, list, CSV, Style{}); !strings.Contains(csv, ",'=1+1\n") || !strings.Contains(csv, `\x1b[2Jrun`) {
		t.Errorf("a spreadsheet would take this for a formula, or not see what the name is: %q", csv)
	}
	if md := tables(t, list, Markdown, Style{}); strings.Contains(md, "`x`") {
		t.Errorf("markup of a name is not quoted: %q", md)
	}
}

func TestTablesAsText(t *testing.T) {
	wide := []Table{{Head: []string{"check", "found", "pass"}, Rows: [][]string{
		{"Proposition 1, sums of maxima", "0 violations over 30 matrices", "pass"},
		{"short", "1", "FAIL"},
	}}}
	for _, c := range []struct {
		name  string
		list  []Table
		width int
		want  string
	}{
		{"aligned, rows may be short", []Table{{Title: "title", Head: []string{"one", "two"}, Rows: [][]string{{"größer", "x"}, {"1"}}}}, 80,
			"title\n  one     two\n  größer  x\n  1\n"},
		{"facts", []Table{{Title: "run", Rows: [][]string{{"steps", "4"}, {"ranks", "8 of 8"}}}}, 80,
			"run\n  steps  4\n  ranks  8 of 8\n"},
		{"words are wrapped, not cut", wide, 40,
			"check             found             pass\nProposition 1,    0 violations      pass\nsums of maxima    over 30 matrices\nshort             1                 FAIL\n"},
		{"of many columns and few rows are turned",
			[]Table{{Head: strings.Fields("aaaaaaa bbbbbbb ccccccc ddddddd eeeeeee"), Rows: [][]string{strings.Fields("1 2 3 4 5"), {"6"}}}}, 40,
			"aaaaaaa  1  6\nbbbbbbb  2\nccccccc  3\nddddddd  4\neeeeeee  5\n"},
		{"of many columns and rows have the rows one below the other",
			[]Table{{Head: strings.Fields("aaaaaaa bbbbbbb ccccccc ddddddd"), Rows: [][]string{
				strings.Fields("111111111111111111 2 3 4"), strings.Fields("222222222222222222"), {"6"}}}}, 40,
			"aaaaaaa  111111111111111111\nbbbbbbb  2\nccccccc  3\nddddddd  4\n\naaaaaaa  222222222222222222\n\naaaaaaa  6\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := tables(t, c.list, Text, Style{Width: c.width}); got != c.want {
				t.Errorf("got\n%s\nexpected\n%s", got, c.want)
			}
		})
	}
}

// What JSON holds comes back as it was, and nothing of it reaches a terminal that
// would steer it.
func TestJSONIsHarmless(t *testing.T) {
	evil := "a\x1b\u009b\u202e\u200b\x7f\U000e0001é漢😀"
	var b bytes.Buffer
	if err := (Output{W: &b}).JSON(map[string]string{evil: evil}); err != nil {
		t.Fatal(err)
	}
	if got := Visible(strings.ReplaceAll(b.String(), "\n", " ")); got != strings.ReplaceAll(b.String(), "\n", " ") {
		t.Errorf("not harmless: %q", b.String())
	}
	var back map[string]string
	if err := json.Unmarshal(b.Bytes(), &back); err != nil || back[evil] != evil {
		t.Errorf("%q came back as %q: %v", evil, back, err)
	}
}
