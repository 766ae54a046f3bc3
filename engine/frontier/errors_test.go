package frontier

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/trace"
)

// TestErrorsAreSetAside: a clock that is set in one step leaves the account what it is
// without that, whatever stage it strikes, and so do details and brief accounts; the
// window stays what it was.
func TestErrorsAreSetAside(t *testing.T) {
	const step, rank = 21, 2
	for name, wait := range map[string]trace.DataWait{"waits as they are used": trace.DataWaitConsuming, "waits of the step before": trace.DataWaitPreceding} {
		s := simulate.DefaultSpec()
		s.Ranks, s.Schedule.Steps, s.Seed = 8, 60, 5
		healthy := oneWindow(t, s)
		healthy.DataWait = wait
		_, want := seriesOf(t, Options{}, healthy)
		S, R := len(healthy.Schema.Stages), len(healthy.Ranks)
		for _, stage := range []int{0, 1, 4} {
			for _, walled := range []bool{true, false} {
				w := *healthy
				w.Durations, w.Wall = slices.Clone(w.Durations), slices.Clone(w.Wall)
				w.Durations[(step*S+stage)*R+rank] += int64(time.Hour)
				if walled {
					w.Wall[step*R+rank] += int64(time.Hour)
				}
				_, got := seriesOf(t, Options{}, &w)
				alike(t, name, got[0].Main, want[0].Main)
				if _, d, err := NewSeries(Options{}).AddDetailed(&w); err != nil || slices.Max(d.Durations) > int64(time.Minute) {
					t.Errorf("%s: boundaries of the detail have the hour", name)
				}
				if wait == trace.DataWaitConsuming {
					alike(t, "brief", Brief(&w, nil, want[0].Main.SyncPoint, Options{}).Main, want[0].Main)
				}
				if w.Durations[(step*S+stage)*R+rank] < int64(time.Hour) {
					t.Error("the window was changed")
				}
			}
		}
	}
}

// TestWaitedForIsNoError: a step in which all wait an hour for one rank is accounted for.
func TestWaitedForIsNoError(t *testing.T) {
	s := simulate.DefaultSpec()
	s.Ranks, s.Schedule.Steps = 8, 60
	w := oneWindow(t, s)
	S, R := len(w.Schema.Stages), len(w.Ranks)
	for r := range R {
		stage := 2 // backward, in which the others wait
		if r == 2 {
			stage = 0
		}
		w.Durations[(21*S+stage)*R+r] += int64(time.Hour)
		w.Wall[21*R+r] += int64(time.Hour)
	}
	_, got := seriesOf(t, Options{}, w)
	for _, stage := range got[0].Main.Stages {
		if stage.Name == w.Schema.Stages[0] && stage.Advance < int64(time.Hour) {
			t.Errorf("%d ns in the stage that all waited for, expected an hour", stage.Advance)
		}
	}
}

func oneWindow(t *testing.T, s simulate.Spec) *trace.Window {
	t.Helper()
	g, err := simulate.New(s)
	if err != nil {
		t.Fatal(err)
	}
	w, err := g.Next()
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// alike compares shares of stages within noise.
func alike(t *testing.T, name string, got, want *Result) {
	t.Helper()
	for i, s := range want.Stages {
		if g := got.Stages[i]; g.Name != s.Name || math.Abs(*g.Share-*s.Share) > 0.003 {
			t.Errorf("%s: share of %s %.4f, expected %.4f", name, g.Name, *g.Share, *s.Share)
		}
	}
}
