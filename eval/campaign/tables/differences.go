package tables

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/internal/table"
)

// What explains a difference from the published figures is computed from the
// windows, so that it holds for those that a table counts.

// widerSets explains candidate sets of more than two stages, which the paper's
// Table 4 does not have at its τ.
func (s *Score) widerSets() []string {
	var families []string
	var two mean
	wide, all := 0, 0
	for _, r := range s.Runs {
		faulty([]*scoredRun{r}, func(w *scoredWindow) {
			all++
			if w.Routing.Candidates <= 2 || len(w.shares) < 2 {
				return
			}
			wide++
			shares := descending(w.shares)
			sum := shares[0] + shares[1]
			two.add(&sum)
			if name := r.Family.String(); !slices.Contains(families, name) {
				families = append(families, name)
			}
		})
	}
	if wide == 0 {
		return nil
	}
	return []string{fmt.Sprintf("Candidate sets of more than two stages: %s, of %s. There the two largest shares together are %v on average, short of τ = %s.",
		table.OutOf(wide, all), strings.Join(families, ", "), &two, fixed(s.Tau))}
}

func descending(shares []float64) []float64 {
	out := slices.Clone(shares)
	slices.SortFunc(out, func(a, b float64) int { return cmp.Compare(b, a) })
	return out
}

// otherFirst explains the groups whose seeded stage is first more or less often
// than the paper's: by its share and the largest of the others.
func (s *Score) otherFirst(by []key) []string {
	rows := published().Tables["table-14"]
	var out []string
	for _, g := range s.grouped(by) {
		tally, twin := tallyOf(g.runs), rows.row(g.published(by))
		if twin == nil {
			continue
		}
		k, n, known := fraction(twin[0])
		if !known || tally.Windows == 0 || tally.Top1*n == k*tally.Windows {
			continue
		}
		own, other := rivals(g.runs)
		out = append(out, fmt.Sprintf("%s: first in %s here and in %s in the paper. Here the seeded share is %v on average, the largest other %v.",
			strings.Join(keyValues(g, by), ", "), table.OutOf(tally.Top1, tally.Windows), twin[0], own, other))
	}
	return out
}
