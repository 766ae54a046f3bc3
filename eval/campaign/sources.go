package campaign

import (
	"slices"
	"strconv"

	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/eval/crosscheck"
)

// Source is what one recorder makes of the runs of the paper's Table 6: sfstat's
// own, or a profiler whose traces of the same runs were reduced to stages.
type Source struct {
	Name      string
	Runs      int
	Tally             // of the runs whose fault is known
	Same      int     // runs in which its candidates are those of sfstat
	Artifacts int64   // bytes that it left behind, of all runs
	Share     float64 // largest difference of a stage's share from sfstat's own
	Stage     string  // of that difference
}

// Recorded is one run that several recorders saw, sfstat's own first.
type Recorded struct {
	Case       *Case // nil: what it hides is not known
	Comparison *crosscheck.Comparison
}

// publishedSources is the paper's Table 6. HTA reads the traces of PyTorch's
// profiler.
var publishedSources = [][]string{
	{"paper: StageFrontier", "12", "12/12", "12/12", "12/12", "2.00", "2", none, "0.11 MB", "1", none, none, "within noise", none},
	{"paper: PyTorch Profiler, HTA", "12", "12/12", "12/12", "12/12", "2.25", "3", none, "15.81 GB", "144000", "0.039", none, "36.6 %", "43.5 s"},
	{"paper: Nsight", "12", "12/12", "12/12", "12/12", "2.00", "2", none, "1.22 GB", "11100", "0.024", none, "50.3 %", "2.59 s"},
}

// SourceTable has the shape of the paper's Table 6. Without runs that were
// compared it has no rows, and says so.
func SourceTable(runs []Recorded) Table {
	t := Table{Title: "Sources compared on the same runs",
		Head: []string{"source", "runs", "top-1", "top-2", "candidate hit", "mean candidates", "max", "routing agrees", "artifacts", "× sfstat", "largest share difference", "in stage",
			"no-fault overhead", "post-processing"}}
	if len(runs) == 0 {
		t.Notes = []string{"Not made: needs what profilers recorded of the same runs, in sources/ of the campaign's folder."}
		return t
	}
	all := sourcesOf(runs)
	for i, s := range all {
		agrees, share, stage := none, none, none
		if i > 0 {
			agrees, share, stage = of(s.Same, s.Runs), strconv.FormatFloat(s.Share, 'f', 4, 64), s.Stage
		}
		t.Rows = append(t.Rows, append(append([]string{s.Name, strconv.Itoa(s.Runs)}, s.found()...), agrees, storage(s.Artifacts), times(s.Artifacts, beside(runs, s.Name)), share, stage, none, none))
	}
	t.Rows = append(t.Rows, publishedSources...)
	t.Notes = []string{"Candidates and shares by the paper's cut, of the steps and ranks that all recorders of a run have; stages of profilers are taken on the host. " +
		"Artifacts are files as stored, of all runs; × sfstat is against what its recorder wrote of the same runs. " +
		"What profiling costs and how long traces take to read follows from no file: sfstat overhead and the time of sfstat compare-sources say so for a machine."}
	return t
}

// found are the counts of the runs whose fault is known, as words.
func (s *Source) found() []string {
	if s.Windows == 0 {
		return []string{none, none, none, none, none}
	}
	return s.Tally.cells()
}

// sourcesOf adds the runs up by recorder, in order of first appearance.
func sourcesOf(runs []Recorded) []Source {
	var out []Source
	for _, r := range runs {
		for _, a := range r.Comparison.Accounts {
			i := slices.IndexFunc(out, func(s Source) bool { return s.Name == a.Name })
			if i < 0 {
				i = len(out)
				out = append(out, Source{Name: a.Name, Stage: none})
			}
			out[i].add(&r, &a)
		}
	}
	return out
}

// add counts what a recorder tells of one run.
func (s *Source) add(r *Recorded, a *crosscheck.Account) {
	s.Runs++
	s.Artifacts += a.Bytes
	if c := r.Case; c != nil && len(c.Hidden) > 0 {
		seeded := make([]bool, len(a.Share))
		for i := range seeded {
			seeded[i] = c.seeded(r.Comparison.Stages[i])
		}
		s.Tally.add(Routing{Place: place(seeded, frontier.Ranking(a.Share)), Hit: slices.ContainsFunc(a.Routing, c.seeded), Candidates: len(a.Routing)})
	}
	if a.Held == nil {
		return
	}
	count(&s.Same, a.Held.SameRouting)
	if a.Held.Difference > s.Share {
		s.Share, s.Stage = a.Held.Difference, a.Held.Stage
	}
}

// beside is how many bytes sfstat's recorder left of the runs that a source has.
func beside(runs []Recorded, name string) int64 {
	sum := int64(0)
	for _, r := range runs {
		if slices.ContainsFunc(r.Comparison.Accounts, func(a crosscheck.Account) bool { return a.Name == name }) {
			sum += r.Comparison.Accounts[0].Bytes
		}
	}
	return sum
}

// times is how many times as many bytes a source left.
func times(bytes, of int64) string {
	if of <= 0 {
		return none
	}
	return strconv.FormatFloat(float64(bytes)/float64(of), 'g', 3, 64)
}

// storage writes bytes for a person.
func storage(n int64) string {
	v, unit := float64(n)/1000, 0
	for ; v >= 1000 && unit < 2; unit++ {
		v /= 1000
	}
	return strconv.FormatFloat(v, 'f', 2, 64) + " " + [...]string{"kB", "MB", "GB"}[unit]
}
