package tables

import (
	"io"
	"math"
	"strconv"

	"github.com/sfstat/sfstat/internal/table"
)

// Pair is a figure that two campaigns have.
type Pair struct {
	Artifact, Row, Column string
	This, Other           string
	Known                 bool    // whether the seeds of both say how uncertain the figures are
	Error                 float64 // standard, of the difference
}

// Differs reports whether the figures differ, by the rules of [Cell.Differs].
func (p *Pair) Differs() bool { return !equalFigures(p.This, p.Other) }

// beyondErrors is the size of a difference, in standard errors, from which on seeds do not explain it: about 1 % of figures that are the same.
const beyondErrors = 2.6

// IsBeyondError reports whether the difference is more than the seeds of both campaigns explain.
func (p *Pair) IsBeyondError() bool {
	a, ok := numberIn(p.This)
	b, ok2 := numberIn(p.Other)
	return p.Known && ok && ok2 && math.Abs(a-b) > beyondErrors*p.Error
}

// CompareCampaigns pairs the figures of tables that two campaigns both have, by name of the table, row and column; published figures are left out.
func CompareCampaigns(this, other []Artifact, errors, otherErrors []Uncertainty) (out []Pair) {
	type key struct{ artifact, row, column string }
	known := func(list []Uncertainty) map[key]float64 {
		m := map[key]float64{}
		for _, u := range list {
			m[key{u.Artifact, u.Row, u.Column}] = u.Error
		}
		return m
	}
	here, there := known(errors), known(otherErrors)
	theirs := map[string]map[[2]string]string{}
	for _, a := range other {
		theirs[a.Name] = figuresOf(a.Table)
	}
	for _, a := range this {
		heads := a.Table.Heads()
		for _, row := range a.Table.Records() {
			for j := max(1, a.Table.Keys); j < len(heads); j++ {
				name := rowName(a.Table, row)
				value, both := theirs[a.Name][[2]string{name, heads[j]}]
				if !both || publishedPrefix.MatchString(heads[j]) || row[j] == none && value == none {
					continue
				}
				p := Pair{Artifact: a.Name, Row: name, Column: heads[j], This: row[j], Other: value}
				mine, ok := here[key{a.Name, name, heads[j]}]
				its, ok2 := there[key{a.Name, name, heads[j]}]
				p.Known, p.Error = ok && ok2, math.Hypot(mine, its)
				out = append(out, p)
			}
		}
	}
	return out
}

// WriteAgainst writes them, a row for each figure.
func WriteAgainst(w io.Writer, pairs []Pair) error {
	var rows [][]string
	for i := range pairs {
		p := &pairs[i]
		difference, size, beyond := "", "", ""
		if p.Differs() {
			difference = Cell{Ours: p.This, Published: p.Other}.Difference()
		}
		if p.Known {
			size, beyond = strconv.FormatFloat(p.Error, 'g', 6, 64), strconv.FormatBool(p.IsBeyondError())
		}
		rows = append(rows, []string{p.Artifact, p.Row, p.Column, p.This, p.Other, strconv.FormatBool(p.Differs()), difference, size, beyond})
	}
	return table.WriteCSV(w, []string{"table", "row", "figure", "this", "other", "differs", "difference", "standard_error", "beyond_seeds"}, rows)
}
