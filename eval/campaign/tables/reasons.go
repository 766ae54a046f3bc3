package tables

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/internal/table"
)

// What explains a difference from the published figures is computed from the windows that a
// table counts, so that it holds for them.

// reason returns the reason for differences in tables of runs of the campaign.
func (s *Score) reason(c *Cell) string {
	switch c.Artifact {
	case "table-4", "table-5", "table-15":
		part := s.countedBy(c.Artifact)
		if other := part.runDifferences(); other != "" {
			return other
		}
		return part.hiddenRankReason(c)
	case "table-14":
		for _, g := range s.countedBy(c.Artifact).groupBy(caseKeys...) {
			if strings.HasPrefix(c.Row+", ", joinNames(g.values(caseKeys))+", ") {
				own, other := g.rivals()
				return countSentence("case", own, other, twoDecimals(g.mean((*scoredWindow).twoLargest).value()))
			}
		}
	case "sharding": // the callbacks of E8
		own, other := s.publishedRuns("E8").runsOfFamily(simulate.CallbackSync).rivals()
		return countSentence("sharding", own, other)
	case "scale": // data of 120 ms at 128 ranks
		part := s.publishedRuns("Scale").selectRuns(func(r *scoredRun) bool { return r.Family == simulate.Data && r.Ranks == 128 && r.Delay == 120 })
		step := part.mean(func(w *scoredWindow) *float64 { return new(w.pace.step.Median / 1e6) })
		own, _ := part.rivals()
		return countSentence("scale", step, own, twoDecimals(part.mean((*scoredWindow).twoLargest).value()))
	}
	return ""
}

// countedBy returns the runs that a table of the paper's counts.
func (s *Score) countedBy(artifact string) *Score {
	counts := tableNamed(artifact).counts
	return s.selectRuns(func(r *scoredRun) bool { return r.task != nil && counts(r.task, r) }).timesAlone()
}

// hiddenRankRuns are the paper's rows of Tables 4 and 15: of each five seeds.
const hiddenRankRuns = "backward, backward_comm, data, forward_device, forward_host at 8, 32 ranks with 120 ms"

// runDifferences returns how runs differ from the paper's rows of Tables 4, 5 and 15, of which Table 5 counts two families; "" where
// they do not.
func (s *Score) runDifferences() string {
	values := func(k key) (out []string) {
		for _, g := range s.groupBy(k) {
			out = append(out, g.value(k))
		}
		return out
	}
	names := values(byFamily)
	slices.Sort(names)
	own := fmt.Sprintf("%s at %s ranks with %s ms", joinNames(names), joinNames(values(byRanks)), joinNames(values(byDelay)))
	if own == hiddenRankRuns || own == "forward_device, forward_host at 8, 32 ranks with 120 ms" {
		return ""
	}
	return countSentence("other runs", own, hiddenRankRuns)
}

// hiddenRankReason returns the reason for runs that are like the paper's in all that it describes.
func (s *Score) hiddenRankReason(c *Cell) string {
	n := slices.Index(methodNames(), c.Row)
	switch {
	case c.Artifact == "table-15":
		return countSentence("two largest", s.span(func(w *scoredWindow) float64 { return twoOf(w.shares) }))
	case c.Artifact == "table-4" && n > 0:
		return s.methodReason(c, n)
	}
	return s.widerSets()
}

