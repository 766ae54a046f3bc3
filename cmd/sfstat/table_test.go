package main

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTablesShowHostileNamesHarmlessly(t *testing.T) {
	evil := "\x1b[2Jrun\n| `x` \u202e\xff"
	tables := []table{{title: evil, head: []string{"a", "b"}, rows: [][]string{{evil, "=1+1"}, {"", "x"}}}}
	for name, write := range map[string]func(table, *bytes.Buffer) error{
		"text":     func(t table, b *bytes.Buffer) error { return t.text(b) },
		"csv":      func(t table, b *bytes.Buffer) error { return t.csv(b) },
		"markdown": func(t table, b *bytes.Buffer) error { return t.markdown(b) },
	} {
		var b bytes.Buffer
		if err := write(tables[0], &b); err != nil {
			t.Fatal(err)
		}
		out := b.String()
		if strings.ContainsAny(out, "\x1b\u202e") || !utf8.ValidString(out) {
			t.Errorf("%s lets control characters through: %q", name, out)
		}
		if want := `\x1b[2Jrun`; name != "markdown" && !strings.Contains(out, want) {
			t.Errorf("%s hides what the name is: %q", name, out)
		}
	}
	var csv, md bytes.Buffer
	_ = tables[0].csv(&csv)
	if !strings.Contains(csv.String(), ",'=1+1\n") {
		t.Errorf("a spreadsheet would take this for a formula: %q", csv.String())
	}
	_ = tables[0].markdown(&md)
	if strings.Contains(md.String(), "`x`") || strings.Count(md.String(), "\n") != 6 {
		t.Errorf("markup of a name is not quoted: %q", md.String())
	}
}

func TestTextAlignsColumns(t *testing.T) {
	var b bytes.Buffer
	err := table{title: "title", head: []string{"one", "two"}, rows: [][]string{{"größer", "x"}, {"1"}}}.text(&b)
	if want := "title\n  one     two\n  größer  x\n  1\n"; err != nil || b.String() != want {
		t.Errorf("%q (%v), expected %q", b.String(), err, want)
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{
		-1: "unknown", 0: "0 B", 999: "999 B", 1000: "1.0 kB", 22_608: "22.6 kB", 999_949: "999.9 kB", 999_960: "1.0 MB",
		5_000_000_000: "5.0 GB", 1 << 62: "4611.7 PB",
	} {
		if got := size(n); got != want {
			t.Errorf("%d: %q, expected %q", n, got, want)
		}
	}
}

func TestFold(t *testing.T) {
	got := strings.Join(fold("a bb ccc dddddddd e", 6), "|")
	if want := "a bb|ccc|dddddddd|e"; got != want {
		t.Errorf("%q, expected %q", got, want)
	}
}
