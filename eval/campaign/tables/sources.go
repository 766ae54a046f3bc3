package tables

import (
	"slices"
	"strconv"

	"github.com/sfstat/sfstat/diagnose/crosscheck"
	"github.com/sfstat/sfstat/engine/frontier/labels"
	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/internal/table"
)

// comparedRun is one run that several recorders saw, sfstat's own first.
type comparedRun struct {
	Run        string
	Case       *runCase // nil: what it hides is not known
	Comparison *crosscheck.Comparison
}

// source is what one recorder makes of the runs of the paper's Table 6: sfstat's
// own, or a profiler whose traces of the same runs were reduced to stages. Its row is
// about the runs whose fault is known, a window for each.
type source struct {
	row
	seen  []*crosscheck.Account // of each run
	bytes []float64             // that it left behind, by run
	own   []float64             // bytes of sfstat's recorder, of the same runs
	costs *costs
}

// sourcesOf adds the runs up by recorder, in order of first appearance, the first of which
// is sfstat's. Runs without a fault are there for what profiling costs, and not counted.
// costs are by source.
func sourcesOf(runs []comparedRun, costs map[string]*costs) []*source {
	var out []*source
	for i := range runs {
		r := &runs[i]
		if r.Case != nil && r.Case.healthy() {
			continue
		}
		own := &r.Comparison.Accounts[0]
		for k := range r.Comparison.Accounts {
			a := &r.Comparison.Accounts[k]
			at := slices.IndexFunc(out, func(s *source) bool { return s.names[0] == a.Name })
			if at < 0 {
				at = len(out)
				out = append(out, &source{row: row{names: []string{a.Name}, Score: &Score{}}, costs: costs[a.Name]})
			}
			s := out[at]
			s.seen = append(s.seen, a)
			s.bytes = append(s.bytes, s.costs.bytes(r.Run, a.Bytes))
			s.own = append(s.own, costs[own.Name].bytes(r.Run, own.Bytes))
			if r.Case != nil {
				s.Runs = append(s.Runs, r.score(a))
			}
		}
	}
	return out
}

// score returns how an account of the run answers for its fault.
func (r *comparedRun) score(a *crosscheck.Account) *scoredRun {
	seeded := make([]bool, len(a.Share))
	for i := range seeded {
		seeded[i] = r.Case.isSeeded(r.Comparison.Stages[i])
	}
	found := routing{Place: place(seeded, labels.Rank(a.Share)), Hit: slices.ContainsFunc(a.Routing, r.Case.isSeeded), Candidates: len(a.Routing)}
	return &scoredRun{runCase: *r.Case, Windows: []scoredWindow{{Fault: true, Routing: found, shares: a.Share, seeded: seeded}}}
}

// tableOfSources returns a table in the shape of the paper's Table 6. Without runs that were compared it has no rows, and says
// so.
func tableOfSources(all []*source) *table.Table {
	var rows []row
	of := make(map[string]*source)
	for _, s := range all {
		rows = append(rows, s.row)
		of[s.names[0]] = s
	}
	other := func(r *row) bool { return of[r.names[0]] != all[0] }
	words := func(head string, say func(*source) string) measure {
		return text(head, func(r *row) string { return say(of[r.names[0]]) })
	}
	columns := []measure{wholeNumber("runs", func(r *row) int { return len(of[r.names[0]].seen) })}
	for _, c := range inAll {
		columns = append(columns, c.limitTo(func(r *row) bool { return len(r.Runs) > 0 }))
	}
	t := tabulate("Sources compared on the same runs", []string{"source"}, rows, append(columns,
		measure{"routing agrees", table.Part, func(r *row) table.Cell { return table.PartCell(of[r.names[0]].agrees()) }}.limitTo(other),
		words("artifact", func(s *source) string { return storage(describe(s.bytes).Median) }),
		words("× sfstat", (*source).times),
		words("largest share difference", func(s *source) string { return table.Decimals(s.worst().Difference, 4) }).limitTo(other),
		words("in stage", func(s *source) string { return s.worst().Stage }).limitTo(other),
		words("no-fault overhead", func(s *source) string { return s.costs.overhead() }),
		words("post-processing", func(s *source) string {
			if s == all[0] {
				return "none"
			}
			return s.costs.seconds()
		}))...)
	if len(all) == 0 {
		t.Notes = []string{countSentence("no sources")}
		return addPublished(t, sourceArtifact)
	}
	t.Notes = []string{countSentence("sources")}
	if own := all[0]; len(own.runsOfFamily(simulate.ForwardHost).Runs) > 0 && len(own.runsOfFamily(simulate.ForwardDevice).Runs) == 0 {
		t.Notes = append(t.Notes, countSentence("third family"))
	}
	t.Notes = append(t.Notes, countSentence("sizes of sources", all[0].sizes()))
	for _, tool := range []string{"pytorch", "hta", "nsight"} {
		if of[tool] == nil {
			t.Notes = append(t.Notes, countSentence("without "+tool))
		}
	}
	return addPublished(t, sourceArtifact)
}

// sizes returns the sizes of the runs whose fault is known.
func (s *source) sizes() string {
	return joinNames(s.distinct(func(r *scoredRun) string { return strconv.Itoa(r.Ranks) }))
}

// sourceReason returns the reason for differences in Table 6.
func sourceReason(all []*source, g *gates.Gates) func(*Cell) string {
	return func(c *Cell) string {
		switch c.Column {
		case "mean candidates", "max":
			at := slices.IndexFunc(all, func(s *source) bool { return s.names[0] == c.Row })
			return all[at].wideSets("wide sources")
		case "largest share difference":
			tie := g.OrDefault().TieTolerance
			if ours, err := strconv.ParseFloat(c.Ours, 64); err == nil && ours < tie {
				return countSentence("tie", twoDecimals(tie))
			}
		}
		return countSentence("artifacts", all[0].sizes())
	}
}

// bytes returns the bytes that a source wrote of a run; without a table of sizes, the sizes of its files.
func (c *costs) bytes(run string, stored int64) float64 {
	if c != nil {
		if n, ok := c.Bytes[run]; ok {
			return float64(n)
		}
	}
	return float64(stored)
}

// agrees returns in how many runs the source has the candidates of sfstat's, and of how many.
func (s *source) agrees() (k, n int) {
	for _, a := range s.seen {
		count(&k, a.Held.SameRouting)
	}
	return k, len(s.seen)
}

// worst returns the account whose share is farthest from sfstat's.
func (s *source) worst() crosscheck.Held {
	worst := crosscheck.Held{Stage: none}
	for _, a := range s.seen {
		if a.Held.Difference > worst.Difference {
			worst = *a.Held
		}
	}
	return worst
}

// times returns how many times as many bytes a source wrote as sfstat's recorder.
func (s *source) times() string {
	bytes, own := describe(s.bytes).Median, describe(s.own).Median
	if !(own > 0) {
		return none
	}
	return strconv.FormatFloat(bytes/own, 'g', 3, 64)
}

// storage writes bytes for a person.
func storage(n float64) string {
	v, unit := n/1000, 0
	for ; v >= 1000 && unit < 2; unit++ {
		v /= 1000
	}
	return strconv.FormatFloat(v, 'f', 2, 64) + " " + [...]string{"kB", "MB", "GB"}[unit]
}
