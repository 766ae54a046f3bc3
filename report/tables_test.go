package report

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sfstat/sfstat/internal/table"
)

// rows are rows of words.
func rows(list ...[]string) (out [][]table.Cell) {
	for _, row := range list {
		out = append(out, table.Texts(row...))
	}
	return out
}

func tables(t *testing.T, list []*table.Table, f Format, s Style) string {
	t.Helper()
	var b bytes.Buffer
	if err := to(&b, f, s).Tables(list...); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTablesShowHostileNamesHarmlessly(t *testing.T) {
	evil := "\x1b[2Jrun\n| `x` \u202e\xff"
	list := []*table.Table{{Title: evil, Columns: table.Words("a", "b"), Rows: rows([]string{evil, "=1+1"}, []string{"", "x"}), Notes: []string{evil}}}
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
	wide := []*table.Table{{Columns: table.Words("check", "found", "pass"), Rows: rows(
		[]string{"Proposition 1, sums of maxima", "0 violations over 30 matrices", "pass"},
		[]string{"short", "1", "FAIL"},
	)}}
	for _, c := range []struct {
		name  string
		list  []*table.Table
		width int
		want  string
	}{
		{"aligned, rows may be short", []*table.Table{{Title: "title", Columns: table.Words("one", "two"), Rows: rows([]string{"größer", "x"}, []string{"1"})}}, 80,
			"title\n  one     two\n  größer  x\n  1\n"},
		{"facts", []*table.Table{{Title: "run", Rows: rows([]string{"steps", "4"}, []string{"ranks", "8 of 8"})}}, 80,
			"run\n  steps  4\n  ranks  8 of 8\n"},
		{"words are wrapped, not cut", wide, 40,
			"check             found             pass\nProposition 1,    0 violations      pass\nsums of maxima    over 30 matrices\nshort             1                 FAIL\n"},
		{"of many columns and few rows are turned",
			[]*table.Table{{Columns: table.Words(strings.Fields("aaaaaaa bbbbbbb ccccccc ddddddd eeeeeee")...), Rows: rows(strings.Fields("1 2 3 4 5"), []string{"6"})}}, 40,
			"aaaaaaa  1  6\nbbbbbbb  2\nccccccc  3\nddddddd  4\neeeeeee  5\n"},
		{"of many columns and rows have the rows one below the other",
			[]*table.Table{{Columns: table.Words(strings.Fields("aaaaaaa bbbbbbb ccccccc ddddddd")...), Rows: rows(
				strings.Fields("111111111111111111 2 3 4"), strings.Fields("222222222222222222"), []string{"6"})}}, 40,
			"aaaaaaa  111111111111111111\nbbbbbbb  2\nccccccc  3\nddddddd  4\n\naaaaaaa  222222222222222222\n\naaaaaaa  6\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := tables(t, c.list, Text, Style{Width: c.width}); got != c.want {
				t.Errorf("got\n%s\nexpected\n%s", got, c.want)
			}
		})
	}
}
