package campaign

import (
	"slices"
	"strconv"

	"github.com/sfstat/sfstat/eval/crosscheck"
)

// Source is what one recorder makes of the runs of the paper's Table 6: sfstat's
// own, or a profiler whose traces of the same runs were reduced to stages.
type Source struct {
	Name      string
	Runs      int
	Found, Of int     // of the runs whose fault is known: where the delayed stage is a candidate
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

// publishedSources is the paper's Table 6.
var publishedSources = [][]string{
	{"paper: StageFrontier", "12", "12/12", none, "0.11 MB", "1", none, none},
	{"paper: PyTorch Profiler, HTA", "12", "12/12", none, "15.81 GB", "144000", "0.039", none},
	{"paper: Nsight", "12", "12/12", none, "1.22 GB", "11100", "0.024", none},
}

// SourceTable has the shape of the paper's Table 6. Without runs that were
// compared it has no rows, and says so.
func SourceTable(runs []Recorded) Table {
	t := Table{Title: "Sources compared on the same runs",
		Head: []string{"source", "runs", "candidate hit", "routing agrees", "artifacts", "× sfstat", "largest share difference", "in stage"}}
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
		t.Rows = append(t.Rows, []string{s.Name, strconv.Itoa(s.Runs), hits(&s), agrees, storage(s.Artifacts), times(s.Artifacts, beside(runs, s.Name)), share, stage})
	}
	t.Rows = append(t.Rows, publishedSources...)
	t.Notes = []string{"Candidates and shares by the paper's cut, of the steps and ranks that all recorders of a run have; stages of profilers are taken on the host. " +
		"Artifacts are files as stored, of all runs; × sfstat is against what its recorder wrote of the same runs."}
	return t
}

// hits is in how many of the runs whose fault is known its stage is a candidate.
func hits(s *Source) string {
	if s.Of == 0 {
		return none
	}
	return of(s.Found, s.Of)
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
			out[i].add(r.Case, &a)
		}
	}
	return out
}

// add counts what a recorder tells of one run.
func (s *Source) add(c *Case, a *crosscheck.Account) {
	s.Runs++
	s.Artifacts += a.Bytes
	if c != nil && len(c.Hidden) > 0 {
		s.Of++
		count(&s.Found, slices.ContainsFunc(a.Routing, c.seeded))
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
