package diagnose

import (
	"slices"
	"testing"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/trace"
)

// goingOn is a run of n windows of 24 steps, of which those from first to last have a slow rank.
func goingOn(t *testing.T, n, first, last int) []*trace.Window {
	t.Helper()
	s := spec(4, 24, 1, simulate.Fault{Family: simulate.Data, Delay: 120, Ranks: []int{2}})
	s.Schedule.Windows = n
	slow := windows(t, s)
	s.Faults = nil
	out := windows(t, s)
	for i := first; i <= last; i++ {
		slow[i].Run = out[i].Run
		out[i] = slow[i]
	}
	return out
}

// TestRecent: of a run that goes on, the last steps are kept, at least half as many as asked for, and
// what the verdict is not on is counted.
func TestRecent(t *testing.T) {
	const most, n, steps = 2048, 200, 24
	s := New(Options{Brief: true, Recent: most})
	for i, w := range goingOn(t, n, 48, 95) {
		if err := s.Add(w); err != nil {
			t.Fatal(err)
		}
		if i%7 > 0 && i < n-1 {
			continue
		}
		v := s.Verdict()
		kept, before := len(v.Windows), 0
		if v.Earlier != nil {
			before = v.Earlier.Windows
			if v.Earlier.Steps != before*steps || v.Earlier.Last+1 != v.Windows[0].Main.FirstStep && v.Earlier.Last != v.Windows[0].Main.FirstStep {
				t.Fatalf("after %d windows %+v are left out, and %d is the first step", i+1, v.Earlier, v.Windows[0].Main.FirstStep)
			}
		}
		if kept+before != i+1 || kept*steps > most+steps || before > 0 && kept*steps < most/2 {
			t.Fatalf("after %d windows %d are kept, and %d before them", i+1, kept, before)
		}
		if want := answer.Straggler; i >= 60 && i < 96 && v.Status != want {
			t.Errorf("after %d windows %v, want %v", i+1, v.Status, want)
		}
	}
	if v := s.Verdict(); v.Status != answer.Unseen {
		t.Errorf("%v long after the delay", v.Status)
	}
}

// TestRecentIsTheRest: the verdict on the windows that are kept is that on these alone.
func TestRecentIsTheRest(t *testing.T) {
	all := goingOn(t, 128, 90, 127)
	s := New(Options{Brief: true, Recent: 2048})
	for _, w := range all {
		if err := s.Add(w); err != nil {
			t.Fatal(err)
		}
	}
	v := s.Verdict()
	alone := verdictOn(t, all[128-len(v.Windows):]...)
	a, b := &v.Findings[0], &alone.Findings[0]
	if v.Earlier == nil || v.Status != alone.Status || a.Cause != b.Cause || *a.Rank != *b.Rank || a.Stage != b.Stage || a.Confidence != b.Confidence || !near(a.RunGain, b.RunGain, 0.02) || a.Struck.First < b.Struck.First-24 || a.Struck.First > b.Struck.First+24 {
		t.Errorf("%v %v %+v, on these alone %v %v %+v", v.Status, show(*a), a.Struck, alone.Status, show(*b), b.Struck)
	}
}

func near(a, b, within float64) bool { return a-b < within && b-a < within }

// TestRanksChange: ranks that come and go between the stretches of a long run are told by their
// numbers, and a run of other stages is another series.
func TestRanksChange(t *testing.T) {
	of := func(ranks, windowsOf int, from int64, keep ...int) (out []*trace.Window) {
		s := spec(ranks, 200, 5, simulate.Fault{Family: simulate.Data, Delay: 120, Ranks: []int{2}})
		s.Schedule.Windows = windowsOf
		for i, w := range windows(t, s) {
			if len(keep) > 0 {
				w = w.Select(keep)
			}
			w.Run, w.Index, w.FirstStep, w.Side = "job", from+int64(i), 200*(from+int64(i)), nil
			out = append(out, w)
		}
		return out
	}
	s := New(Options{Brief: true, Recent: 1024}) // stretches of 512 steps
	for _, w := range append(append(of(4, 6, 0), of(4, 6, 6, 0, 2, 3)...), of(8, 9, 12)...) {
		if err := s.Add(w); err != nil {
			t.Fatal(err)
		}
		if v := s.Verdict(); v.Status != answer.Straggler || *v.Findings[0].Rank != 2 || v.Findings[0].Stage != simulate.StageData {
			t.Fatalf("window %d: %v, %v", w.Index, v.Status, v.Findings)
		}
	}
}

// TestWallInPart: a run has wall times where all of its stretches have.
func TestWallInPart(t *testing.T) {
	all := goingOn(t, 40, 0, 39)
	for _, w := range all[30:] { // of the second stretch
		w.Wall = nil
	}
	s := New(Options{Brief: true, Recent: 1024})
	for _, w := range all {
		if err := s.Add(w); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(s.runs[0].steps.series[0].looked); n != 1 || s.runs[0].steps.series[0].steps == 0 {
		t.Fatalf("%d stretches and %d steps, expected one and an open one", n, s.runs[0].steps.series[0].steps)
	}
	v := s.Verdict()
	if len(v.Findings) == 0 || v.Findings[0].Confidence != evidence.Supported {
		t.Errorf("%+v, expected a supported finding", v.Findings)
	}
}

// TestRecentBesideBaseline: of a run that goes on the steps that are kept are compared with the healthy ones, enough of them whenever some are forgotten.
func TestRecentBesideBaseline(t *testing.T) {
	all := goingOn(t, 90, 0, -1)
	var sample frontier.Sample
	for _, w := range all {
		if err := sample.Add(w, []string{simulate.StageBackward}); err != nil {
			t.Fatal(err)
		}
	}
	s := New(Options{Brief: true, Recent: 1024, Baseline: &sample})
	for i, w := range all {
		if err := s.Add(w); err != nil {
			t.Fatal(err)
		}
		r := s.runs[0]
		if kept := r.sample.Steps(); r.earlier != nil && (kept < 256 || kept > 3*512+48) {
			t.Fatalf("after window %d: %d steps to compare of a run that forgot %d windows", i, kept, r.earlier.Windows)
		}
	}
	v := s.Verdict()
	if v.Earlier == nil || slices.ContainsFunc(v.Problems, func(p answer.Problem) bool { return p.Problem == answer.BaselineTooShort }) {
		t.Errorf("forgot %+v, problems %+v", v.Earlier, v.Problems)
	}
}
