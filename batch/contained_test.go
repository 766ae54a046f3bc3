package batch

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/batch/findings"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/trace"
)

// TestEnginePanics: a run on which an engine panics is referred, with the stack, and has no rows.
// The others have theirs.
func TestEnginePanics(t *testing.T) {
	var got collected
	j := &judge{bounds: ofWindows, of: &copies{}, tell: func(int) {}, found: got.take}
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
	if !slices.Equal(got.runs, []string{"a", "c"}) {
		t.Errorf("rows of %q, expected one of a and one of c", got.runs)
	}
	expectBug(t, got.problems, filepath.Join("runs", "broken.jsonl"), "run broken: ")
}

// TestUnitPanics: what panics elsewhere is an error of the files that are read together.
func TestUnitPanics(t *testing.T) {
	dir := t.TempDir()
	record(t, filepath.Join(dir, "a.jsonl"), job("a", 1, 2))
	var got collected
	j := &judge{of: &copies{}, tell: func(int) { panic("boom") }, found: got.take}
	path := filepath.Join(dir, "a.jsonl")
	must(t, j.unit(t.Context(), unit{files: []file{stat(path)}}))
	if len(got.runs) == 0 {
		t.Error("no rows of what was read before")
	}
	expectBug(t, got.problems, path, "")
}

// collected is what a judge found.
type collected struct {
	runs     []string
	problems []findings.Refused
}

func (c *collected) take(r entry) error {
	if r.Row != nil {
		c.runs = append(c.runs, r.Row.Run)
	}
	if r.Refused != nil {
		c.problems = append(c.problems, *r.Refused)
	}
	return nil
}

func expectBug(t *testing.T, all []findings.Refused, path, which string) {
	t.Helper()
	if len(all) != 1 || all[0].Path != path || !strings.HasPrefix(all[0].Error, which+"this is a bug in sfstat, please report it: ") || !strings.Contains(all[0].Bug, "goroutine") {
		t.Errorf("problems %q, expected one, %s: %sthis is a bug in sfstat …", all, path, which)
	}
}
