package tables

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/eval/campaign"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/internal/largedata"
)

// TestRealRuns scores recordings of real jobs with known faults.
func TestRealRuns(t *testing.T) {
	for _, r := range recorded(t, largedata.Need(t, "data/ddp"), ".jsonl").Runs {
		t.Run(r.Run, func(t *testing.T) { checkReal(t, r) })
	}
}

// TestRealEvaluation scores the whole evaluation on real processes: the delayed
// stage is always a candidate and among the first two, rank and stage are named
// where stage times can tell them, and nobody innocent is called.
func TestRealEvaluation(t *testing.T) {
	score := recorded(t, "../../../fixtures/real/e3", ".parquet")
	for what, holds := range map[string]func(*scoredWindow) bool{
		"among the first two": func(w *scoredWindow) bool { return w.Routing.Top(2) },
		"a candidate":         func(w *scoredWindow) bool { return w.Routing.Hit },
	} {
		if k, n := score.tally(true, holds); k != 25 || n != 25 {
			t.Errorf("%s in %d of %d windows, expected all of 25", what, k, n)
		}
	}
	for _, r := range score.Runs {
		inSync := r.Family == simulate.Backward || r.Family == simulate.BackwardComm
		if r.Verdict.Innocent > 0 || !r.Verdict.StageRight || r.Verdict.Named == inSync {
			t.Errorf("%s: %+v", r.Run, r.Verdict)
		}
	}
}

func TestRealWithoutFault(t *testing.T) {
	score := recorded(t, "../../../fixtures/real/nofault", ".parquet")
	if len(score.Runs) != 5 {
		t.Fatalf("%d runs, expected 5", len(score.Runs))
	}
	for _, r := range score.Runs {
		if len(r.Windows) != 4 {
			t.Errorf("%s: %d windows, expected 4", r.Run, len(r.Windows))
		}
		checkReal(t, r)
	}
}

// recorded scores all runs of the truth table in a folder, each a file of its
// name.
func recorded(t *testing.T, dir, extension string) *Score {
	t.Helper()
	path := filepath.Join(dir, "truth.csv")
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := simulate.ReadTruth(path, f)
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, r := range rows {
		files = append(files, filepath.Join(dir, r.Run+extension))
	}
	in, err := auto.Open(files, auto.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	s := New(rows, nil)
	for {
		item, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Add(item.Run(), item.Windows[0]); err != nil {
			t.Fatal(err)
		}
	}
	score := s.Score()
	if len(score.Runs) != len(rows) {
		t.Fatalf("%d runs are scored, the table has %d", len(score.Runs), len(rows))
	}
	return score
}

func checkReal(t *testing.T, r *scoredRun) {
	if r.Verdict.Innocent > 0 {
		t.Errorf("an innocent rank is called: %+v", r.Verdict)
	}
	for _, w := range r.Windows {
		if w.Telescoping != 0 || w.Automatic.Telescoping != 0 {
			t.Errorf("window %d: telescoping error of %d and %d ns", w.Window, w.Telescoping, w.Automatic.Telescoping)
		}
		if !w.Fault && (w.Strong || w.Automatic.Strong) {
			t.Errorf("window %d has no fault and a strong label", w.Window)
		}
	}
	w := r.Windows[len(r.Windows)/2] // of A/B/A, the B
	switch r.Family {
	case simulate.ForwardHost:
		if w.Methods[0].Top(1) || !w.Routing.Top(2) || !r.Verdict.Named {
			t.Errorf("per-stage maxima %+v, frontier %+v, %+v", w.Methods[0], w.Routing, r.Verdict)
		}
	case simulate.ForwardDevice:
		if w.Routing.Top(1) || !w.Routing.Top(2) {
			t.Errorf("frontier %+v, expected the second place", w.Routing)
		}
	case simulate.CallbackHost, simulate.OptimizerHost:
		if r.Intermittent {
			break
		}
		if w.Routing.Top(2) || w.Automatic.Place != 1 || !w.Automatic.LeaderRight || !r.Verdict.Named {
			t.Errorf("frontier %+v, automatic %+v, %+v", w.Routing, w.Automatic, r.Verdict)
		}
	case simulate.Backward, simulate.BackwardComm:
		if r.Verdict.Answer != rankUndecidable || !r.Verdict.StageRight {
			t.Errorf("all ranks look alike, and the verdict is: %+v", r.Verdict)
		}
	}
}

// TestRealSources: what three profilers' tools saw of real jobs is what the
// recorder saw, in each of the twelve with a fault, and the table has what they
// cost.
func TestRealSources(t *testing.T) {
	dir := t.TempDir()
	execute(t, dir, &campaign.Spec{Name: "c", Groups: []campaign.Group{{Name: "a", Families: []simulate.Family{simulate.NoFault}, Ranks: []int{2}, Seeds: []uint64{0}, Steps: 5}}})
	if err := os.CopyFS(filepath.Join(dir, campaign.SourcesName), os.DirFS("../../../fixtures/real/e9")); err != nil {
		t.Fatal(err)
	}
	artifacts, err := tablesIn(dir)
	if err != nil {
		t.Fatal(err)
	}
	rows := artifacts[0].Table.Records()
	for i, name := range []string{ownRecorder, "nsight", "hta", "pytorch"} {
		row, all := rows[i], "12 12/12 12/12 12/12"
		if i == 0 {
			all = "24 24/24 24/24 24/24"
		}
		if row[0] != name || strings.Join(row[1:5], " ") != all {
			t.Errorf("%v, expected %s of %s", row, all, name)
		}
		if i > 0 && (row[7] != "12/12" || row[8] == none || row[13] == none) {
			t.Errorf("%v, expected the same routing in all of twelve, and what it cost", row)
		}
	}
	for _, c := range artifacts[0].Cells {
		if c.Differs() != (c.Reason != "") {
			t.Errorf("%+v", c)
		}
	}
	if n := len(artifacts[0].Cells); n != 38 {
		t.Errorf("%d cells are compared, expected those of four sources", n)
	}
}
