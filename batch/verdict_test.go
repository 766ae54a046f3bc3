package batch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/batch/findings"
	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/internal/largedata"
)

// diagnosed is the rows of the verdict that sfstat diagnose gives on a folder.
func diagnosed(t *testing.T, dir string) (rows []string) {
	t.Helper()
	r, err := auto.Open([]string{dir}, auto.Options{Want: auto.ForVerdict})
	must(t, err)
	defer r.Close()
	s := diagnose.New(diagnose.Options{})
	for {
		item, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		must(t, err)
		for _, recorded := range item.Recordings() {
			must(t, s.Add(recorded))
		}
	}
	for _, v := range s.Verdict().Runs {
		for _, row := range findings.Of(findings.Where{}, &v, nil) {
			rows = append(rows, text(t, &row))
		}
	}
	slices.Sort(rows)
	return rows
}

// text is a row without its place and time.
func text(t *testing.T, row *findings.Row) string {
	row.Folder, row.File, row.Start = "", "", nil
	b, err := json.Marshal(row)
	must(t, err)
	return string(b)
}

// TestSameVerdict: whatever lies in a folder, the rows are those of the verdict that
// sfstat diagnose gives on it.
func TestSameVerdict(t *testing.T) {
	dirs := []string{}
	for _, name := range []string{"captured", "ddp", "flightrecorder/late", "flightrecorder/hang", "kineto/ddp4", "optrace", "recorder"} {
		dirs = append(dirs, filepath.Join("../fixtures", name))
	}
	apart := filepath.Join(t.TempDir(), "job") // windows and dumps in folders of their own
	must(t, os.CopyFS(filepath.Join(apart, "dumps"), os.DirFS("../fixtures/flightrecorder/late")))
	packets, err := filepath.Glob(filepath.Join(apart, "dumps", "*.jsonl*"))
	must(t, err)
	must(t, os.Mkdir(filepath.Join(apart, "packets"), 0o777))
	for _, p := range packets {
		must(t, os.Rename(p, filepath.Join(apart, "packets", filepath.Base(p))))
	}
	for _, dir := range append(dirs, apart) {
		t.Run(filepath.Base(dir), func(t *testing.T) { sameVerdict(t, dir) })
	}
}

func TestSameVerdictOfRealJobs(t *testing.T) {
	for _, name := range []string{"fr", "kineto/gloo8"} {
		jobs, err := os.ReadDir(largedata.Need(t, filepath.Join("data", name)))
		must(t, err)
		for _, job := range jobs {
			if job.IsDir() {
				t.Run(job.Name(), func(t *testing.T) {
					sameVerdict(t, filepath.Join(largedata.Need(t, filepath.Join("data", name)), job.Name()))
				})
			}
		}
	}
}

func sameVerdict(t *testing.T, dir string) {
	var got []string
	out := filepath.Join(t.TempDir(), "findings.jsonl")
	run(t, dir, Options{Output: Output{Path: out}})
	must(t, readFindings(out, func(row *findings.Row) error { got = append(got, text(t, row)); return nil }))
	slices.Sort(got)
	if diff := cmp.Diff(diagnosed(t, dir), got); diff != "" {
		t.Error(diff)
	}
}

// TestStretches: a run that is judged in stretches has the ranks, stages and windows to act
// on that it has as a whole: of a rank that is late once in all windows, and of one that
// is always late by little.
func TestStretches(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault simulate.Fault
	}{
		{"once", simulate.Fault{Family: simulate.Data, Delay: 120, Ranks: []int{1}, Windows: []int{71}}},
		{"always by little", simulate.Fault{Family: simulate.CallbackHost, Delay: 35, Ranks: []int{2}}},
		{"seven times a stretch", simulate.Fault{Family: simulate.Data, Delay: 3000, Ranks: []int{3}, Every: 27}},
		{"never", simulate.Fault{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := job("long", 7, -1)
			spec.Ranks, spec.Schedule.Windows, spec.Schedule.Steps = 4, 96, 12
			if c.fault.Delay > 0 {
				spec.Faults = []simulate.Fault{c.fault}
			}
			dir := t.TempDir()
			record(t, filepath.Join(dir, "long.parquet"), spec)
			stretches, whole := flagged(t, dir, 16), flagged(t, dir, 1<<14)
			if diff := cmp.Diff(whole, stretches); diff != "" {
				t.Errorf("as a whole (-) and in stretches (+):\n%s", diff)
			}
			if len(whole) == 0 != (c.fault.Delay == 0) {
				t.Errorf("%d windows have a finding to act on", len(whole))
			}
		})
	}
}

// flagged is the window, rank and stage of all rows to act on, where so many windows are judged
// at once.
func flagged(t *testing.T, dir string, windows int) (rows []string) {
	usual := ofWindows
	defer func() { ofWindows = usual }()
	ofWindows.windows = windows
	out := filepath.Join(t.TempDir(), "rows.csv")
	run(t, dir, Options{Output: Output{Path: out}})
	must(t, readFindings(out, func(r *findings.Row) error {
		if r.Flagged {
			rows = append(rows, fmt.Sprint(r.Window, " rank ", *r.Rank, " ", *r.Stage))
		}
		return nil
	}))
	return rows
}
