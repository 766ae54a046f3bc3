package pipeline

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/whatif"
	"github.com/sfstat/sfstat/trace/operator"
)

func model(t *testing.T, o *operator.Trace) *whatif.Model {
	t.Helper()
	m, err := whatif.New(o, whatif.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestReplayIsExact: the replay has the dependencies of this simulator, told
// from the trace alone. Without launch delays it gives the recorded step times
// to the nanosecond; with them, a replay of everything does.
func TestReplayIsExact(t *testing.T) {
	for name, l := range layouts() {
		t.Run(name, func(t *testing.T) {
			s := quiet(l)
			s.Steps.Count = 3
			s.StageWork = make([]float64, l.PP)
			for stage := range s.StageWork {
				s.StageWork[stage] = 1 + 0.3*float64(stage)
			}
			r := model(t, simulated(t, s)).Analyze()
			if !slices.Equal(r.NoDelay.PerStep, r.Recorded.PerStep) || r.Misfit != 0 {
				t.Errorf("without noise: %v replayed, %v recorded, misfit %v", r.NoDelay.PerStep, r.Recorded.PerStep, r.Misfit)
			}
			r = model(t, simulated(t, busy(l))).Analyze()
			if r.Misfit != 0 {
				t.Errorf("with noise: misfit %v", r.Misfit)
			}
		})
	}
}

// TestNoExcess: a balanced job without noise loses nothing.
func TestNoExcess(t *testing.T) {
	for _, l := range []Layout{layout(2, 3, 4), layout(4, 1, 2), {DP: 2, PP: 4, TP: 1, Chunks: 1, Microbatches: 8, Buckets: 3, EarlyReduce: true}} {
		r := model(t, simulated(t, quiet(l))).Analyze()
		if r.Slowdown.Overall != 1 || r.Launch.Overall != 1 {
			t.Errorf("%+v: S is %v, launch %v, want 1", l, r.Slowdown.Overall, r.Launch.Overall)
		}
	}
}

// price is what a fault cost, and what the replay says fixing it would save,
// nanoseconds per step.
type price struct {
	cost    float64 // recorded step time less that of the healthy twin
	saved   float64 // by "fix only X", X as the truth tells it
	removed float64 // step time that is left then
	delayed float64 // recorded step time less that without launch delays
}

func priceOf(t *testing.T, s Spec) price {
	t.Helper()
	o, truth, err := Make(s)
	if err != nil {
		t.Fatal(err)
	}
	m := model(t, o)
	r, healthy := m.Analyze(), model(t, simulated(t, s.Healthy())).Analyze()
	var where whatif.Selection
	f := truth.Faults[0]
	for _, w := range f.Workers {
		for _, op := range f.Ops {
			where = append(where, whatif.Where{Ops: []string{op.Op}, Ranks: []int{w.Rank}})
		}
	}
	e, err := m.Price(where)
	if err != nil {
		t.Fatal(err)
	}
	return price{r.Recorded.Mean - healthy.Recorded.Mean, e[0].Saved, e[0].Removed, r.Recorded.Mean - r.NoDelay.Mean}
}

// priced are faults on a quiet job of 4 replicas of 4 stages and 8
// microbatches. cost is in milliseconds by hand, 0 where it was not counted.
// ideal is the part of the fault that is left after fixing: the ideal duration
// of passes and the optimizer is a mean, in which the fault has the share of
// the operators that it slows down; of communication it is a median.
var priced = []struct {
	fault       Fault
	cost, ideal float64
}{
	{Fault{Kind: SlowWorker, Where: Where{DP: new(1), PP: new(1)}, Size: Size{Factor: 2}}, 0, 1.0 / 16},
	{Fault{Kind: SlowWorker, Where: Where{DP: new(2), PP: new(0), Op: "backward-compute"}, Size: Size{Delay: 25}}, 0, 1.0 / 16},
	{Fault{Kind: SlowWorker, Where: Where{DP: new(2), PP: new(3), Op: "optimizer"}, Size: Size{Delay: 30}}, 30, 1.0 / 16},
	{Fault{Kind: SlowOp, Where: Where{DP: new(3), PP: new(3), Op: "backward-compute", Seq: new(4)}, Size: Size{Delay: 100}}, 100, 1.0 / (16 * 8)},
	{Fault{Kind: SlowStage, Where: Where{PP: new(3)}, Size: Size{Factor: 1.5}}, 0, 1.0 / 4},
	{Fault{Kind: SlowEdge, Where: Where{DP: new(0), PP: new(1)}, Size: Size{Delay: 60}}, 0, 0},
	{Fault{Kind: SlowEdge, Where: Where{DP: new(0), PP: new(3), Op: "backward-send"}, Size: Size{Delay: 60}}, 0, 0},
	// Stage 2 has time: it is done with its passes two passes and transfers of
	// 21 ms, and the embedding of 3 ms, before stage 0.
	{Fault{Kind: SlowGroup, Where: Where{PP: new(2)}, Size: Size{Delay: 300}}, 300 - 45, 0},
	{Fault{Kind: SlowGroup, Where: Where{PP: new(0), Op: "params-all-gather"}, Size: Size{Factor: 9}}, 8 * 6, 0},
}

// TestPrice: what the replay says a job would be without the fault is, to the
// nanosecond, what the simulator makes of that job.
func TestPrice(t *testing.T) {
	for i, test := range priced {
		t.Run(fmt.Sprintf("%d/%v", i, test.fault.Kind), func(t *testing.T) {
			s := quiet(layout(4, 4, 8))
			s.Faults = []Fault{test.fault}
			p := priceOf(t, s)
			if !(p.cost > 0) || test.cost > 0 && math.Abs(p.cost/1e6-test.cost) > 1e-6 {
				t.Errorf("it costs %.6f ms, want %v", p.cost/1e6, test.cost)
			}
			saved := s.Healthy()
			if f := test.fault; test.ideal > 0 {
				if f.Kind == SlowOp { // selections do not tell instances apart: all are fixed
					f.Kind, f.Seq = SlowWorker, nil
				}
				f.Delay *= Millis(test.ideal)
				if f.Factor > 0 {
					f.Factor = 1 + (f.Factor-1)*test.ideal
				}
				saved.Faults = []Fault{f}
			}
			want := model(t, simulated(t, saved)).Analyze().Recorded.Mean
			if math.Abs(p.removed-want) > 100 { // ideals are rounded
				t.Errorf("without the fault the replay has %.6f ms a step, the simulator %.6f", p.removed/1e6, want/1e6)
			}
		})
	}
}

// TestPriceInNoise: with jitter and launch delays the price of the fault is
// still its cost, less what fixing leaves, within 6 % of the cost.
func TestPriceInNoise(t *testing.T) {
	for i, test := range priced {
		t.Run(fmt.Sprintf("%d/%v", i, test.fault.Kind), func(t *testing.T) {
			s := quiet(layout(4, 4, 8))
			s.Seed, s.Steps.Count = 3, 30
			for c := operator.ForwardCompute; c <= operator.GarbageCollection; c++ {
				if o := s.Ops.entry(c); o.Jitter == 0 {
					o.Jitter, o.Launch = 0.02, Dist{0.01, 1}
				}
			}
			s.Between, s.SpeedSD = Dist{0.3, 0.5}, 0.003
			s.Faults = []Fault{test.fault}
			p := priceOf(t, s)
			if hi, lo := 1.06, 0.94-1.1*test.ideal; !(p.saved >= lo*p.cost && p.saved <= hi*p.cost) {
				t.Errorf("it costs %.3f ms a step, fixing saves %.3f: a share of %.3f, want %.3f to %.3f", p.cost/1e6, p.saved/1e6, p.saved/p.cost, lo, hi)
			}
		})
	}
}

// TestLateStart: a busy host is launch delay to the replay, all of it.
func TestLateStart(t *testing.T) {
	for _, w := range []Where{
		{DP: new(2), PP: new(0), Seq: new(0)},
		{DP: new(0), PP: new(2), Op: "backward-compute", Seq: new(3)},
		{DP: new(2), PP: new(3), Op: "optimizer"},
		{DP: new(2), PP: new(3), Op: "forward-recv", Seq: new(0)},
	} {
		s := quiet(layout(4, 4, 8))
		s.Faults = []Fault{{Kind: LateStart, Where: w, Size: Size{Delay: 170}}}
		if p := priceOf(t, s); !(p.cost > 0) || p.delayed != p.cost || p.saved != 0 {
			t.Errorf("%s: it costs %.6f ms, launch delays are %.6f, fixing durations saves %.6f", w.Op, p.cost/1e6, p.delayed/1e6, p.saved/1e6)
		}
	}
}

// TestWorkloadPrice: uneven lengths are the passes' excess, nobody else's.
func TestWorkloadPrice(t *testing.T) {
	for _, shared := range []float64{0, 0.7} {
		s := quiet(layout(4, 4, 8))
		s.Steps.Count = 20
		s.Faults = []Fault{{Kind: Workload, Size: Size{Factor: 1.2}, Shared: shared}}
		r := model(t, simulated(t, s)).Analyze()
		m := model(t, simulated(t, s))
		e, err := m.Price(whatif.Selection{{Ops: []string{"forward-compute", "backward-compute"}}}, whatif.Selection{{Stages: []int{3}}})
		if err != nil {
			t.Fatal(err)
		}
		if r.Slowdown.Overall < 1.1 || e[0].Share < 0.999 || e[0].Share > 1.001 {
			t.Errorf("shared %v: S is %v, passes are a share of %v, want over 1.1 and 1", shared, r.Slowdown.Overall, e[0].Share)
		}
		if e[1].Share > 0.6 {
			t.Errorf("shared %v: the last stage is a share of %v", shared, e[1].Share)
		}
	}
}
