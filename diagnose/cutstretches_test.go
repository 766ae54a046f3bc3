package diagnose

import (
	"slices"
	"testing"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/trace"
)

// inBackward returns windows of 60 steps of a job of so many ranks in which one is late by 60 ms where all wait; negative: none.
func inBackward(t *testing.T, ranks, late int, seed uint64) []*trace.Window {
	s := entering(60)
	if late >= 0 {
		s = entering(60, fault(simulate.Backward, 60, late))
	}
	s.Ranks, s.Seed, s.Schedule.Windows = ranks, seed, 2
	return windows(t, s)
}

// appendStretch moves windows to what follows others, and returns both: the steps from a number on, ns after these ended. The
// numbers of its calls go on, or begin anew.
func appendStretch(before, ws []*trace.Window, first, ns int64, anew bool) []*trace.Window {
	last := before[len(before)-1]
	end := last.Epochs[0]
	for t := range last.Steps() {
		end += last.WallOf(t)[0]
	}
	index, steps, wait := last.Index+1-ws[0].Index, first-ws[0].FirstStep, end+ns-ws[0].Epochs[0]
	seq := 1 - ws[0].Arrivals[0].Calls[0].Seq
	if calls := last.Arrivals[0].Calls; !anew {
		seq += calls[len(calls)-1].Seq
	}
	for _, w := range ws {
		w.Run = last.Run
		w.Index, w.FirstStep = w.Index+index, w.FirstStep+steps
		for r := range w.Epochs {
			w.Epochs[r] += wait
			for i := range w.Arrivals[r].Calls {
				c := &w.Arrivals[r].Calls[i]
				c.Enter, c.Step, c.Seq = c.Enter+wait, c.Step+steps, c.Seq+seq
			}
		}
		for i := range w.Side {
			for k := range w.Side[i].Samples {
				w.Side[i].Samples[k].Step += steps
			}
		}
	}
	return append(slices.Clone(before), ws...)
}

// stretched returns a job of two parts of 120 steps in which rank 1 is late where all wait, then another rank; negative: nobody.
func stretched(t *testing.T, kind string, late, then int) []*trace.Window {
	const second = 1e9
	a := inBackward(t, 4, late, 1)
	next := a[1].StepAt(a[1].Steps())
	switch kind {
	case "leaves":
		return appendStretch(a, inBackward(t, 3, then, 2), next, 20*second, true)
	case "joins":
		b := inBackward(t, 3, late, 2)
		return appendStretch(b, inBackward(t, 4, then, 1), b[1].StepAt(b[1].Steps()), 20*second, true)
	case "restart":
		return appendStretch(a, inBackward(t, 4, then, 2), next-40, 30*second, true)
	case "another": // is late from a step on, of the same processes
		return appendStretch(a[:1], inBackward(t, 4, then, 2), a[1].FirstStep, 0, false)
	}
	return slices.Delete(appendStretch(a, inBackward(t, 4, then, 2), next, 0, false), 1, 2) // a window is missing
}

// TestCutStretches: where other ranks take part from some step on, the job starts again, or steps are missing, calls of each stretch
// cut its steps, and all are judged together: a rank that is late where all wait is named over all steps, one that is so in some
// of them beside the other, and nobody where nobody is.
func TestCutStretches(t *testing.T) {
	for _, kind := range []string{"leaves", "joins", "restart", "missing"} {
		v := verdictOn(t, stretched(t, kind, 1, 1)...).Runs[0]
		f := v.Findings
		if v.Status != answer.Straggler || *f[0].Rank != 1 || f[0].Stage != simulate.StageBackward || f[0].Confidence != evidence.Strong || f[0].Struck.Count < 180 || f[0].Excess < 55e6 || f[0].Excess > 65e6 {
			t.Errorf("%s: %v %+v", kind, v.Status, f)
		}
		if v = verdictOn(t, stretched(t, kind, -1, -1)...).Runs[0]; v.Status != answer.NoStraggler || len(v.Undecided) > 0 {
			t.Errorf("%s, nobody late: %v, %+v", kind, v.Status, v.Undecided)
		}
		without := stretched(t, kind, 1, 1)
		for _, w := range without {
			w.Arrivals = nil
		}
		if v = verdictOn(t, without...).Runs[0]; v.Status == answer.Straggler {
			t.Errorf("%s: named without calls", kind)
		}
	}
	for _, kind := range []string{"restart", "another"} {
		var named []int
		v := verdictOn(t, stretched(t, kind, 1, 2)...).Runs[0]
		for _, f := range v.Findings {
			named = append(named, f.lateRanks()...)
		}
		if slices.Sort(named); v.Status != answer.Straggler || !slices.Equal(slices.Compact(named), []int{1, 2}) {
			t.Errorf("%s: one is late before it, another after it: %v, ranks %v", kind, v.Status, named)
		}
	}
}

