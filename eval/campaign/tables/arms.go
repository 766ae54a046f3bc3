package tables

import (
	"slices"

	"github.com/sfstat/sfstat/internal/table"
)

// armNames are the values of byArrivals.
var armNames = [...]string{"without", "with"}

// arm is the index of the case's armNames.
func (c *runCase) arm() int {
	if c.withArrivals() {
		return 1
	}
	return 0
}

// inArms reports whether some runs have arrivals.
func (s *Score) inArms() bool {
	return slices.ContainsFunc(s.Runs, func(r *scoredRun) bool { return r.withArrivals() })
}

// timesAlone is the score of the runs without arrivals, or of all where each has
// them: stages are routed by their times, which are the same in both.
func (s *Score) timesAlone() *Score {
	if out := s.only(func(r *scoredRun) bool { return !r.withArrivals() }); len(out.Runs) > 0 {
		return out
	}
	return s
}

// addArms gives the table of methods a row for the verdict on the runs of each
// arm: the stage of its first suspect stands for top-1.
func (s *Score) addArms(t *table.Table) {
	if !s.inArms() {
		return
	}
	width := len(t.Columns)
	t.Columns = append(t.Columns, table.Heads(table.Part, "rank right", "rank wrong", "called")...)
	for i := range t.Rows {
		t.Rows[i] = append(t.Rows[i], table.None(), table.None(), table.None())
	}
	for _, g := range s.grouped([]key{byArrivals}) {
		d := verdictsOf(g.runs)
		row := slices.Repeat([]table.Cell{table.None()}, width)
		row[0], row[1] = table.TextCell("verdict, "+g.value(byArrivals)+" arrivals"), table.PartCell(d.StageRight, d.Runs)
		t.Add(append(row, d.ranks()...)...)
	}
	t.Notes = append(t.Notes, says("arms"))
}

// ranks are what verdicts say of the rank.
func (v *verdictCounts) ranks() []table.Cell {
	return []table.Cell{table.PartCell(v.Answers[rankRight], v.Runs), table.PartCell(v.Answers[rankWrong], v.Runs), table.PartCell(v.Named, v.Runs)}
}

// verdictCells gives a table of groups the verdicts on each.
func (s *Score) verdictCells(t *table.Table, by []key) {
	t.Columns = append(t.Columns, table.Heads(table.Part, "stage right", "rank right", "rank wrong", "called")...)
	for i, g := range s.grouped(by) {
		d := verdictsOf(g.runs)
		t.Rows[i] = append(append(t.Rows[i], table.PartCell(d.StageRight, d.Runs)), d.ranks()...)
	}
	t.Notes = append(t.Notes, says("arms"))
}
