package ddp

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/trace"
)

// failing runs a job of eight ranks and four windows of ten steps, gathered on
// rank 0, with a failure around its recorder. Step 22 is in the third window.
func failing(t *testing.T, failure string) ([]*trace.Window, error) {
	t.Helper()
	needTorch(t)
	dir := t.TempDir()
	installed, err := Install(dir)
	if err != nil {
		t.Fatal(err)
	}
	spec, out := filepath.Join(dir, "spec.json"), filepath.Join(dir, "out")
	if err := WriteSpec(spec, short(t, "run: job\nranks: 8\nschedule: {windows: 4, steps: 10, warmup: 0}")); err != nil {
		t.Fatal(err)
	}
	program, err := filepath.Abs(filepath.Join("testdata", "failing.py"))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("DIE_AT", "22")
	w := World{Ranks: 8, PythonPath: installed.PythonPath, Args: []string{program, failure, "--spec", spec, "--out", out, "--group", "gather"}}
	ended := w.Run(t.Context())
	return windows(t, out), ended
}

// notGathered lists the windows that some rank could not gather.
func notGathered(windows []*trace.Window) []int64 {
	var out []int64
	for _, w := range windows {
		if len(w.GatherFailed) > 0 {
			out = append(out, w.Index)
		}
	}
	return out
}

func expectWhole(t *testing.T, windows []*trace.Window, n int) {
	t.Helper()
	if len(windows) != n {
		t.Fatalf("%d windows, expected %d", len(windows), n)
	}
	for _, w := range windows {
		if len(w.Ranks) != 8 || w.Steps() != 10 {
			t.Errorf("window %d has %d ranks and %d steps, expected 8 and 10", w.Index, len(w.Ranks), w.Steps())
		}
	}
}

// TestARankHangsInGather: training goes on, and nothing is lost.
func TestARankHangsInGather(t *testing.T) {
	got, err := failing(t, "hang")
	if err != nil {
		t.Fatal(err)
	}
	expectWhole(t, got, 4)
	if failed := notGathered(got); !slices.Equal(failed, []int64{1}) {
		t.Errorf("windows %v were not gathered, expected 1: every rank writes its own file after it", failed)
	}
	for _, w := range got {
		if slowest := slices.Max(w.Wall); slowest > 1e9 {
			t.Errorf("window %d has a step of %d ns: the training waited for the recorder", w.Index, slowest)
		}
	}
}

// TestRank0CannotWrite: what rank 0 cannot write, the ranks write themselves.
func TestRank0CannotWrite(t *testing.T) {
	got, err := failing(t, "full")
	if err != nil {
		t.Fatal(err)
	}
	expectWhole(t, got, 4)
	if failed := notGathered(got); !slices.Equal(failed, []int64{1}) {
		t.Errorf("windows %v were not gathered, expected 1", failed)
	}
}

// TestRank0Dies: the job ends with it; what was gathered before is whole.
func TestRank0Dies(t *testing.T) {
	got, err := failing(t, "die")
	var rank *RankError
	if !errors.As(err, &rank) || rank.Rank != 0 {
		t.Errorf("error is %v, expected one of rank 0", err)
	}
	expectWhole(t, got, 2)
	if failed := notGathered(got); len(failed) > 0 {
		t.Errorf("windows %v were not gathered, expected none", failed)
	}
}
