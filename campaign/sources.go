package campaign

import (
	"fmt"
	"strconv"
)

// Source is what one tool makes of the runs of the paper's Table 6: sfstat
// itself, or a profiler whose traces of the same runs were reduced to stages.
type Source struct {
	Name      string
	Found, Of int     // runs in which the seeded stage is a candidate
	Artifacts int64   // bytes that it leaves behind, of all runs
	Share     float64 // largest difference of a stage's share from sfstat's own
}

// publishedSources is the paper's Table 6.
var publishedSources = [][]string{
	{"paper: StageFrontier", "12/12", "0.11 MB", none},
	{"paper: PyTorch Profiler, HTA", "12/12", "15.81 GB", "0.039"},
	{"paper: Nsight", "12/12", "1.22 GB", "0.024"},
}

// SourceTable has the shape of the paper's Table 6. Without sources that were
// compared it has no rows, and says so.
func SourceTable(sources []Source) Table {
	t := Table{Title: "Sources compared on the same runs", Head: []string{"source", "candidate hit", "artifacts", "largest share difference"}}
	if len(sources) == 0 {
		t.Notes = []string{"Not made: needs profiler traces of the same runs."}
		return t
	}
	for _, s := range sources {
		t.Rows = append(t.Rows, []string{s.Name, of(s.Found, s.Of), fmt.Sprintf("%.2f MB", float64(s.Artifacts)/1e6), strconv.FormatFloat(s.Share, 'f', 3, 64)})
	}
	t.Rows = append(t.Rows, publishedSources...)
	return t
}
