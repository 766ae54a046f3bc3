package diagnose

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/operator"
)

// launched makes the operators behind the forward stage of windows: what it
// takes on every rank is divided among kernels, the first of which has half,
// and what the rank takes longer than its peers goes to the first ones.
func launched(w *trace.Window, slow int, kernels, guilty int32, delay int64) *operator.Totals {
	t := &operator.Totals{Run: w.Run, Stages: []string{simulate.StageForward, "comm"}, Names: []string{"all_reduce"}, Ranks: slices.Clone(w.Ranks)}
	rng := rand.New(rand.NewPCG(7, 7))
	for k := range kernels {
		t.Names = append(t.Names, fmt.Sprintf("void ns::kernel_%d<float, %s>(int)", k, strings.Repeat("4, ", 40)))
	}
	for step := range w.Steps() {
		t.Steps = append(t.Steps, w.FirstStep+int64(step))
		for r, rank := range w.Ranks {
			for k := range kernels {
				row := operator.Total{Rank: int32(r), Step: int32(step), Name: k + 1, Count: 5, Dur: int64(10e6 * (1 + 0.01*rng.NormFloat64()))}
				if rank.ID == slow && k < guilty {
					row.Dur += delay / int64(guilty)
				}
				t.Rows = append(t.Rows, row)
			}
			wait := delay
			if rank.ID == slow {
				wait = 0
			}
			t.Rows = append(t.Rows, operator.Total{Rank: int32(r), Step: int32(step), Stage: 1, Count: 1, Communicates: 1, Joined: 1, Dur: 20e6 + wait, Wait: wait})
		}
	}
	return t
}

func verdictWith(t *testing.T, w *trace.Window, ops *operator.Totals) *Verdict {
	t.Helper()
	s := New(Options{})
	if err := s.Add(w); err != nil {
		t.Fatal(err)
	}
	if err := s.Add(ops); err != nil {
		t.Fatal(err)
	}
	return s.Verdict()
}

func slowForward(t *testing.T) *trace.Window {
	return windows(t, spec(8, 40, 1, simulate.Fault{Family: simulate.ForwardHost, Delay: 90, Ranks: []int{3}}))[0]
}

// operatorsIn is what evidence says of all operators of a rank.
func operatorsIn(t *testing.T, list []evidence.Observation) evidence.LaunchedOperators {
	t.Helper()
	e, ok := evidence.Find[evidence.LaunchedOperators](list)
	if !ok {
		t.Errorf("nothing of operators in %+v", list)
	}
	return e
}

// TestSmallWithOperators: a rank that costs less than the gate is as sure with its
// operators as without, and as small.
func TestSmallWithOperators(t *testing.T) {
	w := windows(t, spec(8, 40, 1, simulate.Fault{Family: simulate.ForwardHost, Delay: 18, Ranks: []int{3}}))[0]
	for _, c := range []struct {
		what string
		slow int
	}{{"its operators are late too", 3}, {"another rank's are", 4}, {"nobody's are", -1}} {
		first := verdictWith(t, w, launched(w, c.slow, 4, 4, 18e6)).Findings[0]
		if first.Kind != KindRank || *first.Rank != 3 || first.Score >= 0.10 || first.Score < 0.05 || first.Confidence != evidence.Strong || !first.BelowMinGain {
			t.Errorf("%s: %v of %.3f, expected rank 3, strong and small", c.what, show(first), first.Score)
		}
	}
}

// TestOperatorOfASuspect: the operator that explains most of what a rank is
// late by is a suspect beside it, of the same confidence, under its whole name;
// nothing needs to be recorded any more.
func TestOperatorOfASuspect(t *testing.T) {
	w := slowForward(t)
	v := verdictWith(t, w, launched(w, 3, 4, 1, 90e6))
	if len(v.Runs) != 1 {
		t.Fatalf("%d runs, expected one", len(v.Runs))
	}
	rank, op := v.Findings[0], v.Findings[1]
	if rank.Kind != KindRank || *rank.Rank != 3 || rank.Confidence != evidence.Strong {
		t.Fatalf("first suspect %v", show(rank))
	}
	if op.Kind != KindOp || *op.Rank != 3 || op.Stage != rank.Stage || op.Confidence != rank.Confidence || !strings.HasPrefix(op.Op, "void ns::kernel_0<") ||
		!strings.HasSuffix(op.Op, "(int)") || op.Explained > rank.Explained || op.Explained < rank.Explained*8/10 {
		t.Errorf("second suspect %v %q, explains %d of %d", show(op), op.Op, op.Explained, rank.Explained)
	}
	if profiled(v) {
		t.Errorf("next %+v", v.Next)
	}
	if e := operatorsIn(t, rank.Evidence); e.N != 1 || e.Of != 4 || e.DeviceWide || !e.Late || !e.Tested {
		t.Errorf("%+v", e)
	}
	if e, _ := evidence.Find[evidence.OperatorDifference](rank.Evidence); math.Abs(float64(e.Own)-10*float64(e.Peers)) > 1e-3*float64(e.Own) || e.Count != 5 || e.Op != op.Op {
		t.Errorf("%+v", e)
	}
	if e, _ := evidence.Find[evidence.CollectiveWait](rank.Evidence); e != (evidence.CollectiveWait{Rank: 3, Own: 20e6, Peers: 110e6, PeersWaited: 90e6}) {
		t.Errorf("%+v", e)
	}
}

