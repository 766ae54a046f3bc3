package tables

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/diagnose/crosscheck"
	"github.com/sfstat/sfstat/engine/frontier/labels"
	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/eval/campaign"
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
		t.Notes = []string{"Not made: needs what profilers recorded of the same runs, in sources/ of the campaign's folder."}
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
	t.Notes = []string{"Candidates and shares by the paper's cut, of the steps and ranks that all recorders of a run have; stages of profilers are taken on the host. " +
		"Artifacts are what a run left as stored, medians of runs; × sfstat is against what its recorder wrote of the same runs. " +
		"Overhead and post-processing (from the traces of a run to its stages, processor time) are medians of runs, as " + campaign.SourcesName + "/" + costsName + " has them, and for overhead the least and the most; a dash: not measured."}
	families, ranks := hiddenIn(runs)
	if slices.Contains(families, simulate.ForwardHost) && !slices.Contains(families, simulate.ForwardDevice) {
		t.Notes = append(t.Notes, "The paper's third family, fwd_cuda_compute, delays the device. Here forward_host, a delay of the host in the same stage, stands for it.")
	}
	t.Notes = append(t.Notes, fmt.Sprintf("Jobs of %s ranks here, of 32 on GPUs in the paper.", ranks))
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
				return fmt.Sprintf("Both are below the tie tolerance of %s, so sources have the same candidates.", fixed(tie))
			}
		}
		_, ranks := hiddenIn(runs)
		return fmt.Sprintf("Jobs of %s ranks here, of 32 on GPUs in the paper, whose traces have a record for each kernel.", ranks)
	}
}

// widerSources explains candidate sets of more than two stages of one source.
func widerSources(runs []comparedRun, name string) string {
	var families []string
	var two mean
	wide, all := 0, 0
	for _, r := range runs {
		at := slices.IndexFunc(r.Comparison.Accounts, func(a crosscheck.Account) bool { return a.Name == name })
		if at < 0 || r.Case == nil || len(r.Case.Hidden) == 0 {
			continue
		}
		all++
		a := &r.Comparison.Accounts[at]
		if len(a.Routing) <= 2 {
			continue
		}
		wide++
		sum := twoOf(a.Share)
		two.add(&sum)
		if family := r.Case.Family.String(); !slices.Contains(families, family) {
			families = append(families, family)
		}
	}
	if wide == 0 {
		return ""
	}
	return fmt.Sprintf("Sets of more than two stages: %s, of %s. There the two largest shares together are %v on average.", table.OutOf(wide, all), strings.Join(families, ", "), &two)
}

// toolsOfPaper are the sources of the paper's table, and how what is missing is
// had.
var toolsOfPaper = []struct{ name, how string }{
	{"pytorch", "PyTorch's profiler did not look at these runs: a group with profiler: pytorch has it do so."},
	{"hta", "HTA did not read these traces: pip install HolisticTraceAnalysis, then python3 bench/reference/sources.py FOLDER."},
	{"nsight", "Nsight Systems did not look at these runs: a group with profiler: nsight has it do so."},
}

// unseen says of tools of the paper's table that are not among the sources how
// they are had.
func unseen(all []source) []string {
	var out []string
	for _, tool := range toolsOfPaper {
		if !slices.ContainsFunc(all, func(s source) bool { return s.Name == tool.name }) {
			out = append(out, tool.how)
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
