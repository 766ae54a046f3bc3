package diagnose

import (
	"math"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/trace"
)

// TestOneSuspectOverWindows: time adds up over windows, gain is the mean over
// their makespans, and the window numbers are kept.
func TestOneSuspectOverWindows(t *testing.T) {
	s := spec(8, 40, 3, simulate.Fault{Family: simulate.Data, Delay: 150, Ranks: []int{2}})
	s.Schedule.Windows, s.Schedule.Gap = 3, 5 // recorded now and then, so that each window alone has the same account
	ws := windows(t, s)
	v := verdictOn(t, ws...)
	first := v.Findings[0]
	if first.Kind != KindRank || *first.Rank != 2 || first.Confidence != evidence.Strong || !slices.Equal(first.Windows, []int64{0, 1, 2}) {
		t.Fatalf("suspect %v in windows %v", show(first), first.Windows)
	}
	var explained int64
	var gain, makespan float64
	for _, w := range ws {
		one := verdictOn(t, w).Findings[0]
		explained += one.Explained
		m := float64(verdictOn(t, w).Windows[0].Main.Makespan)
		gain += one.Gain * m
		makespan += m
	}
	if math.Abs(float64(first.Explained)/float64(explained)-1) > 0.001 || math.Abs(first.Gain-gain/makespan) > 0.001 {
		t.Errorf("explained %d, gain %v; the windows alone give %d, %v", first.Explained, first.Gain, explained, gain/makespan)
	}
	if first.Gain < 0.38 || first.Gain > 0.44 {
		t.Errorf("gain %v for 150 ms of a 365 ms step", first.Gain)
	}
}

// TestWindowsCutDifferentlyDoNotCompare: where one window shows a synchronisation point and
// the other none, wait stands in other stages; that is no growth.
func TestWindowsCutDifferentlyDoNotCompare(t *testing.T) {
	for seed := range uint64(4) {
		s := spec(2, 40, seed, simulate.Fault{Family: simulate.CallbackHost, Delay: 60, Ranks: []int{1}})
		s.Schedule.Windows = 2
		v := verdictOn(t, windows(t, s)...)
		for _, x := range v.Findings {
			if x.Kind == KindStage && x.Confidence >= evidence.Supported {
				t.Errorf("seed %d: %v", seed, show(x))
			}
		}
	}
}

// TestManyStragglersAreAllNamed: no list is cut before it is counted.
func TestManyStragglersAreAllNamed(t *testing.T) {
	var slow []int
	for r := range 40 {
		slow = append(slow, 2*r)
	}
	v := verdictOn(t, windows(t, spec(128, 40, 1, simulate.Fault{Family: simulate.Data, Delay: 60, Ranks: slow}))...)
	var called []int
	for _, x := range v.Findings {
		if x.Kind == KindRank && x.Stage == simulate.StageData && x.Confidence >= evidence.Supported {
			called = append(called, *x.Rank)
		}
	}
	slices.Sort(called)
	if !slices.Equal(called, slow) {
		t.Errorf("%d of 40 called: %s", len(called), trace.RankList(called))
	}
	if together, _ := evidence.Find[evidence.LateTogether](v.Findings[0].Evidence); !slices.Equal(together.Ranks, slow) {
		t.Errorf("together %v", together.Ranks)
	}
}

// TestTwoRanksLateInDifferentStages: fixing one alone saves little,
// though half of the delay is its.
func TestTwoRanksLateInDifferentStages(t *testing.T) {
	v := verdictOn(t, windows(t, spec(8, 60, 2,
		simulate.Fault{Family: simulate.Data, Delay: 120, Ranks: []int{3}},
		simulate.Fault{Family: simulate.ForwardHost, Delay: 119, Ranks: []int{5}}))...)
	if f := v.Findings[0]; f.Gain > 0.05 || f.Explained < int64(f.Struck.Count)*50e6 {
		t.Errorf("suspect %v explains %d", show(f), f.Explained)
	}
}

// TestDeviceTimesInWrongUnits are not called.
func TestDeviceTimesInWrongUnits(t *testing.T) {
	w := windows(t, spec(8, 60, 2))[0]
	for i := range w.Side[0].Samples {
		if w.Side[0].Samples[i].Rank == 3 {
			w.Side[0].Samples[i].Value *= 1000
		}
	}
	for _, x := range verdictOn(t, w).Findings {
		if x.Kind == KindRank {
			t.Errorf("suspect %v", show(x))
		}
	}
}

// TestWorstRunLeads: the surest run gives the verdict its own fields.
func TestWorstRunLeads(t *testing.T) {
	quiet := windows(t, spec(8, 40, 1))[0]
	quiet.Run = "quiet"
	small := windows(t, spec(8, 40, 2, simulate.Fault{Family: simulate.Data, Delay: 60, Ranks: []int{1}}))[0]
	small.Run = "small"
	large := windows(t, spec(8, 40, 3, simulate.Fault{Family: simulate.Data, Delay: 240, Ranks: []int{2}}))[0]
	large.Run = "large"
	v := verdictOn(t, quiet, small, large)
	if v.Run != "large" || len(v.Runs) != 3 || *v.Findings[0].Rank != 2 || v.Runs[0].Status != answer.Unseen || v.Runs[1].Status != answer.Straggler {
		t.Errorf("run %q, suspect %v", v.Run, show(v.Findings[0]))
	}
}

// TestFindingsOfWindows: what single windows show is one finding where it is the same, with the windows that show it.
func TestFindingsOfWindows(t *testing.T) {
	job := deviceJob
	job.Schedule.Windows = 3
	overhead := job
	overhead.Stages = slices.Clone(job.Stages)
	overhead.Stages[1].Work.Mean = 200
	for _, c := range []struct {
		name   string
		job    simulate.Spec
		slow   [3]int // rank whose device is slow, by window; −1: none
		causes []Cause
		want   [][]int64 // windows of each finding
	}{
		{"one rank", job, [3]int{3, -1, 3}, []Cause{CauseDevice}, [][]int64{{0, 2}}},
		{"two ranks", job, [3]int{3, 5, 3}, []Cause{CauseDevice, CauseDevice}, [][]int64{{0, 2}, {1}}},
		{"all hosts", overhead, [3]int{-1, -1, -1}, []Cause{CauseHost}, [][]int64{{0, 1, 2}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := changed(t, c.job)
			for i, rank := range c.slow {
				longerDevice(rank, 40)(all[i].(*trace.Window))
			}
			v := judged(t, Options{}, all...)
			var causes []Cause
			for i, f := range v.Findings {
				if causes = append(causes, f.Cause); i < len(c.want) && !slices.Equal(f.Windows, c.want[i]) {
					t.Errorf("%s in windows %v, want %v", findingInShort(&f), f.Windows, c.want[i])
				}
			}
			if !slices.Equal(causes, c.causes) {
				t.Errorf("%q, want %v", inShort(v), c.causes)
			}
		})
	}
}