// methodReason returns the reason for the n-th of the methods of Table 4, one of the simpler.
func (s *Score) methodReason(c *Cell, n int) string {
	divided := func(w *scoredWindow) division { return w.divided[n-1] }
	switch {
	case c.Column == "mean candidates" || c.Column == "max":
		reached := table.OutOf(s.tally(true, func(w *scoredWindow) bool { return divided(w).two >= s.Tau }))
		return countSentence("method sets", s.span(func(w *scoredWindow) float64 { return divided(w).two }), twoDecimals(s.Tau), reached)
	case c.Row == "spread":
		return countSentence("spread", table.OutOf(s.runsOfFamily(simulate.ForwardDevice).tally(true, func(w *scoredWindow) bool { return w.rankBy(n).Place == 2 })))
	case c.Row == "stage_max" && c.Column == "top-1":
		outside := s.selectRuns(func(r *scoredRun) bool { return r.Family != simulate.Backward && r.Family != simulate.BackwardComm })
		return countSentence("stage_max", outside.span(func(w *scoredWindow) float64 { return divided(w).behind }))
	}
	var missed []string // the rows whose stage is no candidate
	for _, g := range s.groupBy(byFamily) {
		if k, all := g.tally(true, func(w *scoredWindow) bool { return !w.rankBy(n).Hit }); k > 0 {
			missed = append(missed, table.OutOf(k, all)+" of "+g.value(byFamily))
		}
	}
	switch {
	case missed == nil:
		return ""
	case c.Row == "slowest_rank":
		return countSentence("slowest_rank", strings.Join(missed, ", "))
	}
	return countSentence("missed", strings.Join(missed, ", "))
}

// runsOfFamily returns the runs of a family.
func (s *Score) runsOfFamily(f simulate.Family) *Score {
	return s.selectRuns(func(r *scoredRun) bool { return r.Family == f })
}

// rivals returns the means, over the windows with a fault, of the seeded share and of the largest of a stage that hides
// nothing.
func (s *Score) rivals() (own, other mean) {
	own = s.mean(func(w *scoredWindow) *float64 { return w.Share })
	other = s.mean(func(w *scoredWindow) *float64 {
		rival := 0.0
		for i, share := range w.shares {
			if !w.seeded[i] {
				rival = max(rival, share)
			}
		}
		return &rival
	})
	return own, other
}

// twoOf returns the sum of the two largest.
func twoOf(shares []float64) (sum float64) {
	d := slices.Clone(shares)
	slices.SortFunc(d, func(a, b float64) int { return cmp.Compare(b, a) })
	for _, x := range d[:min(2, len(d))] {
		sum += x
	}
	return sum
}

// span returns the range of a value over the windows with a fault.
func (s *Score) span(value func(*scoredWindow) float64) string {
	low, high := math.Inf(1), math.Inf(-1)
	s.faulty(func(w *scoredWindow) { low, high = min(low, value(w)), max(high, value(w)) })
	if low > high {
		return none
	}
	return twoDecimals(low) + " to " + twoDecimals(high)
}

// widerSets explains candidate sets of more than two stages, which the paper's
// Table 4 does not have at its τ.
func (s *Score) widerSets() string { return s.wideSets("wide sets", twoDecimals(s.Tau)) }

// wideSets returns a sentence about wide candidate sets, "" where there are none.
func (s *Score) wideSets(sentence string, more ...any) string {
	wide := func(w *scoredWindow) bool { return w.Routing.Candidates > 2 }
	k, n := s.tally(true, wide)
	if k == 0 {
		return ""
	}
	two := s.mean(func(w *scoredWindow) *float64 {
		if !wide(w) {
			return nil
		}
		return new(twoOf(w.shares))
	})
	of := s.selectRuns(func(r *scoredRun) bool {
		return slices.ContainsFunc(r.Windows, func(w scoredWindow) bool { return w.Fault && wide(&w) })
	})
	families := of.distinct(func(r *scoredRun) string { return r.family() })
	return countSentence(sentence, append([]any{table.OutOf(k, n), joinNames(families), two}, more...)...)
}

// explainRanks explains the groups whose seeded stage is first more or less often
// than the paper's: by its share and the largest of the others.
func explainRanks(rows []row) []string {
	published := published().Tables["table-14"]
	var out []string
	for i := range rows {
		r := &rows[i]
		twin := published.row(r.publishedName())
		if twin == nil {
			continue
		}
		k, n, known := fraction(twin[0])
		if first, all := r.tally(true, func(w *scoredWindow) bool { return w.Routing.Top(1) }); known && all > 0 && first*n != k*all {
			own, other := r.rivals()
			out = append(out, countSentence("other first", joinNames(r.names), table.OutOf(first, all), twin[0], own, other))
		}
	}
	return out
}
