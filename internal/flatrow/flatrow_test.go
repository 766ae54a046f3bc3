package flatrow

import (
	"bytes"
	"encoding/csv"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
)

type word string

type sample struct {
	A int64    `json:"a" parquet:"a"`
	B uint64   `json:"b" parquet:"b"`
	C float64  `json:"c" parquet:"c"`
	D bool     `json:"d" parquet:"d"`
	E string   `json:"e" parquet:"e"`
	F word     `json:"f" parquet:"f"`
	G *int64   `json:"g" parquet:"g"`
	H *string  `json:"h" parquet:"h"`
	I *float64 `json:"i" parquet:"i"`
}

// TestFormats: rows come back from each form, and from their cells, null apart from zero.
func TestFormats(t *testing.T) {
	zero, third := int64(0), 1.0/3
	want := []sample{{}, {A: math.MinInt64, B: math.MaxUint64, C: -0.1, D: true, E: "a,\r\n\"b\"", F: "{}", G: &zero, I: &third}}
	var text, packed bytes.Buffer
	for as, to := range map[Format]*bytes.Buffer{CSV: &text, Parquet: &packed} {
		w := NewWriter[sample](to, as, Mark{"key", "schema/1"})
		for i := range want {
			if err := w.Write(&want[i]); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := parquet.Read[sample](bytes.NewReader(packed.Bytes()), int64(packed.Len()))
	if diff := cmp.Diff(want, rows); err != nil || diff != "" {
		t.Errorf("Parquet: %v %s", err, diff)
	}
	lines, err := csv.NewReader(&text).ReadAll()
	if err != nil || len(lines) != 3 {
		t.Fatal(lines, err)
	}
	if diff := cmp.Diff(Columns[sample](), lines[0]); diff != "" {
		t.Error(diff)
	}
	for i := range want {
		var got sample
		if err := Set(&got, Cells(&want[i])); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want[i], got); diff != "" {
			t.Error(diff)
		}
	}
	var got sample
	if err := Set(&got, []string{"many"}); err == nil {
		t.Error("a number that is none")
	}
}

func TestFormatOf(t *testing.T) {
	for path, want := range map[string]Format{"a.csv": CSV, "b/A.PARQUET": Parquet, "c.jsonl": JSONLines} {
		if got, err := FormatOf(path); err != nil || got != want {
			t.Errorf("%s: %v, %v", path, got, err)
		}
	}
	if _, err := FormatOf("calls.txt"); err == nil {
		t.Error("a name that says nothing is taken")
	}
}

// TestHarmless: in CSV no text is a formula or steers a terminal, and numbers are numbers. Set has the text again.
func TestHarmless(t *testing.T) {
	type row struct {
		Name string
		N    int64
	}
	for name, want := range map[string]string{"=cmd|a": "'=cmd|a", "+x": "'+x", "-x": "'-x", "-1": "-1", "@a": "'@a", "'a": "''a", "a\x1b[2J": `a\x1b[2J`, "plain": "plain", "": ""} {
		var text bytes.Buffer
		to := NewWriter[row](&text, CSV, Mark{})
		if err := errors.Join(to.Write(&row{name, -5}), to.Close()); err != nil {
			t.Fatal(err)
		}
		lines, err := csv.NewReader(&text).ReadAll()
		if err != nil || lines[1][0] != want || lines[1][1] != "-5" {
			t.Errorf("%q is written as %q, %v; expected %q", name, lines[1], err, want)
		}
		var again row
		if err := Set(&again, lines[1]); err != nil || again.Name != name && !strings.Contains(name, "\x1b") {
			t.Errorf("%q is read as %q, %v", name, again.Name, err)
		}
	}
}
