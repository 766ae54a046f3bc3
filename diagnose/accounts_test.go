package diagnose

import (
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/eval/simulate"
)

// TestAccountsKnowThePoints: the accounts of all windows are cut where the steps together show that the ranks synchronise, however few of them
// had been read, and whether a verdict was asked for in between or not.
func TestAccountsKnowThePoints(t *testing.T) {
	s := spec(8, 6, 3, simulate.Fault{Family: simulate.Data, Delay: 80, Ranks: []int{2}})
	s.Schedule.Windows = 20
	all := windows(t, s)
	for name, between := range map[string]bool{"at once": false, "with verdicts between": true} {
		t.Run(name, func(t *testing.T) {
			s := New(Options{})
			for _, w := range all {
				if err := s.Add(w); err != nil {
					t.Fatal(err)
				}
				if between {
					s.Verdict()
				}
			}
			v := s.Verdict().Runs[0]
			if len(v.Windows) != len(all) {
				t.Fatalf("%d accounts of %d windows", len(v.Windows), len(all))
			}
			last := v.Windows[len(all)-1].Main.SyncPoint
			if last.Name != simulate.StageBackward || last.Evidence != points.Shown {
				t.Fatalf("the last is cut at %+v", last)
			}
			for _, w := range v.Windows {
				same := slices.EqualFunc(w.Main.SyncPoint.Boundaries, last.Boundaries, func(a, b frontier.Boundary) bool { return a.Syncs == b.Syncs && a.Point == b.Point })
				if at := w.Main.SyncPoint; at.At != last.At || at.Evidence != last.Evidence || !same {
					t.Errorf("window %d is cut at %+v, the last at %+v", w.Main.Window, at, last)
				}
			}
		})
	}
}

// TestVerdictChangesNothing: a verdict takes the accounts of windows whose first stretch is open without keeping them, and the times of those
// whose stretch is complete are given up.
func TestVerdictChangesNothing(t *testing.T) {
	s := spec(4, 100, 3)
	s.Schedule.Windows = 8
	session := New(Options{})
	for i, w := range windows(t, s) {
		if err := session.Add(w); err != nil {
			t.Fatal(err)
		}
		r := session.runs[0]
		if i == 0 {
			r.steps.series[0].length = 512
		}
		kept, held := len(r.windows), len(r.held)
		if n := len(session.Verdict().Windows); n != i+1 || len(r.windows) != kept || len(r.held) != held {
			t.Errorf("%d accounts after %d windows; %d and %d were kept and held, now %d and %d", n, i+1, kept, held, len(r.windows), len(r.held))
		}
		if complete := i >= 5; complete != (kept > 0) { // 512 of the first 600 steps
			t.Errorf("%d accounts are kept after %d windows", kept, i+1)
		}
	}
	r := session.runs[0]
	r.steps.series[0].busy.Wait()
	for _, h := range r.held {
		if h.w.Durations == nil {
			t.Error("a window that is not complete has no times")
		}
	}
	if len(r.windows) != 7 || len(r.held) != 1 { // behind the first stretch an account is made once
		t.Errorf("%d accounts are kept and %d windows held, want 7 and 1", len(r.windows), len(r.held))
	}
}

// TestOwnCopy: what the caller does to a window afterwards changes no verdict.
func TestOwnCopy(t *testing.T) {
	all := windows(t, spec(8, 100, 3, simulate.Fault{Family: simulate.Data, Delay: 80, Ranks: []int{2}}))
	want := verdictOn(t, all...)
	s := New(Options{})
	for _, w := range all {
		own := *w
		own.Durations, own.Wall, own.Ranks = slices.Clone(w.Durations), slices.Clone(w.Wall), slices.Clone(w.Ranks)
		if err := s.Add(&own); err != nil {
			t.Fatal(err)
		}
		clear(own.Durations)
		clear(own.Wall)
		clear(own.Ranks)
	}
	got := s.Verdict()
	if len(got.Findings) == 0 || *got.Findings[0].Rank != 2 || got.Findings[0].Excess != want.Findings[0].Excess || got.Windows[0].Main.Makespan != want.Windows[0].Main.Makespan {
		t.Errorf("%+v, want %+v", got.Findings, want.Findings)
	}
}
