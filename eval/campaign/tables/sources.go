package tables

import (
	"slices"
	"strconv"

	"github.com/sfstat/sfstat/diagnose/crosscheck"
	"github.com/sfstat/sfstat/engine/frontier/labels"
	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/internal/table"
)

// source is what one recorder makes of the runs of the paper's Table 6: sfstat's
// own, or a profiler whose traces of the same runs were reduced to stages.
type source struct {
	Name      string
	Runs      int
	tally               // of the runs whose fault is known
	Same      int       // runs in which its candidates are those of sfstat
	Artifacts []float64 // bytes that it left behind, by run
	own       []float64 // bytes of sfstat's recorder, of the same runs
	Share     float64   // largest difference of a stage's share from sfstat's own
	Stage     string    // of that difference
}

// comparedRun is one run that several recorders saw, sfstat's own first.
type comparedRun struct {
	Run        string
	Case       *runCase // nil: what it hides is not known
	Comparison *crosscheck.Comparison
}

// tableOfSources has the shape of the paper's Table 6. Without runs that were
// compared it has no rows, and says so. costs are by source.
func tableOfSources(runs []comparedRun, costs map[string]*costs) *table.Table {
	t := &table.Table{Title: "Sources compared on the same runs",
		Columns: slices.Concat(table.Words("source"), table.Heads(table.Integer, "runs"), tallyColumns(), table.Heads(table.Part, "routing agrees"),
			table.Words("artifact", "× sfstat", "largest share difference", "in stage", "no-fault overhead", "post-processing"))}
	if len(runs) == 0 {
		t.Notes = []string{says("no sources")}
		return beside(t, sourceArtifact)
	}
	all := sourcesOf(runs, costs)
	for i, s := range all {
		agrees, share, stage, seconds := table.None(), none, none, "none"
		if i > 0 {
			agrees, share, stage = table.PartCell(s.Same, s.Runs), table.Decimals(s.Share, 4), s.Stage
			seconds = costs[s.Name].seconds()
		}
		t.Add(slices.Concat([]table.Cell{table.TextCell(s.Name), table.WholeCell(s.Runs)}, s.found(), []table.Cell{agrees},
			table.Texts(s.size()...), table.Texts(share, stage, costs[s.Name].overhead(), seconds))...)
	}
	t.Notes = []string{says("sources")}
	families, ranks := hiddenIn(runs)
	if slices.Contains(families, simulate.ForwardHost) && !slices.Contains(families, simulate.ForwardDevice) {
		t.Notes = append(t.Notes, says("third family"))
	}
	t.Notes = append(t.Notes, says("sizes of sources", ranks))
	t.Notes = append(t.Notes, unseen(all)...)
	return beside(t, sourceArtifact)
}

// hiddenIn are the families and sizes of the runs whose fault is known.
func hiddenIn(runs []comparedRun) (families []simulate.Family, ranks string) {
	var sizes []string
	for _, r := range runs {
		if r.Case == nil || len(r.Case.Hidden) == 0 {
			continue
		}
		if !slices.Contains(families, r.Case.Family) {
			families = append(families, r.Case.Family)
		}
		if n := strconv.Itoa(r.Case.Ranks); !slices.Contains(sizes, n) {
			sizes = append(sizes, n)
		}
	}
	return families, listed(sizes)
}

// sourceReason is about Table 6.
func sourceReason(runs []comparedRun, g *gates.Gates) func(*cell) string {
	return func(c *cell) string {
		switch c.Column {
		case "mean candidates", "max":
			return widerSources(runs, c.Row)
		case "largest share difference":
			tie := g.OrDefault().TieTolerance
			if ours, err := strconv.ParseFloat(c.Ours, 64); err == nil && ours < tie {
				return says("tie", fixed(tie))
			}
		}
		_, ranks := hiddenIn(runs)
		return says("artifacts", ranks)
	}
}

// widerSources explains candidate sets of more than two stages of one source.
func widerSources(runs []comparedRun, name string) string {
	var sets wideSets
	for _, r := range runs {
		at := slices.IndexFunc(r.Comparison.Accounts, func(a crosscheck.Account) bool { return a.Name == name })
		if at >= 0 && r.Case != nil && len(r.Case.Hidden) > 0 {
			a := &r.Comparison.Accounts[at]
			sets.add(len(a.Routing), a.Share, r.Case.Family)
		}
	}
	return sets.explained("wide sources")
}

// unseen says of tools of the paper's table that are not among the sources how they are had.
func unseen(all []source) []string {
	var out []string
	for _, tool := range []string{"pytorch", "hta", "nsight"} {
		if !slices.ContainsFunc(all, func(s source) bool { return s.Name == tool }) {
			out = append(out, says("without "+tool))
		}
	}
	return out
}

// found are the counts of the runs whose fault is known.
func (s *source) found() []table.Cell {
	if s.Windows == 0 {
		return table.Texts(none, none, none, none, none)
	}
	return s.tally.cells()
}

// sourcesOf adds the runs up by recorder, in order of first appearance. Runs
// without a fault are there for what profiling costs, and not counted.
func sourcesOf(runs []comparedRun, costs map[string]*costs) []source {
	var out []source
	for _, r := range runs {
		if r.Case != nil && len(r.Case.Hidden) == 0 {
			continue
		}
		for _, a := range r.Comparison.Accounts {
			i := slices.IndexFunc(out, func(s source) bool { return s.Name == a.Name })
			if i < 0 {
				i = len(out)
				out = append(out, source{Name: a.Name, Stage: none})
			}
			out[i].Artifacts = append(out[i].Artifacts, costs[a.Name].bytes(r.Run, a.Bytes))
			own := &r.Comparison.Accounts[0]
			out[i].own = append(out[i].own, costs[own.Name].bytes(r.Run, own.Bytes))
			out[i].add(&r, &a)
		}
	}
	return out
}

// bytes are those that a source wrote of a run; of files that no table tells of, what lies there.
func (c *costs) bytes(run string, stored int64) float64 {
	if c != nil {
		if n, ok := c.Bytes[run]; ok {
			return float64(n)
		}
	}
	return float64(stored)
}

// add counts what a recorder tells of one run.
func (s *source) add(r *comparedRun, a *crosscheck.Account) {
	s.Runs++
	if c := r.Case; c != nil {
		seeded := make([]bool, len(a.Share))
		for i := range seeded {
			seeded[i] = c.seeded(r.Comparison.Stages[i])
		}
		s.tally.add(routing{Place: place(seeded, labels.Rank(a.Share)), Hit: slices.ContainsFunc(a.Routing, c.seeded), Candidates: len(a.Routing)})
	}
	if a.Held == nil {
		return
	}
	count(&s.Same, a.Held.SameRouting)
	if a.Held.Difference > s.Share {
		s.Share, s.Stage = a.Held.Difference, a.Held.Stage
	}
}

// size are the bytes of a run, and how many times those of sfstat's recorder
// they are.
func (s *source) size() []string {
	bytes := robust.Median(slices.Clone(s.Artifacts))
	return []string{storage(bytes), times(bytes, robust.Median(slices.Clone(s.own)))}
}

// times is how many times as many bytes a source left.
func times(bytes, of float64) string {
	if of <= 0 {
		return none
	}
	return strconv.FormatFloat(bytes/of, 'g', 3, 64)
}

// storage writes bytes for a person.
func storage(n float64) string {
	v, unit := n/1000, 0
	for ; v >= 1000 && unit < 2; unit++ {
		v /= 1000
	}
	return strconv.FormatFloat(v, 'f', 2, 64) + " " + [...]string{"kB", "MB", "GB"}[unit]
}
