package diagnose

import (
	"fmt"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/engine/whatif"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/eval/simulate/pipeline"
	"github.com/sfstat/sfstat/fixtures/comm/commtest"
	jobs "github.com/sfstat/sfstat/fixtures/comm/job"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/operator"
)

// Each threshold has two jobs, on either side of it, whose answers differ.

// byHand returns a window of four ranks and so many steps of 100 ms without noise: 10 ms of data, 50 of forward, and a
// backward pass in which all wait for the last.
func byHand(steps int) *trace.Window {
	w := &trace.Window{Run: "hand", WorldSize: 4, FirstStep: 1, Schema: trace.Schema{Stages: []string{"data.next_wait", "model.fwd_loss_cpu_wall", "model.backward_cpu_wall"}}}
	for r := range 4 {
		w.Ranks = append(w.Ranks, trace.Rank{ID: r, LocalRank: r})
	}
	for t := range steps {
		late := make([]int64, 4) // some rank is 1 ms late in each step, so that it shows where they wait
		late[t%4] = 1e6
		for range 4 {
			w.Durations = append(w.Durations, 10e6)
		}
		for r := range 4 {
			w.Durations = append(w.Durations, 50e6+late[r])
		}
		for r := range 4 {
			w.Durations = append(w.Durations, 40e6-late[r])
			w.Wall = append(w.Wall, 100e6)
		}
	}
	return w
}

// TestEnoughSteps: of four steps nobody can say that no rank is late, of five one can. A window loses one: what is behind the last
// synchronisation point.
func TestEnoughSteps(t *testing.T) {
	for steps, want := range map[int]bool{4 + 1: true, 5 + 1: false} {
		if v := verdictOn(t, byHand(steps)); (v.Status == answer.TooLittleData) != want {
			t.Errorf("%d steps: %v, want too little data: %v", steps, v.Status, want)
		}
	}
}

// TestDeviceShare: a rank whose device works longer than the others', which its host does not show, is told of from 2 % of the step on.
func TestDeviceShare(t *testing.T) {
	for excess, want := range map[float64]bool{2.3: false, 2.6: true} { // ms; the host shows 0.5 of them, and 19 of the 20 steps of 100 ms count
		w := byHand(20)
		c := trace.SideChannel{Name: "model.fwd_loss_cuda_event_ms"}
		for step := range 20 {
			for r := range 4 {
				s := trace.Sample{Step: w.FirstStep + int64(step), Rank: r, Value: 60, Ready: true}
				if r == 2 {
					s.Value += excess + 0.01*float64(step%3)
				}
				c.Samples = append(c.Samples, s)
			}
		}
		w.Side = []trace.SideChannel{c}
		v := verdictOn(t, w)
		got := slices.ContainsFunc(v.Findings, func(f Finding) bool { return f.Cause == CauseDevice && *f.Rank == 2 })
		if got != want {
			t.Errorf("%v ms of 100: %+v, want it told: %v", excess, v.Findings, want)
		}
	}
}

// TestTransferThatMayHide: a last transfer leaves the run undecided if a quarter of the step may hide in it.
func TestTransferThatMayHide(t *testing.T) {
	for hides, want := range map[int64]answer.Status{24e6: answer.NoStraggler, 26e6: answer.UndecidedRun} {
		if got := statusOf(nil, []answer.Undecided{{Question: answer.TransferHidden, Hides: hides, Step: 100e6}}, excludesAll); got != want {
			t.Errorf("%d of 100 ms: %v, want %v", hides/1e6, got, want)
		}
	}
}

// TestSmallDecidesNothing: a rank that is late for certain by less than the least gain is no straggler by itself,
// whatever recording shows it.
func TestSmallDecidesNothing(t *testing.T) {
	for _, small := range []bool{true, false} {
		claims := []Finding{{Cause: CauseLate, Confidence: evidence.Strong, BelowMinGain: small, Cost: Cost{Score: 0.2}}}
		want := answer.Straggler
		if small {
			want = answer.NoStraggler
		}
		if got := statusOf(claims, nil, excludesAll); got != want {
			t.Errorf("below the least gain %v: %v, want %v", small, got, want)
		}
	}
}

