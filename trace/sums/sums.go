// Package sums finds stages that were recorded around others: times that are the sum of
// the times of other stages in nearly every step of every rank, as a column of whole
// steps is beside columns of their parts.
//
// A sum is exact where it differs from its parts by no more than they were rounded, in
// nearly all rows, and where it varies as they do: stages that are as long as others by
// chance, or all constant, are none. A sum with a gap is a little longer than its parts
// and follows them. Times are nanoseconds, rounding is read from their digits.
package sums

import (
	"slices"
	"strings"

	"github.com/sfstat/sfstat/trace"
)

// Sum is a stage of a window that was recorded around others.
type Sum struct {
	Stage int
	Parts []int   // ascending
	Whole bool    // the parts are all other stages that are no sums themselves
	Gap   float64 // the part of it that its parts leave; 0: none but for rounding
}

// Find returns the sums among the stages of windows, ascending by stage. They have the same
// stages. Mostly there are none, which a few rows show: O(2^stages) of up to 12 stages,
// O(stages²) of more, and the rows times the stages where there may be some.
func Find(windows ...*trace.Window) []Sum {
	S := len(windows[0].Schema.Stages)
	s := newSearch(windows)
	if S < 2 || S > mostStages || s.rows < leastVaried {
		return nil
	}
	s.look()
	s.exact()
	s.exact() // of whole steps that have sums among their parts
	s.gaps(s.bestSum)
	s.gaps(s.sumOfAll)
	slices.SortFunc(s.found, func(a, b Sum) int { return a.Stage - b.Stage })
	for i := range s.found {
		s.found[i].Whole = s.coversAll(s.found[i])
	}
	return s.found
}

// names returns the parts of a sum for a sentence: "a", "b" and "c".
func (s Sum) names(stages []string) string {
	quoted := make([]string, len(s.Parts))
	for i, p := range s.Parts {
		quoted[i] = `"` + stages[p] + `"`
	}
	last := len(quoted) - 1
	if last == 0 {
		return quoted[0]
	}
	return strings.Join(quoted[:last], ", ") + " and " + quoted[last]
}

// coversAll reports whether a sum covers all stages that take time and are no sums.
func (s *search) coversAll(f Sum) bool {
	covered := slices.Clone(f.Parts)
	for i := 0; i < len(covered); i++ {
		if at := slices.IndexFunc(s.found, func(o Sum) bool { return o.Stage == covered[i] }); at >= 0 && len(covered) < mostStages*mostStages {
			covered = append(covered, s.found[at].Parts...)
		}
	}
	return !slices.ContainsFunc(s.leaves(f.Stage), func(stage int) bool { return !slices.Contains(covered, stage) })
}