// moving returns a job in which rank 1 is late where all wait, then rank 2, then rank 1 again, 60 steps each.
func moving(t *testing.T) []*trace.Window {
	out := inBackward(t, 4, 1, 1)[:1]
	for i, late := range []int{2, 1} {
		last := out[len(out)-1]
		out = appendStretch(out, inBackward(t, 4, late, uint64(i)+2)[:1], last.StepAt(last.Steps()), 0, false)
	}
	return out
}

// TestLateInTurn: where ranks leave a stage together, they waited for a call in it, whoever was late before it. Where nothing says when
// steps began, the calls show no wait that the stage times show, and do not see into the stage.
func TestLateInTurn(t *testing.T) {
	v := verdictOn(t, moving(t)...).Runs[0]
	if f := v.Findings; v.Status != answer.Straggler || f[0].Stage != simulate.StageBackward || !slices.Equal(f[0].lateRanks(), []int{1}) && !slices.Equal(f[0].Ranks, []int{1, 2}) {
		t.Errorf("%v, %+v", v.Status, f)
	}
	without := moving(t)
	for _, w := range without {
		w.Epochs = nil
	}
	v = verdictOn(t, without...).Runs[0]
	i := slices.IndexFunc(v.Coverage, func(c answer.Coverage) bool { return c.Stage == simulate.StageBackward })
	if v.Status != answer.Unseen || v.Coverage[i].Seen {
		t.Errorf("without times: %v, %+v", v.Status, v.Coverage[i])
	}
}

// TestCutLongRuns: of a run that is looked at in several stretches each is cut by the calls in it, and one without calls as
// they cut the first: who is late where all wait is late in all steps, and nothing is longer in those without.
func TestCutLongRuns(t *testing.T) {
	spec := entering(100, fault(simulate.Backward, 60, 3))
	spec.Schedule.Windows = 6
	for name, c := range map[string]struct {
		without     []int64 // the windows that have no calls
		least, most int     // steps in which it is late
	}{"all": {nil, 590, 600}, "some without": {[]int64{3, 4}, 590, 600}} {
		for _, beside := range []*Beside{nil, NewBeside(2, func(*trace.Window) {})} {
			s := New(Options{Beside: beside})
			for _, w := range windows(t, spec) {
				if slices.Contains(c.without, w.Index) {
					w.Arrivals = nil
				}
				if err := s.Add(w); err != nil {
					t.Fatal(err)
				}
				s.runs[0].steps.series[0].length = 150 // which ends in the middle of windows
			}
			r := s.runs[0]
			m, _, _ := r.steps.result(r.runCuts(r.analyzeEntries(0.1)))
			i := slices.IndexFunc(m.Claims, func(c claim.Claim) bool { return c.Cause == claim.Late && slices.Equal(c.Ranks, []int{3}) })
			if i < 0 || len(m.Claims) > 1 {
				t.Errorf("%s, beside %t: %+v", name, beside != nil, m.Claims)
				continue
			}
			if f := m.Claims[i]; f.Steps.Count < c.least || f.Steps.Count > c.most || f.Size < 55e6 {
				t.Errorf("%s, beside %t: late by %d ns in %d steps", name, beside != nil, f.Size, f.Steps.Count)
			}
		}
	}
}