// TestOperatorThatExplains: an operator is named beside a rank if it has half of what the rank takes longer.
func TestOperatorThatExplains(t *testing.T) {
	w := slowForward(t)
	for part, want := range map[float64]bool{0.46: false, 0.54: true} { // of three of eight kernels, the others an even part of the rest
		ops := launched(w, -1, 8, 0, 90e6)
		for i := range ops.Rows {
			x := &ops.Rows[i]
			if x.Stage != 0 || ops.Ranks[x.Rank].ID != 3 {
				continue
			}
			switch x.Name {
			case 1:
				x.Dur += int64(part * 90e6)
			case 2, 3:
				x.Dur += int64((1 - part) / 2 * 90e6)
			}
		}
		v := verdictWith(t, w, ops)
		got := slices.ContainsFunc(v.Findings, func(f Finding) bool { return f.Kind == KindOp && *f.Rank == 3 })
		if got != want {
			t.Errorf("an operator has %v of the delay: %+v, want it named: %v", part, v.Findings, want)
		}
	}
}

// TestWaitsInCollectives: that the others wait for a rank in collectives is told if it is a quarter of the rank's delay.
func TestWaitsInCollectives(t *testing.T) {
	w := slowForward(t)
	for part, want := range map[float64]bool{0.20: false, 0.30: true} {
		ops := launched(w, 3, 4, 1, 90e6)
		for i := range ops.Rows {
			if x := &ops.Rows[i]; x.Stage == 1 {
				wait := int64(part * float64(x.Wait))
				x.Dur, x.Wait = x.Dur-x.Wait+wait, wait
			}
		}
		_, got := evidence.Find[evidence.CollectiveWait](verdictWith(t, w, ops).Findings[0].Evidence)
		if got != want {
			t.Errorf("they wait for %v of the delay: told %v, want %v", part, got, want)
		}
	}
}

// operatorJob returns a job of three replicas of four stages whose operators never vary.
func operatorJob(t *testing.T, change func(*pipeline.Spec)) *operator.Trace {
	return made(t, job(func(s *pipeline.Spec) {
		s.Layout.DP, s.Layout.PP, s.SpeedSD = 3, 4, 0
		s.Ops.ForwardTransfer.Mean, s.Ops.BackwardTransfer.Mean, s.Ops.Reduce.Mean = 120, 120, 1500
		change(s)
	}))
}

