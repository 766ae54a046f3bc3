package tables

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/internal/table"
)

// What explains a difference from the published figures is computed from the
// windows, so that it holds for those that a table counts.

// wideSets are the candidate sets of more than two stages among several.
type wideSets struct {
	families  []string
	two       mean // the two largest shares together
	wide, all int
}

func (w *wideSets) add(candidates int, shares []float64, family simulate.Family) {
	w.all++
	if candidates <= 2 {
		return
	}
	w.wide++
	two := twoOf(shares)
	w.two.add(&two)
	if name := family.String(); !slices.Contains(w.families, name) {
		w.families = append(w.families, name)
	}
}

// explained is the sentence about them, "" where there are none.
func (w *wideSets) explained(sentence string, more ...any) string {
	if w.wide == 0 {
		return ""
	}
	return says(sentence, append([]any{table.OutOf(w.wide, w.all), strings.Join(w.families, ", "), &w.two}, more...)...)
}

// widerSets explains candidate sets of more than two stages, which the paper's
// Table 4 does not have at its τ.
func (s *Score) widerSets() string {
	var sets wideSets
	for _, r := range s.Runs {
		faulty([]*scoredRun{r}, func(w *scoredWindow) { sets.add(w.Routing.Candidates, w.shares, r.Family) })
	}
	return sets.explained("wide sets", fixed(s.Tau))
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
		out = append(out, says("other first", strings.Join(keyValues(g, by), ", "), table.OutOf(tally.Top1, tally.Windows), twin[0], own, other))
	}
	return out
}