// TestWorkThatVaries: the kernels of a rank that is late in every third step are shorter than its peers' in the others,
// so that on average it has no more work: that may be its share of the data.
func TestWorkThatVaries(t *testing.T) {
	w := windows(t, spec(8, 42, 1, simulate.Fault{Family: simulate.ForwardHost, Delay: 90, Ranks: []int{3}, When: simulate.When{Every: 3}}))[0]
	ops := launched(w, 3, 4, 0, 0)
	for i := range ops.Rows {
		switch row := &ops.Rows[i]; {
		case row.Rank != 3 || row.Name == 0:
		case row.Step%3 == 0:
			row.Dur += 40e6
		default:
			row.Dur -= 20e6
		}
	}
	f := verdictWith(t, w, ops).Findings[0]
	_, varies := evidence.FindIf(f.Evidence, func(l evidence.Lack) bool { return l.Reason == evidence.WorkVaries })
	if f.Rank == nil || *f.Rank != 3 || f.Confidence != evidence.Ambiguous || !varies {
		t.Errorf("%s, %v", show(f), f.Evidence)
	}
}

// profiled reports whether a kernel profiler is to be run.
func profiled(v *Verdict) bool {
	return slices.ContainsFunc(v.Next, func(a answer.Action) bool { return a.Action == answer.Profile })
}

// TestSlowDevice: where all operators of a stage are slow by one factor, none
// of them is a suspect, not even one that is most of the time.
func TestSlowDevice(t *testing.T) {
	w := slowForward(t)
	for _, most := range []int64{1, 10} {
		ops := launched(w, 3, 6, 6, 90e6)
		for i := range ops.Rows {
			if ops.Rows[i].Name == 1 {
				ops.Rows[i].Dur *= most
			}
		}
		v := verdictWith(t, w, ops)
		if len(v.Findings) > 1 && v.Findings[1].Kind == KindOp {
			t.Errorf("an operator is named: %v", show(v.Findings[1]))
		}
		if e := operatorsIn(t, v.Findings[0].Evidence); !e.DeviceWide || e.N != 6 || e.Of != 6 || e.Low > e.High {
			t.Errorf("%+v", e)
		}
	}
}

// TestSlowDeviceAllOver: of a rank that is late over several stages, the
// operators of all of them are told.
func TestSlowDeviceAllOver(t *testing.T) {
	s := spec(8, 60, 4)
	s.Work = []simulate.WorkFactor{{Ranks: []int{3}, Factor: 1.5}}
	w := windows(t, s)[0]
	v := verdictWith(t, w, launched(w, 3, 6, 6, 90e6))
	if v.Findings[0].Stage != "" || profiled(v) {
		t.Errorf("suspect %v, next %+v", show(v.Findings[0]), v.Next)
	}
	if e := operatorsIn(t, v.Findings[0].Evidence); !e.DeviceWide || e.Stage != "" {
		t.Errorf("%+v", e)
	}
	v = verdictWith(t, w, launched(w, -1, 6, 6, 90e6))
	if e := operatorsIn(t, v.Findings[0].Evidence); len(v.Next) == 0 || e.N != 0 || e.Of == 0 || e.Stage != "" {
		t.Errorf("on the host: next %+v, %+v", v.Next, e)
	}
}

// TestSlowHostBehindOperators: where its operators take no longer, the host is to be recorded.
func TestSlowHostBehindOperators(t *testing.T) {
	w := slowForward(t)
	v := verdictWith(t, w, launched(w, 3, 4, 1, 0))
	if e := operatorsIn(t, v.Findings[0].Evidence); e.N != 0 || e.Of != 4 {
		t.Errorf("%+v", e)
	}
	if v.Next[0].With != answer.SourceStacks {
		t.Errorf("next %+v", v.Next)
	}
}

// TestOperatorsAloneCallNothing: operators that are surely slow on a rank that
// nobody waits for are told and not called.
func TestOperatorsAloneCallNothing(t *testing.T) {
	w := windows(t, spec(8, 40, 1))[0]
	before := verdictOn(t, w)
	v := verdictWith(t, w, launched(w, 3, 4, 1, 5e6))
	if len(v.Findings) != len(before.Findings) || v.Confidence != before.Confidence || v.Status != before.Status {
		t.Errorf("%v with operators, %v without", v.Status, before.Status)
	}
	if e := operatorsIn(t, v.Observed); *e.Rank != 3 || e.Stage != simulate.StageForward || e.Late {
		t.Errorf("%+v", e)
	}
}

// TestOperatorsOfAnotherRun: what belongs to no window explains nothing.
func TestOperatorsOfAnotherRun(t *testing.T) {
	w := slowForward(t)
	ops := launched(w, 3, 4, 1, 90e6)
	for i := range ops.Ranks {
		ops.Ranks[i].ID += 100
	}
	v := verdictWith(t, w, ops)
	if e, told := evidence.Find[evidence.LaunchedOperators](v.Findings[0].Evidence); told || len(v.Next) == 0 {
		t.Errorf("%+v", e)
	}
}
