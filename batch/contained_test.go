package batch

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/batch/findings"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/trace"
)

// TestEnginePanics: a run on which an engine panics is referred, with the stack, and has no rows.
// The others have theirs.
func TestEnginePanics(t *testing.T) {
	var runs []string
	var problems []Problem
	j := &judge{bounds: ofWindows, of: &copies{}, tell: func(int) {},
		emit:  func(r findings.Row) error { runs = append(runs, r.Run); return nil },
		refer: func(p Problem) error { problems = append(problems, p); return nil }}
	for _, name := range []string{"a", "broken", "c", "broken"} {
		g, err := simulate.New(job(name, 1, 2))
		must(t, err)
		w, err := g.Next()
		must(t, err)
		if name == "broken" {
			w.Wall = w.Wall[:1]
		}
		must(t, j.add(trace.Recording(w), findings.Where{Folder: "runs", File: name + ".jsonl"}, ""))
	}
	must(t, j.finish(0))
	if len(runs) < 2 || runs[0] != "a" || runs[len(runs)-1] != "c" || strings.Contains(strings.Join(runs, " "), "broken") {
		t.Errorf("rows of %q, expected some of a and c", runs)
	}
	expectBug(t, problems, filepath.Join("runs", "broken.jsonl"), "run broken: ")
}

// TestUnitPanics: what panics elsewhere is an error of the files that are read together.
func TestUnitPanics(t *testing.T) {
	dir := t.TempDir()
	record(t, filepath.Join(dir, "a.jsonl"), job("a", 1, 2))
	var problems []Problem
	rows := 0
	j := &judge{of: &copies{}, tell: func(int) { panic("boom") },
		emit:  func(findings.Row) error { rows++; return nil },
		refer: func(p Problem) error { problems = append(problems, p); return nil }}
	path := filepath.Join(dir, "a.jsonl")
	must(t, j.unit(t.Context(), unit{files: []file{stat(path)}}))
	if rows == 0 {
		t.Error("no rows of what was read before")
	}
	expectBug(t, problems, path, "")
}

func expectBug(t *testing.T, all []Problem, path, which string) {
	t.Helper()
	if len(all) != 1 || all[0].Path != path || !strings.HasPrefix(all[0].Error, which+"this is a bug in sfstat, please report it: ") || !strings.Contains(all[0].Bug, "goroutine") {
		t.Errorf("problems %q, expected one, %s: %sthis is a bug in sfstat …", all, path, which)
	}
}
