package batch

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/batch/findings"
	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/internal/disk"
	"github.com/sfstat/sfstat/internal/largedata"
)

// diagnosed is the rows of the verdict that sfstat diagnose gives on a folder.
func diagnosed(t *testing.T, dir string) (rows []string) {
	t.Helper()
	r, err := auto.Open([]string{dir}, auto.Options{Joined: true})
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
		for _, row := range findings.Rows(findings.Where{}, &v, nil) {
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
	must(t, readFindings(disk.OS{}, out, func(row *findings.Row) error { got = append(got, text(t, row)); return nil }))
	slices.Sort(got)
	if diff := cmp.Diff(diagnosed(t, dir), got); diff != "" {
		t.Error(diff)
	}
}
