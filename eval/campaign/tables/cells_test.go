package tables

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/internal/table"
)

func TestCellDiffers(t *testing.T) {
	for _, c := range []struct {
		ours, published string
		want            bool
	}{
		{"40/50", "40/50", false},
		{"20/20", "10/10", false}, // counts are compared as rates
		{"20/50", "22/50", true},
		{"2.20", "2.2", false},
		{"2.00", "2.40", true},
		{"3/3", "all", false},
		{"2/3", "all", true},
		{"150–180", "120–180", false}, // ours lies in the published range
		{"90–150", "120–180", true},
		{"yes", "no", true},
		{"0/0", "0/18", true}, // nothing was counted
	} {
		if got := (&Cell{Ours: c.ours, Published: c.published}).Differs(); got != c.want {
			t.Errorf("%s against %s: differs %v, expected %v", c.ours, c.published, got, c.want)
		}
	}
}

func TestCellsOfATable(t *testing.T) {
	own := &table.Table{Columns: table.Words("family", "ranks", "top-1", "mean candidates", "paper: top-1", "paper: mean", "paper: lost"), Keys: 2}
	own.Add(table.Texts("data", "8", "5/5", "2.00", "4/5", "2.00", "1")...)
	own.Add(table.Texts("data", "32", none, "3.00", "5/5", none, "1")...)
	want := []Cell{
		{Artifact: "x", Row: "data, 8", Column: "top-1", Ours: "5/5", Published: "4/5"},
		{Artifact: "x", Row: "data, 8", Column: "mean candidates", Ours: "2.00", Published: "2.00"},
	}
	cells := cellsOf(own, "x")
	if diff := cmp.Diff(want, cells); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	a := Artifact{Name: "x", Table: own, Cells: cells}
	if rows := own.Records(); !a.IsMarked(rows[0], 2) || a.IsMarked(rows[0], 3) || a.IsMarked(rows[1], 2) {
		t.Error("the first top-1 alone should be marked")
	}
	if d := cells[0].Difference(); d != "+20 points" {
		t.Errorf("difference %q", d)
	}
}

// TestIndex: names from files and cells stay text, and each figure of a
// published twin is a row.
func TestIndex(t *testing.T) {
	x := Index{Name: "<script>alert(1)</script>", Figures: []Picture{{File: "figures/figure-3a.svg"}, {File: `figures/"><b>.svg`}},
		Tables: []Artifact{{Name: "table-4", Table: &table.Table{Title: "T", Columns: table.Words("a"), Rows: [][]table.Cell{table.Texts("<i>")}},
			Cells: []Cell{{"table-4", "<i>", "top-1", "1/2", "2/2", "because"}, {"table-4", "r", "top-2", "2/2", "1/1", ""}}}}}
	var page, rows bytes.Buffer
	if err := x.WriteHTML(&page); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"<script>", "<i>", "<b>"} {
		if strings.Contains(page.String(), bad) {
			t.Errorf("%s stands in the page", bad)
		}
	}
	if x.CountEqual() != 1 || len(x.DifferingCells()) != 1 || strings.Count(page.String(), "because") != 1 || !strings.Contains(page.String(), "Figure 3a") {
		t.Errorf("%d the same, page\n%s", x.CountEqual(), &page)
	}
	if err := x.WriteCSV(&rows); err != nil {
		t.Fatal(err)
	}
	all, err := csv.NewReader(&rows).ReadAll()
	if err != nil || len(all) != 3 || all[1][5] != "true" || all[1][6] != "-50 points" || all[2][5] != "false" {
		t.Errorf("%v, %v", all, err)
	}
}