// TestOperatorThresholds: faults of simulated jobs of operators, whose size is some share of what others take.
func TestOperatorThresholds(t *testing.T) {
	everywhere := func(kind pipeline.Kind, op string, stage int) func(s *pipeline.Spec, size float64) {
		return func(s *pipeline.Spec, size float64) {
			for dp := range s.Layout.DP {
				s.Faults = append(s.Faults, pipeline.Fault{Kind: kind, Where: pipeline.Where{DP: at(dp), PP: at(stage), Op: op}, Size: pipeline.Size{Factor: size}})
			}
		}
	}
	for name, c := range map[string]struct {
		below, above float64
		set          func(s *pipeline.Spec, size float64)
		told         func(f Finding) bool
	}{
		"transfers from one stage take 1.5 times as long": {1.35, 1.65, everywhere(pipeline.SlowEdge, "forward-send", 1), func(f Finding) bool { return f.Cause == CauseLink }},
		"collectives of one stage take 1.2 times as long": {1.12, 1.3, func(s *pipeline.Spec, size float64) {
			s.Faults = append(s.Faults, pipeline.Fault{Kind: pipeline.SlowGroup, Where: pipeline.Where{PP: at(0), Op: "grads-reduce-scatter"}, Size: pipeline.Size{Factor: size}})
		}, func(f Finding) bool { return f.Cause == CauseCollective }},
		"passes of one stage of two replicas take 3 % of the step": {1.08, 1.18, func(s *pipeline.Spec, size float64) {
			s.Layout.DP = 2
			s.Faults = append(s.Faults, pipeline.Fault{Kind: pipeline.SlowStage, Where: pipeline.Where{PP: at(1)}, Size: pipeline.Size{Factor: size}})
		}, func(f Finding) bool { return f.Cause == CauseHeavy }},
		"an operator that has 85 % of what its worker takes longer": {0.76, 0.90, func(s *pipeline.Spec, part float64) {
			for op, part := range map[string]float64{"forward-compute": part, "backward-compute": 1 - part} {
				s.Faults = append(s.Faults, pipeline.Fault{Kind: pipeline.SlowWorker, Where: pipeline.Where{DP: at(1), PP: at(2), Op: op}, Size: pipeline.Size{Delay: pipeline.Millis(300 * part)}})
			}
		}, func(f Finding) bool { return f.Cause == CauseCompute && f.Op == "forward-compute" }},
		"certainty of five steps": {4, 5, func(s *pipeline.Spec, steps float64) {
			s.Steps.Count = int(steps)
			s.Faults = []pipeline.Fault{{Kind: pipeline.SlowWorker, Where: pipeline.Where{DP: at(1), PP: at(2)}, Size: pipeline.Size{Factor: 1.5}}}
		}, func(f Finding) bool { return f.Cause == CauseCompute && f.Confidence == evidence.Strong }},
		"certainty of three replicas": {2, 3, func(s *pipeline.Spec, replicas float64) {
			s.Layout.DP = int(replicas)
			s.Faults = []pipeline.Fault{{Kind: pipeline.SlowWorker, Where: pipeline.Where{DP: at(1), PP: at(2)}, Size: pipeline.Size{Factor: 1.5}}}
		}, func(f Finding) bool { return f.Cause == CauseCompute && f.Confidence == evidence.Strong }},
		"two stretches are bursts": {2, 3, func(s *pipeline.Spec, stretches float64) {
			s.Steps.Count = 24
			for i := range int64(stretches) {
				s.Faults = append(s.Faults, pipeline.Fault{Kind: pipeline.SlowWorker, Where: pipeline.Where{DP: at(1), PP: at(2)}, Size: pipeline.Size{Factor: 3}, When: pipeline.When{From: 3 + 6*i, Until: 5 + 6*i}})
			}
		}, func(f Finding) bool { return f.Cause == CauseCompute && f.Confidence == evidence.Strong }},
		"a worker hides another that is 40 % as slow": {0.37, 0.44, func(s *pipeline.Spec, part float64) {
			s.Layout.DP, s.Layout.PP = 4, 1
			s.Faults = []pipeline.Fault{slowed(1, "", 2), slowed(2, "", 1+part)}
		}, func(f Finding) bool {
			r, _ := evidence.Find[evidence.StepReplay](f.Evidence)
			return f.Cause == CauseCompute && *f.Rank == 1 && r.Masked && r.Joint > r.Saved
		}},
		"a stage that takes less than others in some steps is not slow": {-1.12, -1.08, func(s *pipeline.Spec, others float64) {
			s.Layout.DP = 2
			s.Faults = []pipeline.Fault{{Kind: pipeline.SlowStage, Where: pipeline.Where{PP: at(1)}, Size: pipeline.Size{Factor: 1.7}, When: pipeline.When{Until: 3}}}
			for _, stage := range []int{0, 2, 3} {
				s.Faults = append(s.Faults, pipeline.Fault{Kind: pipeline.SlowStage, Where: pipeline.Where{PP: at(stage)}, Size: pipeline.Size{Factor: -others}, When: pipeline.When{From: 3}})
			}
		}, func(f Finding) bool { return f.Cause == CauseHeavy }},
		"passes of a microbatch that are related by 30 %": {1.14, 1.2, func(s *pipeline.Spec, factor float64) {
			s.Ops.Forward.Jitter, s.Ops.Backward.Jitter = 0.2, 0.2
			s.Faults = []pipeline.Fault{{Kind: pipeline.Workload, Size: pipeline.Size{Factor: factor}}}
		}, func(f Finding) bool {
			_, related := evidence.Find[evidence.MicrobatchCorrelation](f.Evidence)
			return f.Cause == CauseTurns && related
		}},
	} {
		for i, size := range []float64{c.below, c.above} {
			v := operatorVerdict(t, operatorJob(t, func(s *pipeline.Spec) { c.set(s, size) }))
			if got := slices.ContainsFunc(v.Findings, c.told); got != (i == 1) {
				var all []string
				for _, f := range v.Findings {
					all = append(all, fmt.Sprint(f.Cause, " ", show(f)))
				}
				t.Errorf("%s: %v: %v, want it told: %v", name, size, all, i == 1)
			}
		}
	}
}

// TestCostlyKinds: a kind of operators is listed if it makes a step longer by half a percent, here of 10.3 s.
func TestCostlyKinds(t *testing.T) {
	for delay, want := range map[pipeline.Millis]bool{44: false, 67: true} {
		v := operatorVerdict(t, operatorJob(t, func(s *pipeline.Spec) {
			s.Faults = []pipeline.Fault{{Kind: pipeline.SlowWorker, Where: pipeline.Where{DP: at(1), PP: at(2), Op: "optimizer"}, Size: pipeline.Size{Delay: delay}}}
		}))
		if got := slices.ContainsFunc(v.Operators.Costly(), func(p whatif.Part) bool { return p.Name == "optimizer" }); got != want {
			t.Errorf("%v ms of the optimizer: %v, want it listed: %v", delay, got, want)
		}
	}
}

