package tables

import (
	"errors"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/trace"
)

// byHand is a window of 10 steps, two ranks and three stages, all steps alike:
// rank 1 is slow in a, rank 0 waits for it in b.
//
//	rank 0: a 10, b 50, c 10    rank 1: a 40, b 20, c 10 (ms)
//	frontier 40, 60, 70         advances 40, 20, 10
//	maxima 40, 50, 10           means 25, 35, 10
//	max − median 15, 15, 0
func byHand(run string, index int64) *trace.Window {
	const ms = 1_000_000
	w := &trace.Window{Run: run, Index: index, WorldSize: 2, Schema: trace.Schema{Stages: []string{"a", "b", "c"}},
		Ranks: []trace.Rank{{ID: 0}, {ID: 1}}}
	for range 10 {
		w.Durations = append(w.Durations, 10*ms, 40*ms, 50*ms, 20*ms, 10*ms, 10*ms)
	}
	return w
}

func scored(t *testing.T, truth []simulate.TruthRow, windows ...*trace.Window) *Score {
	t.Helper()
	s := New(truth, nil)
	for _, w := range windows {
		if err := s.Add(w.Run, w); err != nil {
			t.Fatal(err)
		}
	}
	return s.Score()
}

func TestWindowByHand(t *testing.T) {
	truth := []simulate.TruthRow{{Run: "x", Family: simulate.Data, Ranks: 2, HiddenRank: 1, Stage: "a", Delay: 30}}
	got := scored(t, truth, byHand("x", 0)).Runs[0].Windows[0]
	share := 40.0 / 70
	want := scoredWindow{Fault: true, Steps: 10, Share: &share, Latest: latestOnly,
		Routing: routing{1, true, 2},
		Methods: []routing{
			{2, true, 2}, // b 50, a 40 of 100
			{2, true, 2}, // b 35, a 25 of 70
			{1, true, 2}, // a and b tie, upstream first
			{2, true, 2}, // both take 70 ms, the first counts: b 50, a 10, c 10
			{2, true, 2}, // b 50, a 10, c 10: a first of the tie
		},
	}
	ignore := cmpopts.IgnoreFields(scoredWindow{}, "Labels", "Strong", "Automatic", "pace", "telemetry", "divided", "names", "seeded", "shares")
	near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-12 })
	if diff := cmp.Diff(want, got, ignore, near); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSeveralFaults: any seeded stage counts, and any hidden rank.
func TestSeveralFaults(t *testing.T) {
	truth := []simulate.TruthRow{
		{Run: "x", Family: simulate.Data, Ranks: 2, HiddenRank: 0, Stage: "c"},
		{Run: "x", Family: simulate.Data, Ranks: 2, HiddenRank: 1, Stage: "a"},
	}
	r := scored(t, truth, byHand("x", 0)).Runs[0]
	if diff := cmp.Diff([]hiddenRank{{0, "c"}, {1, "a"}}, r.Hidden); diff != "" {
		t.Error(diff)
	}
	if w := r.Windows[0]; w.Routing.Place != 1 || w.Latest == latestNo {
		t.Errorf("place %d, latest %q: expected stage a and rank 1 to count", w.Routing.Place, w.Latest)
	}
}

func TestRemovedFault(t *testing.T) {
	truth := []simulate.TruthRow{{Run: "x", Family: simulate.Data, Ranks: 2, HiddenRank: 1, Stage: "a", Notes: "aba"}}
	s := scored(t, truth, byHand("x", 0), byHand("x", 1), byHand("x", 2))
	var faults []bool
	for _, w := range s.Runs[0].Windows {
		faults = append(faults, w.Fault)
	}
	if diff := cmp.Diff([]bool{false, true, false}, faults); diff != "" {
		t.Errorf("windows with the fault (-want +got):\n%s", diff)
	}
	if n := s.methods()[0].windows(); n != 1 {
		t.Errorf("%d windows are tallied, expected the one with the fault", n)
	}
	row := s.healthyTable().Records()[0]
	if row[0] != "fault removed (A of A/B/A)" || row[1] != "2" {
		t.Errorf("windows without a fault: %v", row)
	}
}

func TestUnknownRun(t *testing.T) {
	s := New([]simulate.TruthRow{{Run: "x", HiddenRank: -1, Ranks: 2}}, nil)
	if err := s.Add("y", byHand("y", 0)); err == nil || !strings.Contains(err.Error(), `run "y", which the truth table does not have`) {
		t.Errorf("a run that the truth table does not have: %v", err)
	}
}

