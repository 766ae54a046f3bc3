package tables

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/diagnose/operators"
	"github.com/sfstat/sfstat/engine/blame"
	"github.com/sfstat/sfstat/engine/zscore"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/trace"
)

// stagewiseOf returns what the stages of a simulated job show.
func stagewiseOf(t *testing.T, delay simulate.Millis, change func(*simulate.Spec)) (got stagewise) {
	t.Helper()
	s := simulate.DefaultSpec()
	if delay > 0 {
		s.Faults = []simulate.Fault{{Family: simulate.Data, Delay: delay, Ranks: []int{5}}}
	}
	change(&s)
	g, err := simulate.New(s)
	if err != nil {
		t.Fatal(err)
	}
	var list []*trace.Window
	if err := g.Each(func(w *trace.Window) error { list = append(list, w); return nil }); err != nil {
		t.Fatal(err)
	}
	got.windows(list)
	return got
}

// TestStagewise: a rank that is 6 ms late in every step is longer than its peers and where the walks end; in healthy jobs
// nobody is; one rank has no peers to be compared with.
func TestStagewise(t *testing.T) {
	for name, test := range map[string]struct {
		delay  simulate.Millis
		change func(*simulate.Spec)
		want   stagewise
	}{
		"late":           {6, func(*simulate.Spec) {}, stagewise{true, []int{5}, []int{5}}},
		"in two windows": {6, func(s *simulate.Spec) { s.Schedule.Windows, s.Schedule.Gap = 2, 10 }, stagewise{true, []int{5}, []int{5}}},
		"healthy":        {0, func(*simulate.Spec) {}, stagewise{judged: true}},
		"alone":          {0, func(s *simulate.Spec) { s.Ranks, s.RanksPerHost = 1, 1 }, stagewise{}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, stagewiseOf(t, test.delay, test.change), cmp.AllowUnexported(stagewise{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestEnding: ten walks, and more than half of all, must end with one worker; an edge between two ranks is nobody's own.
func TestEnding(t *testing.T) {
	of := func(worker, n int) operators.Culprit {
		return operators.Culprit{Kind: blame.LongOp, Worker: worker, Symptoms: n, PredWorker: -1}
	}
	edge := of(1, 30)
	edge.Pred, edge.PredWorker = "send", 0
	for name, test := range map[string]struct {
		walks operators.Walks
		found bool
	}{
		"ten":          {operators.Walks{Symptoms: 19, Culprits: []operators.Culprit{of(1, 10)}}, true},
		"nine":         {operators.Walks{Symptoms: 9, Culprits: []operators.Culprit{of(1, 9)}}, false},
		"half":         {operators.Walks{Symptoms: 20, Culprits: []operators.Culprit{of(1, 10), of(2, 10)}}, false},
		"in two names": {operators.Walks{Symptoms: 12, Culprits: []operators.Culprit{of(1, 6), of(1, 4)}}, true},
		"an edge":      {operators.Walks{Symptoms: 30, Culprits: []operators.Culprit{edge}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if worker, found := endingWorker(&test.walks); found != test.found || found && worker != 1 {
				t.Errorf("worker %d, found %v, expected %v", worker, found, test.found)
			}
		})
	}
}

// TestLonger: what counts is a sure outlier of all steps that is longer, not one of a step, a shorter one, a start or a chance.
func TestLonger(t *testing.T) {
	series := []zscore.Series{{Quantity: zscore.Duration}, {Quantity: zscore.Start}, {Quantity: zscore.Transfer}}
	is := func(worker, of, step int, effect int64, sure bool) zscore.Outlier {
		return zscore.Outlier{Series: of, Worker: worker, Step: step, Effect: effect, Sure: sure}
	}
	r := &zscore.Result{Outliers: []zscore.Outlier{is(0, 0, 7, 9, true), is(1, 0, zscore.EveryStep, -9, true), is(2, 1, zscore.EveryStep, 9, true),
		is(3, 0, zscore.EveryStep, 9, false), is(4, 0, zscore.EveryStep, 9, true), is(4, 2, zscore.EveryStep, 9, true), is(5, 2, zscore.EveryStep, 9, true)}}
	if diff := cmp.Diff([]int{4, 5}, longer(r, series)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
