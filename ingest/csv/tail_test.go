package csv

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/ingest/ingesttest"
	"github.com/sfstat/sfstat/trace/input"
)

// TestCutCell: a file that ends inside of its last cell loses that row, with a note; one whose last line has only no end loses none.
func TestCutCell(t *testing.T) {
	fixed, free := "step,rank,data_ms,back_ms\n", "step,rank,data_ms,back_ms\n"
	for step := range 20 {
		fixed += fmt.Sprintf("%d,0,%.3f,%.3f\n", step, 10+float64(step)/7, 43+float64(step)/7)
		free += fmt.Sprintf("%d,0,%v,%v\n", step, 10+float64(step)/7, 43.1+float64(step)/7)
	}
	few := strings.Join(strings.SplitAfter(fixed, "\n")[:10], "")
	for name, c := range map[string]struct {
		table string
		rows  int
		cut   string // the cell that is named; "": none
	}{
		"whole":                      {fixed, 20, ""},
		"no end of the last line":    {strings.TrimSuffix(fixed, "\n"), 20, ""},
		"a digit less":               {fixed[:len(fixed)-2], 19, "45.71"},
		"no fraction":                {fixed[:len(fixed)-5], 19, "45"},
		"one digit":                  {fixed[:len(fixed)-6], 19, "4"},
		"all digits, no end":         {strings.TrimSuffix(free, "\n"), 20, ""},
		"of all digits, one":         {free[:strings.LastIndexByte(free, ',')+2], 19, "4"},
		"few rows":                   {few[:len(few)-2], 9, ""},
		"short, with an end":         {fixed + "20,0,12.857,4\n", 21, ""},
		"short, in a table that has": {fixed + "20,0,12.857,4\n21,0,12.857,45", 22, ""},
	} {
		r, err := NewReader(strings.NewReader(c.table), "m.csv", Options{})
		if err != nil {
			t.Fatal(err)
		}
		windows, err := ingesttest.ReadAll(r)
		if err != nil || len(windows) != 1 {
			t.Fatalf("%s: %d windows, error %v", name, len(windows), err)
		}
		got := ""
		for _, n := range windows[0].Notes {
			if n.Kind == input.NoteTruncated {
				got = n.Text
			}
		}
		if windows[0].Steps() != c.rows || (got != "") != (c.cut != "") || !strings.Contains(got, fmt.Sprintf("%q", c.cut)) && c.cut != "" {
			t.Errorf("%s: %d steps, want %d; note %q, want one of %q", name, windows[0].Steps(), c.rows, got, c.cut)
		}
	}
}
