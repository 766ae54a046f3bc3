package tables

import (
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/sfstat/sfstat/internal/table"
)

// Uncertainty is how much a figure of a table depends on which seeds were run: the jackknife, which leaves out one seed at a time. With θ(i) without seed i and n
// seeds, the standard error is √((n−1)/n · Σ(θ(i) − mean)²) (Efron and Stein 1981), and the interval that of Student's t with n − 1 degrees of freedom.
// It holds for counts, which are taken as rates, means and shares; of a median or an extreme it is rough.
type Uncertainty struct {
	Artifact, Row, Column string
	Shown                 string  // as the table has it
	Value                 float64 // of a count the rate
	Seeds                 int
	Error                 float64 // standard
	Low, High             float64 // of 95 %
}

// confidence is that of intervals.
const confidence = 0.95

// numberIn reads a figure of a table: a count as its rate, a number, a percentage, a number with a unit.
func numberIn(cell string) (float64, bool) {
	if k, n, ok := fraction(cell); ok {
		return float64(k) / float64(n), true
	}
	words := strings.Fields(strings.ReplaceAll(cell, "−", "-"))
	if len(words) == 0 || len(words) > 2 {
		return 0, false
	}
	x, err := strconv.ParseFloat(words[0], 64)
	return x, err == nil && !math.IsInf(x, 0)
}

// seedUncertainty finds the uncertainty of the figures of a table that is made of some runs. Figures that a table without one of the seeds does not have are
// left out, as are tables of one seed.
func (s *Score) seedUncertainty(name string, of func(*Score) *table.Table) (out []Uncertainty) {
	var seeds []uint64
	for _, r := range s.Runs {
		seeds = append(seeds, r.Seed)
	}
	slices.Sort(seeds)
	seeds = slices.Compact(seeds)
	if len(seeds) < 2 {
		return nil
	}
	without := make([]map[[2]string]string, len(seeds))
	for i, seed := range seeds {
		without[i] = figuresOf(of(s.selectRuns(func(r *scoredRun) bool { return r.Seed != seed })))
	}
	all := of(s)
	heads := all.Heads()
	for _, row := range all.Records() {
		for j := max(1, all.Keys); j < len(heads); j++ {
			if publishedPrefix.MatchString(heads[j]) {
				continue
			}
			u := Uncertainty{Artifact: name, Row: rowName(all, row), Column: heads[j], Shown: row[j], Seeds: len(seeds)}
			if u.jackknife(without) {
				out = append(out, u)
			}
		}
	}
	return out
}

// figuresOf returns the cells of a table by row and column.
func figuresOf(t *table.Table) map[[2]string]string {
	out, heads := map[[2]string]string{}, t.Heads()
	for _, row := range t.Records() {
		for j, head := range heads {
			out[[2]string{rowName(t, row), head}] = row[j]
		}
	}
	return out
}

// jackknife fills error and interval; false where a figure is none.
func (u *Uncertainty) jackknife(without []map[[2]string]string) bool {
	var ok bool
	if u.Value, ok = numberIn(u.Shown); !ok {
		return false
	}
	var left []float64
	mean := 0.0
	for _, figures := range without {
		x, ok := numberIn(figures[[2]string{u.Row, u.Column}])
		if !ok {
			return false
		}
		left, mean = append(left, x), mean+x/float64(len(without))
	}
	squares := 0.0
	for _, x := range left {
		squares += (x - mean) * (x - mean)
	}
	n := float64(len(left))
	u.Error = math.Sqrt((n - 1) / n * squares)
	half := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(1-(1-confidence)/2) * u.Error
	u.Low, u.High = u.Value-half, u.Value+half
	return true
}

// Uncertainties returns how much each figure of the tables of runs depends on the seeds, in the order of the tables.
func (e *Evaluation) Uncertainties() (out []Uncertainty) {
	for _, p := range paperTables {
		if p.name == sourceArtifact {
			continue
		}
		part, _ := e.part(p.counts)
		if len(part.Runs) > 0 {
			out = append(out, part.seedUncertainty(p.name, p.of)...)
		}
	}
	return out
}

// WriteUncertainties writes them, a row for each figure.
func WriteUncertainties(w io.Writer, list []Uncertainty) error {
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }
	var rows [][]string
	for _, u := range list {
		rows = append(rows, []string{u.Artifact, u.Row, u.Column, u.Shown, number(u.Value), strconv.Itoa(u.Seeds), number(u.Error), number(u.Low), number(u.High)})
	}
	return table.WriteCSV(w, []string{"table", "row", "figure", "shown", "value", "seeds", "standard_error", "low", "high"}, rows)
}