func TestSweepGrows(t *testing.T) {
	truth := []simulate.TruthRow{{Run: "x", Family: simulate.Data, Ranks: 2, HiddenRank: 1, Stage: "c"}}
	s := scored(t, truth, byHand("x", 0)) // shares 0.571, 0.286, 0.143; c is third
	for _, test := range []struct {
		tau        float64
		candidates int
		hit        int
	}{{0.5, 1, 0}, {0.57, 1, 0}, {0.58, 2, 0}, {0.85, 2, 0}, {0.86, 3, 1}, {1, 3, 1}} {
		r := row{Score: s, ranking: sweep(test.tau)}
		got := hit.of(&r)
		if r.largest() != test.candidates || !reflect.DeepEqual(got, table.PartCell(test.hit, 1)) {
			t.Errorf("τ %v: %+v, expected %d candidates and %d hits", test.tau, got, test.candidates, test.hit)
		}
	}
}

func TestRate(t *testing.T) {
	rank := func(n int) *int { return &n }
	c := &runCase{Hidden: []hiddenRank{{2, "a"}}}
	suspect := func(kind diagnose.Kind, r *int, stage string, sure evidence.Confidence) diagnose.Finding {
		return diagnose.Finding{Kind: kind, Place: diagnose.Place{Rank: r, Stage: stage}, Confidence: sure}
	}
	for _, test := range []struct {
		name     string
		suspects []diagnose.Finding
		want     verdict
	}{
		{"nobody", nil, verdict{Answer: rankNone}},
		{"right", []diagnose.Finding{suspect(diagnose.KindRank, rank(2), "a", evidence.Supported)},
			verdict{Called: true, Answer: rankRight, StageRight: true, Named: true}},
		{"right but unsure", []diagnose.Finding{suspect(diagnose.KindRank, rank(2), "a", evidence.Ambiguous)},
			verdict{Answer: rankRight, StageRight: true}},
		{"wrong stage", []diagnose.Finding{suspect(diagnose.KindRank, rank(2), "b", evidence.Strong)},
			verdict{Called: true, Answer: rankRight}},
		{"wrong rank", []diagnose.Finding{suspect(diagnose.KindRank, rank(1), "a", evidence.Strong)},
			verdict{Called: true, Answer: rankWrong, StageRight: true, Innocent: 1}},
		{"stage only", []diagnose.Finding{suspect(diagnose.KindStage, nil, "a", evidence.Supported)},
			verdict{Called: true, Answer: rankUndecidable, StageRight: true}},
		{"an innocent beside", []diagnose.Finding{suspect(diagnose.KindRank, rank(2), "a", evidence.Strong),
			suspect(diagnose.KindRank, rank(0), "a", evidence.Supported), suspect(diagnose.KindRank, rank(1), "a", evidence.Ambiguous)},
			verdict{Called: true, Answer: rankRight, StageRight: true, Named: true, Innocent: 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := rate(c, &diagnose.RunVerdict{Findings: test.suspects})
			only := cmpopts.IgnoreFields(verdict{}, "Kind", "Rank", "Stage", "Gain", "Confidence")
			if diff := cmp.Diff(test.want, got, only); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// simulated scores one simulated run.
func simulated(t *testing.T, spec simulate.Spec) *scoredRun {
	t.Helper()
	g, err := simulate.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	s := New(g.Truth().Rows(), nil)
	for {
		w, err := g.Next()
		if errors.Is(err, io.EOF) {
			return s.Score().Runs[0]
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Add(w.Run, w); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAccumulation: the seeded stage is the group of its microsteps.
func TestAccumulation(t *testing.T) {
	spec := simulate.DefaultSpec()
	spec.Accumulation = 4
	spec.Stages[2].SyncPoints[0].LastMicrostep = true
	spec.Faults = []simulate.Fault{{Family: simulate.Data, Ranks: []int{5}, Delay: 160}}
	w := simulated(t, spec).Windows[0]
	if !w.Routing.Top(2) || w.Share == nil || w.Automatic.Share == nil {
		t.Errorf("%+v: the seeded stage is not found among the grouped ones", w)
	}
}

// TestHostOnlyFault: time lost after the last synchronisation point of a step is charged to
// its stage by the automatic cut, and to nobody by the paper's.
func TestHostOnlyFault(t *testing.T) {
	spec := simulate.DefaultSpec()
	spec.Faults = []simulate.Fault{{Family: simulate.OptimizerHost, Ranks: []int{5}, Delay: 120}}
	r := simulated(t, spec)
	w := r.Windows[0]
	if w.Routing.Top(2) || w.Automatic.Place != 1 || !w.Automatic.LeaderRight || *w.Automatic.Share < 3**w.Share {
		t.Errorf("%+v", w)
	}
	if !r.Verdict.Named || r.Verdict.Innocent > 0 {
		t.Errorf("%+v", r.Verdict)
	}
	if w.Telescoping != 0 || w.Automatic.Telescoping != 0 {
		t.Errorf("telescoping error %d and %d ns", w.Telescoping, w.Automatic.Telescoping)
	}
}
