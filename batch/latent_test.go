package batch

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/batch/findings"
	"github.com/sfstat/sfstat/eval/simulate"
)

// TestLatent: of five healthy runs and one with a rank that is 3 ms late in steps of 218 ms, which is too little for a finding,
// that rank is listed, with its chance over all six; the rows say so, and come to the same again, also those of a table that
// has no such columns yet: it shows nobody.
func TestLatent(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	for i := range 6 {
		spec := job(fmt.Sprintf("job-%d", i), uint64(i), -1)
		spec.Schedule.Steps = 40
		if i == 4 {
			spec.Faults = []simulate.Fault{{Family: simulate.Data, Delay: 3, Ranks: []int{3}}}
		}
		record(t, filepath.Join(dir, spec.Run+".parquet"), spec)
	}
	path := filepath.Join(out, "a.csv")
	check := func(s *findings.Summary, want int) {
		t.Helper()
		got, tested := s.Latent()
		if len(got) != want || want == 1 && (tested != 6 || got[0].Run.Name != "job-4" || got[0].Rank != 3 || got[0].Stage != simulate.StageData || !got[0].Passes() || got[0].Q != min(1, 6*got[0].P)) {
			t.Errorf("%d of %d runs: %+v", len(got), tested, got)
		}
	}
	check(run(t, dir, Options{Output: Output{Path: path}}), 1)
	again, err := Gather([]string{path}, Options{})
	must(t, err)
	check(again, 1)

	f, err := os.Open(path)
	must(t, err)
	rows, err := csv.NewReader(f).ReadAll()
	must(t, err)
	first := slices.Index(rows[0], "latent_rank")
	old := filepath.Join(out, "old.csv")
	to, err := os.Create(old)
	must(t, err)
	w := csv.NewWriter(to)
	for _, row := range rows {
		must(t, w.Write(row[:first]))
	}
	w.Flush()
	must(t, to.Close())
	again, err = Gather([]string{old}, Options{})
	must(t, err)
	check(again, 0)
}
