package tables

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/internal/table"
)

// twoRows returns a table of two methods, the second with a figure that the text lacks.
func twoRows() Artifact {
	t := &table.Table{Title: "Ours", Columns: append(table.Words("method", "top-1"), table.Heads(table.Hundredths, "mean candidates")...)}
	t.Add(table.TextCell("frontier"), table.TextCell("8/10"), table.RealCell(2))
	t.Add(table.TextCell("spread"), table.TextCell("4/10"), table.RealCell(2.5))
	return Artifact{Name: "table-4", Table: t}
}

// Figures of a text stand beside ours, and what differs is a cell that nobody has explained; the table that was given stays as it was.
func TestTextBeside(t *testing.T) {
	text, err := parseText("mine.yaml", []byte("source: Mine, 2026\ncaptions: {table-4: How often it is right}\ntables:\n  table-4:\n    columns: [top-1, mean]\n    rows:\n      frontier: [40/50, 2.1]\n      spread: [40/50, –]\n"))
	if err != nil {
		t.Fatal(err)
	}
	given := twoRows()
	made, err := text.AddFigures([]Artifact{given})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range made[0].Cells {
		if c.Differs() {
			got = append(got, c.Row+" "+c.Column+" "+c.Ours+" "+c.Published)
		}
		if c.IsExplained() {
			t.Errorf("%+v is explained", c)
		}
	}
	if want := "spread top-1 4/10 40/50; frontier mean candidates 2.00 2.1"; strings.Join(got, "; ") != want || len(made[0].Cells) != 3 {
		t.Errorf("%d cells, %q differ, want %q", len(made[0].Cells), got, want)
	}
	if made[0].Table.Title != "How often it is right" || given.Table.Title != "Ours" || len(given.Table.Columns) != 3 || len(given.Table.Rows[0]) != 3 {
		t.Errorf("title %q; the given table is %+v", made[0].Table.Title, given.Table)
	}
}

func TestTextRefused(t *testing.T) {
	for text, want := range map[string]string{
		"tables: {table-4: {columns: [top-1], rows: {frontier: [1/2, 3]}}}": `mine.yaml: row "frontier" of table-4 has 2 figures, expected 1`,
		"tables: {table-9: {columns: [top-1], rows: {frontier: [1/2]}}}":    "mine.yaml: the campaign makes no table table-9: it has table-4",
		"tables: {table-4: {columns: [top-3], rows: {frontier: [1/2]}}}":    "mine.yaml: table-4 has no column top-3: its columns are method, top-1, mean candidates",
		"tables: {table-4: {columns: [top-1], rows: {front: [1/2]}}}":       `mine.yaml: table-4 has no row "front"`,
		"tabels: {}": "mine.yaml",
	} {
		made, err := parseText("mine.yaml", []byte(text))
		if err == nil {
			_, err = made.AddFigures([]Artifact{twoRows()})
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	if _, err := ReadText(filepath.Join(t.TempDir(), "none.yaml")); !os.IsNotExist(err) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func FuzzText(f *testing.F) {
	f.Add([]byte("tables: {table-4: {columns: [top-1], rows: {frontier: [1/2], \"*\": [–]}}}"))
	f.Add([]byte("captions: {figure-3a: x}\nsource: y"))
	f.Fuzz(func(t *testing.T, data []byte) {
		text, err := parseText("mine.yaml", data)
		if err != nil {
			return
		}
		if made, err := text.AddFigures([]Artifact{twoRows()}); err == nil {
			checkSquare(t, made[0].Table)
		}
	})
}

func checkSquare(t *testing.T, made *table.Table) {
	t.Helper()
	for _, row := range made.Rows {
		if len(row) != len(made.Columns) {
			t.Fatalf("a row of %d cells under %d columns", len(row), len(made.Columns))
		}
	}
}

// The jackknife by hand: of the rates 1, 1 and 0 of three seeds with one run each, those of two are ½, ½ and 1. Their mean is ⅔, the squares add up to
// 1/6, so the error is √(2/3 · 1/6) = 1/3, the standard error of a mean of three; t with two degrees of freedom is 4.3027.
func TestJackknifeByHand(t *testing.T) {
	s := &Score{}
	for seed, hits := range []int{1, 1, 0} {
		s.Runs = append(s.Runs, &scoredRun{runCase: runCase{Seed: uint64(seed), Ranks: hits}})
	}
	of := func(s *Score) *table.Table {
		made := &table.Table{Columns: table.Words("method", "rate", "paper: rate", "word")}
		hits := 0
		for _, r := range s.Runs {
			hits += r.Ranks
		}
		made.Add(table.TextCell("m"), table.PartCell(hits, len(s.Runs)), table.TextCell("1/2"), table.TextCell("none"))
		return made
	}
	got := s.seedUncertainty("made", of)
	if len(got) != 1 {
		t.Fatalf("%+v, want the rate alone", got)
	}
	u := got[0]
	if u.Row != "m" || u.Column != "rate" || u.Shown != "2/3" || u.Seeds != 3 || math.Abs(u.Error-1./3) > 1e-12 || math.Abs(u.Low-(2./3-4.302653/3)) > 1e-5 || math.Abs(u.High-(2./3+4.302653/3)) > 1e-5 {
		t.Errorf("%+v", u)
	}
	s.Runs = s.Runs[:1]
	if one := s.seedUncertainty("made", of); one != nil {
		t.Errorf("one seed has %+v", one)
	}
}

// Cells of two campaigns: equal ones, one that the seeds explain, and one beyond 2.6 standard errors of both.
func TestAgainst(t *testing.T) {
	other := twoRows()
	other.Table = &table.Table{Columns: other.Table.Columns, Rows: [][]table.Cell{
		{table.TextCell("frontier"), table.TextCell("7/10"), table.RealCell(2)}, {table.TextCell("spread"), table.TextCell("1/10"), table.RealCell(2.5)}}}
	errs := []Uncertainty{{Artifact: "table-4", Row: "frontier", Column: "top-1", Error: 0.03}, {Artifact: "table-4", Row: "spread", Column: "top-1", Error: 0.08}}
	their := []Uncertainty{{Artifact: "table-4", Row: "frontier", Column: "top-1", Error: 0.04}, {Artifact: "table-4", Row: "spread", Column: "top-1", Error: 0.06}}
	var got []string
	pairs := CompareCampaigns([]Artifact{twoRows()}, []Artifact{other}, errs, their)
	for _, p := range pairs {
		switch {
		case p.IsBeyondError():
			got = append(got, p.Row+" beyond")
		case p.Differs():
			got = append(got, p.Row+" differs")
		}
	}
	if want := "frontier differs; spread beyond"; strings.Join(got, "; ") != want || len(pairs) != 4 { // 0.1 of 0.05, and 0.3 of 0.1
		t.Errorf("%q of %d, want %q of 4", got, len(pairs), want)
	}
}
