package detectability

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/internal/largedata"
	"github.com/sfstat/sfstat/trace"
)

// TestRealRuns predicts, from recordings of a real job without a fault, which
// delays are found, and compares with the same job's recordings that have one.
// Nothing of the latter is known to the prediction.
func TestRealRuns(t *testing.T) {
	dir := largedata.Need(t, "data/ddp")
	truth := readTruth(t, filepath.Join(dir, "truth.csv"))
	for _, healthy := range []string{"nofault-r8-s0", "nofault-r8-s1"} {
		o := DefaultOptions()
		o.Replicates = 12
		a, err := Examine(readWindows(t, dir, healthy), o)
		if err != nil {
			t.Fatal(err)
		}
		compared := 0
		for _, row := range truth {
			if row.Ranks == 8 && !row.Intermittent && row.Accumulation <= 1 && row.Notes == "" && predicted[row.Family] {
				compared += comparedWith(t, a, readWindows(t, dir, row.Run), row)
			}
		}
		if compared < 30 {
			t.Errorf("%d answers were compared: too few to say anything", compared)
		}
		t.Logf("%s: %d answers as predicted", healthy, compared)
	}
}

// predicted are the families that delay the host in a stage, which is what this
// package delays.
var predicted = map[simulate.Family]bool{simulate.Data: true, simulate.Backward: true, simulate.ForwardHost: true,
	simulate.CallbackHost: true, simulate.OptimizerHost: true}

// comparedWith counts the answers to a recording that the account speaks about;
// within 10 % of a threshold it says nothing.
func comparedWith(t *testing.T, a *Account, windows []*trace.Window, row simulate.TruthRow) (n int) {
	t.Helper()
	r := replyTo(t, windows[0], row.HiddenRank)
	for _, st := range a.Windows[0].Stages {
		if st.Name != row.Stage {
			continue
		}
		for answer, threshold := range st.Thresholds {
			ratio := float64(row.Delay) * 1e6 / float64(max(1, threshold.Delay))
			if threshold.State == Found && ratio > 0.9 && ratio < 1.1 {
				continue
			}
			n++
			want := threshold.State == Already || threshold.State == Found && ratio > 1
			if got := r.right(Answer(answer), row.Stage); got != want {
				t.Errorf("%s: %v is %v, predicted %v: from %.1f ms (%v)", row.Run, Answer(answer), got, want, float64(threshold.Delay)/1e6, threshold.State)
			}
		}
	}
	return n
}

func readTruth(t *testing.T, path string) []simulate.TruthRow {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := simulate.ReadTruth(path, f)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func readWindows(t *testing.T, dir, run string) (windows []*trace.Window) {
	t.Helper()
	in, err := auto.Open([]string{filepath.Join(dir, run+".jsonl")}, auto.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	for {
		item, err := in.Next()
		if errors.Is(err, io.EOF) {
			return windows
		}
		if err != nil {
			t.Fatal(err)
		}
		windows = append(windows, item.Window)
	}
}
