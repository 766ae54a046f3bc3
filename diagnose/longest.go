package diagnose

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/trace/operator"
)

// listedLongest is how many operators are listed that take the steps of the only rank.
const listedLongest = 3

// longestOperators returns what takes longest of what the only rank launched, or of the functions of its program; ok is false where
// the totals are of several ranks, or have no time. O(n log n) for n rows.
func longestOperators(t *operator.Totals) (e evidence.LongestOperators, ok bool) {
	if len(t.Ranks) != 1 || len(t.Steps) == 0 {
		return e, false
	}
	type sum struct {
		evidence.OperatorTime
		count int64
		apart bool // in several stages
	}
	sums, seen := make([]sum, len(t.Names)), make([]bool, len(t.Names))
	steps := int64(len(t.Steps))
	for _, row := range t.Rows {
		s, stage := &sums[row.Name], t.Stages[row.Stage]
		if seen[row.Name] {
			s.apart = s.apart || s.Stage != stage
		} else {
			e.Names++
		}
		seen[row.Name] = true
		s.Op, s.Stage, s.Time, s.count = t.Names[row.Name], stage, s.Time+row.Dur, s.count+int64(row.Count)
		e.Time += row.Dur
	}
	if e.Time <= 0 {
		return e, false
	}
	slices.SortStableFunc(sums, func(a, b sum) int { return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.Op, b.Op)) })
	for i := range sums[:min(listedLongest, e.Names)] {
		s := &sums[i]
		s.Time, s.Count = s.Time/steps, float64(s.count)/float64(steps)
		if s.apart {
			s.Stage = ""
		}
		e.Operators = append(e.Operators, s.OperatorTime)
	}
	e.Time, e.Functions = e.Time/steps, t.Functions
	return e, true
}
