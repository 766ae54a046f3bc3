package tables

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/internal/table"
)

// Cell is a figure that a published text has, and ours beside it.
type Cell struct {
	Artifact        string // "table-4"
	Row, Column     string
	Ours, Published string
	Reason          string // why ours differs; "" where it does not
}

// Unexplained begins a reason that says what is known of a difference and does not account for it.
const Unexplained = "Not explained: "

// IsExplained reports whether the reason accounts for the difference of a cell that differs.
func (c *Cell) IsExplained() bool { return c.Reason != "" && !strings.HasPrefix(c.Reason, Unexplained) }

// Differs reports whether the figures differ: counts as rates, numbers as
// numbers, words as words. Where the text says all, every count must be whole;
// where it gives a range, ours must lie in it.
func (c *Cell) Differs() bool { return !equalFigures(c.Ours, c.Published) }

// publishedPrefix finds the heads of columns with published figures. What
// follows is the head of ours, or short for it.
var publishedPrefix = regexp.MustCompile(`^(?:paper|thesis|text): `)

var shortHeads = map[string]string{"hit": "candidate hit", "mean": "mean candidates"}

// cellsOf pairs the columns of a table that have a published twin. Cells for which
// either text has no figure are left out.
func cellsOf(t *table.Table, artifact string) []Cell { return cellsUnder(t, artifact, "") }

// cellsUnder pairs those whose heads begin with one of the prefixes, "" for any.
func cellsUnder(t *table.Table, artifact, of string) []Cell {
	var out []Cell
	heads, rows := t.Heads(), t.Records()
	for j, head := range heads {
		prefix := publishedPrefix.FindString(head)
		if of != "" && prefix != of {
			continue
		}
		name := head[len(prefix):]
		if long, ok := shortHeads[name]; ok {
			name = long
		}
		at := slices.Index(heads, name)
		if prefix == "" || at < 0 {
			continue
		}
		for _, row := range rows {
			if row[at] != none && row[j] != none {
				out = append(out, Cell{Artifact: artifact, Row: rowName(t, row), Column: name, Ours: row[at], Published: row[j]})
			}
		}
	}
	return out
}

// CompareCells returns the table with its cells that stand beside published ones. why says of those that differ why; "": nobody
// has looked into it.
func (a Artifact) CompareCells(why func(*Cell) string) Artifact {
	a.Cells = cellsOf(a.Table, a.Name)
	for i := range a.Cells {
		if c := &a.Cells[i]; c.Differs() {
			c.Reason = why(c)
		}
	}
	return a
}

func equalFigures(ours, published string) bool {
	if ours == published {
		return true
	}
	k, n, counts := fraction(ours)
	if published == "all" {
		return counts && k == n
	}
	if p, q, ok := fraction(published); ok && counts {
		return k*q == p*n
	}
	if from, to, ok := parseRange(published); ok {
		if a, b, ok := parseRange(ours); ok {
			return from <= a && b <= to
		}
	}
	a, err := strconv.ParseFloat(ours, 64)
	b, err2 := strconv.ParseFloat(published, 64)
	return err == nil && err2 == nil && a == b
}

// parseRange reads a range such as 120–180.
func parseRange(cell string) (from, to float64, ok bool) {
	a, b, found := strings.Cut(cell, "–")
	from, err := strconv.ParseFloat(a, 64)
	to, err2 := strconv.ParseFloat(b, 64)
	return from, to, found && err == nil && err2 == nil
}

// fraction reads a count such as 40/50.
func fraction(cell string) (k, n int, ok bool) {
	a, b, found := strings.Cut(cell, "/")
	k, err := strconv.Atoi(a)
	n, err2 := strconv.Atoi(b)
	return k, n, found && err == nil && err2 == nil && n > 0
}
