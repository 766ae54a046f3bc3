package diagnose

import (
	"fmt"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/trace"
)

// goingOn is a run of n windows, of which those from first to last have a slow rank.
func goingOn(t *testing.T, n, first, last int) []*trace.Window {
	t.Helper()
	s := spec(4, 12, 1, simulate.Fault{Family: simulate.Data, Delay: 120, Ranks: []int{2}})
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

// TestRecent: of a run that goes on, windows are kept up to the bound, and what was found in those before them.
func TestRecent(t *testing.T) {
	const most, n = 64, 200 // windows of 4 ranks: 16 in a stretch
	s := New(Options{Engines: FindingsAlone, Recent: most})
	for i, w := range goingOn(t, n, 48, 95) {
		if err := s.Add(w); err != nil {
			t.Fatal(err)
		}
		v := s.Verdict()
		kept, before := len(v.Windows), 0
		for k, e := range v.Earlier {
			before += e.Windows
			if k > 0 && e.First > v.Earlier[k-1].Last+1 || e.Last < e.First {
				t.Fatalf("after %d windows the stretches are %+v", i+1, v.Earlier)
			}
		}
		if kept+before != i+1 || kept > 2*most/4 {
			t.Fatalf("after %d windows %d are kept, and %d before them; at most %d are", i+1, kept, before, 2*most/4)
		}
	}
	v := s.Verdict()
	var got []string
	for _, e := range v.Earlier {
		who := ""
		if e.Finding != nil {
			who = fmt.Sprintf(" rank %d %s", *e.Finding.Rank, e.Finding.Stage)
		}
		got = append(got, fmt.Sprintf("%d windows %v%s", e.Windows, e.Status, who))
	}
	want := []string{"48 windows no_straggler", "48 windows straggler rank 2 " + simulate.StageData, "80 windows no_straggler"}
	if v.Status != answer.NoStraggler || !slices.Equal(got, want) {
		t.Errorf("now %v, before %q, want %q", v.Status, got, want)
	}
}

// TestRecentIsTheRest: the verdict on the windows that are kept is that on these alone.
func TestRecentIsTheRest(t *testing.T) {
	all := goingOn(t, 60, 40, 59)
	s := New(Options{Engines: FindingsAlone, Recent: 64})
	for _, w := range all {
		if err := s.Add(w); err != nil {
			t.Fatal(err)
		}
	}
	v := s.Verdict()
	alone := verdictOn(t, all[60-len(v.Windows):]...)
	a, b := &v.Findings[0], &alone.Findings[0]
	if v.Status != alone.Status || a.key() != b.key() || a.Confidence != b.Confidence || !near(a.RunGain, b.RunGain, 0.02) || a.Struck.Pattern != b.Struck.Pattern {
		t.Errorf("%v %v, on these alone %v %v", v.Status, show(*a), alone.Status, show(*b))
	}
}

func near(a, b, within float64) bool { return a-b < within && b-a < within }

// TestFewStretches: however often the answer changes, the stretches are bounded, and
// no window, step or straggler is lost.
func TestFewStretches(t *testing.T) {
	rank := 3
	var r recent
	for i := range 1000 {
		s := Stretch{First: int64(10 * i), Last: int64(10*i + 9), Windows: 1, Steps: 10, Status: answer.NoStraggler}
		if i%2 == 1 {
			s.Status, s.Finding = answer.Straggler, &Finding{Place: Place{Rank: &rank}, Cost: Cost{Excess: 5, Explained: 50, RunGain: 0.5, Struck: Struck{Count: 10, Of: 10}}}
		}
		r.keep(s)
	}
	windows, gain := 0, 0.0
	for i, e := range r.earlier {
		windows += e.Windows
		if e.Finding != nil {
			gain += e.Finding.RunGain * float64(e.Steps)
			if e.Finding.Excess != 5 {
				t.Errorf("stretch %d: an excess of %d, want 5", i, e.Finding.Excess)
			}
		}
		if e.Steps != 10*e.Windows || i > 0 && e.First != r.earlier[i-1].Last+1 {
			t.Errorf("stretch %d: %+v after %+v", i, e, r.earlier[max(0, i-1)])
		}
	}
	if len(r.earlier) > mostEarlier || windows != 1000 || !near(gain, 0.5*10*500, 1e-6) {
		t.Errorf("%d stretches of %d windows save %.3f steps, want at most %d, 1000 and 2500", len(r.earlier), windows, gain, mostEarlier)
	}
}