// TestHostOverheadThresholds: launching on all hosts is told of if it costs the least gain and the stage is a large part of the step.
func TestHostOverheadThresholds(t *testing.T) {
	for _, c := range []struct {
		name                  string
		forward, device, data simulate.Millis // of work
		minGain               float64
		want                  bool
	}{
		{"a quarter of the step", 150, 75, 16, 0, true},
		{"a quarter of the step, which is too little", 150, 75, 16, 0.3, false},
		{"in less than four tenths of the step", 150, 75, 130, 0, false},
	} {
		s := deviceJob
		s.Stages = slices.Clone(s.Stages)
		s.Stages[0].Work.Mean, s.Stages[1].Work.Mean, s.Stages[1].Device.Mean = c.data, c.forward, c.device
		v := judged(t, Options{MinGain: c.minGain}, changed(t, s)...)
		if got := slices.ContainsFunc(v.Findings, func(f Finding) bool { return f.Cause == CauseHost }); got != c.want {
			t.Errorf("%s: %q, want it told: %v", c.name, inShort(v), c.want)
		}
	}
}

// TestPeersOfACommunicator: of three communicators that do the same the slow one is known, of four it is certain.
func TestPeersOfACommunicator(t *testing.T) {
	for nodes, want := range map[int]evidence.Confidence{3: evidence.Supported, 4: evidence.Strong} {
		s, err := jobs.Scenario("slow-group", nodes, 1)
		if err != nil {
			t.Fatal(err)
		}
		s.Steps = 4
		f := judged(t, Options{}, commtest.ScenarioRecord(t, s, nil)).Findings[0]
		lack, few := evidence.Find[evidence.Lack](f.Evidence)
		if f.Kind != KindGroup || f.Confidence != want || few != (nodes == 3) || few && (lack.Reason != evidence.FewPeers || lack.N != 2) {
			t.Errorf("%d communicators: %s", nodes, findingInShort(&f))
		}
	}
}

// TestGroupShare: a group of ranks that loads 6 ms longer than another, and computes almost as much less, is told of if it works longer by
// 1 % of the step.
func TestGroupShare(t *testing.T) {
	for more, want := range map[int64]bool{800_000: false, 1_200_000: true} { // ns of steps of 100 ms
		w := byHand(20)
		for r := range w.Ranks {
			w.Ranks[r].Role = trace.Role{{Axis: "dp", Index: r % 2}, {Axis: "pp", Index: r / 2}}
		}
		for step := range 20 {
			row := w.Step(step)
			for r := 2; r < 4; r++ {
				row[r] += 6_000_000
				row[4+r] -= 6_000_000 - more
				row[8+r] -= more
			}
		}
		v := verdictOn(t, w)
		got := slices.ContainsFunc(v.Findings, func(f Finding) bool { return f.Kind == KindGroup && f.Cause == CauseMoreWork })
		if got != want {
			t.Errorf("%d ns of 100 ms: %+v, want it told: %v", more, v.Findings, want)
		}
	}
}

// TestAccomplice: a rank that stage times find late, and that enters its collectives in time, waited for another if that one saves a quarter as much.
func TestAccomplice(t *testing.T) {
	rank := 3
	f := Finding{Kind: KindRank, Cause: CauseLate, Place: Place{Rank: &rank, Stage: "forward"}, Cost: Cost{RunGain: 0.4, Excess: 100e6}}
	for saves, want := range map[float64]bool{0.09: false, 0.11: true} {
		r := &arrivals.Result{Late: []claim.Claim{{Ranks: []int{5}, Saves: claim.Exact(saves)}}, Places: []arrivals.Place{{Repeats: true, Ranks: []arrivals.RankAt{{Rank: 3}}}}}
		if got := f.inherits(r); got != want {
			t.Errorf("another saves %v of 0.4: %v, want %v", saves, got, want)
		}
	}
	// Its own delay before a call is more than a quarter of it, or another's more than half.
	for _, c := range []struct {
		own, other int64
		want       bool
	}{{24e6, 51e6, true}, {26e6, 51e6, false}, {0, 49e6, false}} {
		r := &arrivals.Result{Places: []arrivals.Place{{Repeats: true, Ranks: []arrivals.RankAt{{Rank: 3, Delay: c.own}, {Rank: 5, Delay: c.other}}}}}
		if got := f.inherits(r); got != c.want {
			t.Errorf("delays of %d and %d of 100 ms: %v, want %v", c.own, c.other, got, c.want)
		}
	}
}
