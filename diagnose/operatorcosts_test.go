package diagnose

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/eval/simulate/pipeline"
)

// still returns a job of twelve steps of eight microbatches in which nothing varies: forward passes of 217.5 ms, backward passes
// of 382 ms, on four replicas of four stages.
func still(change func(*pipeline.Spec)) pipeline.Spec {
	return job(func(s *pipeline.Spec) {
		s.SpeedSD, s.Between = 0, pipeline.Dist{}
		o := &s.Ops
		for _, op := range []*pipeline.Op{&o.Forward, &o.Backward, &o.ForwardTransfer, &o.BackwardTransfer, &o.Gather, &o.Reduce, &o.SeparateReduce, &o.Layernorm, &o.Embedding, &o.Clip, &o.Optimizer, &o.Collect} {
			op.Jitter, op.Launch = 0, pipeline.Dist{}
		}
		change(s)
	})
}

// stepsWith returns how long the steps of such a job with some faults take, ns.
func stepsWith(t *testing.T, change func(*pipeline.Spec), faults ...pipeline.Fault) []int64 {
	t.Helper()
	j, err := examine(made(t, still(func(s *pipeline.Spec) {
		change(s)
		s.Faults = faults
	})))
	if err != nil {
		t.Fatal(err)
	}
	return j.Replay.Recorded.PerStep
}

func sumOver(steps []int64, struck func(step int) bool) (sum float64) {
	for t, x := range steps {
		if struck == nil || struck(t) {
			sum += float64(x)
		}
	}
	return sum
}

// slowWorker and its like return faults of one place.
func slowWorker(dp, pp int, factor float64) pipeline.Fault {
	return pipeline.Fault{Kind: pipeline.SlowWorker, Where: pipeline.Where{DP: at(dp), PP: at(pp)}, Size: pipeline.Size{Factor: factor}}
}

func slowStage(pp int, factor float64) pipeline.Fault {
	return pipeline.Fault{Kind: pipeline.SlowStage, Where: pipeline.Where{PP: at(pp)}, Size: pipeline.Size{Factor: factor}}
}

// TestOperatorCosts: what the faults of a job in which nothing varies cost is how much longer its steps are than those of the same
// job without them, to a ten-thousandth: each alone, as the only one, and all together.
func TestOperatorCosts(t *testing.T) {
	forward := slowWorker(1, 2, 2)
	forward.Where.Op = "forward-compute"
	every := slowWorker(2, 1, 3)
	every.When = pipeline.When{Every: 4}
	lateStart := func(dp, pp int, seq int) pipeline.Fault {
		return pipeline.Fault{Kind: pipeline.LateStart, Where: pipeline.Where{DP: at(dp), PP: at(pp), Op: "forward-compute", Seq: at(seq)}, Size: pipeline.Size{Delay: 2500}}
	}
	link := func(s *pipeline.Spec) {}
	var links []pipeline.Fault
	for dp := range 4 {
		links = append(links, pipeline.Fault{Kind: pipeline.SlowEdge, Where: pipeline.Where{DP: at(dp), PP: at(1)}, Size: pipeline.Size{Delay: 300}})
	}
	type found struct {
		cause Cause
		rank  int   // −1: none
		of    []int // faults that it is about
		steps func(step int) bool
	}
	for name, c := range map[string]struct {
		faults []pipeline.Fault
		change func(*pipeline.Spec)
		want   []found
	}{
		"a worker":                       {[]pipeline.Fault{slowWorker(2, 1, 1.5)}, link, []found{{CauseCompute, 6, []int{0}, nil}}},
		"two of which one hides another": {[]pipeline.Fault{slowWorker(2, 1, 1.5), slowWorker(0, 2, 1.4)}, link, []found{{CauseCompute, 6, []int{0}, nil}, {CauseCompute, 8, []int{1}, nil}}},
		"two of one stage":               {[]pipeline.Fault{slowWorker(2, 1, 1.5), slowWorker(3, 1, 1.4)}, link, []found{{CauseCompute, 6, []int{0}, nil}, {CauseCompute, 7, []int{1}, nil}}},
		"at every fourth step":           {[]pipeline.Fault{every}, link, []found{{CauseCompute, 6, []int{0}, func(step int) bool { return step%4 == 0 }}}},
		"an operator": {[]pipeline.Fault{{Kind: pipeline.SlowOp, Where: pipeline.Where{DP: at(3), PP: at(0), Op: "backward-compute", Seq: at(4)}, Size: pipeline.Size{Delay: 2500}}}, link,
			[]found{{CauseCompute, 3, []int{0}, nil}}},
		"a kind of operators": {[]pipeline.Fault{forward}, link, []found{{CauseCompute, 9, []int{0}, nil}}},
		"a stage":             {[]pipeline.Fault{slowStage(3, 1.4)}, link, []found{{CauseHeavy, -1, []int{0}, nil}}},
		"a transfer":          {[]pipeline.Fault{{Kind: pipeline.SlowEdge, Where: pipeline.Where{DP: at(1), PP: at(1)}, Size: pipeline.Size{Delay: 400}}}, link, []found{{CauseTransfer, 5, []int{0}, nil}}},
		"a collective":        {[]pipeline.Fault{{Kind: pipeline.SlowGroup, Where: pipeline.Where{PP: at(2)}, Size: pipeline.Size{Delay: 3000}}}, link, []found{{CauseCollective, -1, []int{0}, nil}}},
		"a link":              {links, link, []found{{CauseLink, -1, []int{0, 1, 2, 3}, nil}}},
		"a late start":        {[]pipeline.Fault{lateStart(2, 0, 6)}, link, []found{{CauseLaunch, 2, []int{0}, nil}}},
		"two such":            {[]pipeline.Fault{lateStart(2, 0, 6), lateStart(1, 0, 6)}, link, []found{{CauseLaunch, 2, []int{0}, nil}, {CauseLaunch, 1, []int{1}, nil}}},
		"in two chunks":       {[]pipeline.Fault{slowWorker(2, 1, 1.5)}, func(s *pipeline.Spec) { s.Layout.Chunks = 2 }, []found{{CauseCompute, 6, []int{0}, nil}}},
	} {
		t.Run(name, func(t *testing.T) {
			now, clean := stepsWith(t, c.change, c.faults...), stepsWith(t, c.change)
			n := float64(len(now))
			all := sumOver(now, nil)
			v := operatorVerdict(t, made(t, still(func(s *pipeline.Spec) {
				c.change(s)
				s.Faults = c.faults
			})))
			if len(v.Findings) != len(c.want) {
				t.Fatalf("%q, want %d findings", inShort(&v.RunVerdict), len(c.want))
			}
			sum := 0.0
			only, without := make([]float64, len(c.want)), make([][]int64, len(c.want))
			for i, w := range c.want {
				var alone, rest []pipeline.Fault
				for k, f := range c.faults {
					if slices.Contains(w.of, k) {
						alone = append(alone, f)
					} else {
						rest = append(rest, f)
					}
				}
				only[i], without[i] = sumOver(stepsWith(t, c.change, alone...), nil)-sumOver(clean, nil), stepsWith(t, c.change, rest...)
				sum += only[i]
			}
			near := func(what string, got, want float64) {
				t.Helper()
				if math.Abs(got-want) > 1e-4*max(1, math.Abs(want)) && math.Abs(got-want) > 1e-4*all/n*max(1e-9, min(1, math.Abs(want))) {
					t.Errorf("%s is %v, want %v", what, got, want)
				}
			}
			for i, w := range c.want {
				at := slices.IndexFunc(v.Findings, func(f Finding) bool {
					return f.Cause == w.cause && (w.rank < 0) == (f.Rank == nil) && (f.Rank == nil || *f.Rank == w.rank)
				})
				if at < 0 {
					t.Fatalf("%q, want %v of %d", inShort(&v.RunVerdict), w.cause, w.rank)
				}
				f := &v.Findings[at]
				saved, joint := all-sumOver(without[i], nil), all-sumOver(clean, nil)
				explained := max(saved, joint*only[i]/sum)
				struckSaved, struckNow := sumOver(now, w.steps)-sumOver(without[i], w.steps), sumOver(now, w.steps)
				count := float64(f.Struck.Count)
				if w.steps == nil {
					struckSaved, struckNow, count = explained, all, n
				}
				near("Explained", float64(f.Explained), explained)
				near("Score", f.Score, explained/all)
				near("RunGain", f.RunGain, saved/all)
				near("RunAtMost", f.RunAtMost, saved/all)
				near("Excess", float64(f.Excess), struckSaved/count)
				near("Step", float64(f.Step), struckNow/count)
				if w.steps == nil {
					near("Gain", f.Gain, saved/all)
				} else {
					near("Gain", f.Gain, struckSaved/struckNow)
				}
				r, ok := evidence.Find[evidence.StepReplay](f.Evidence)
				if !ok || r.Masked != (explained > 1.2*saved) || f.BelowMinGain != (max(explained, only[i])/all < 0.1) {
					t.Errorf("%+v, below the least gain %v; explains %v, saves %v of %v", r, f.BelowMinGain, explained, saved, all)
				}
				near("Step of the replay", float64(r.Step), all/n)
				near("Record of the replay", float64(r.Record), all/n)
				near("Saved of the replay", float64(r.Saved), saved/n)
				near("Share of the replay", r.Share, explained/all)
				if r.Masked {
					near("Joint of the replay", float64(r.Joint), joint/n)
				}
			}
		})
	}
}

// TestOperatorVerdicts: the findings of such jobs in short, with what speaks for them: times of passes by hand, 8·12 of each kind.
func TestOperatorVerdicts(t *testing.T) {
	from := func(f pipeline.Fault, step int64) pipeline.Fault { f.When.From = step; return f }
	forward := slowWorker(1, 2, 2)
	forward.Where.Op = "forward-compute"
	has := func(v *RunVerdict, e evidence.Observation) bool { return slices.Contains(v.Findings[0].Evidence, e) }
	for name, c := range map[string]struct {
		faults []pipeline.Fault
		change func(*pipeline.Spec)
		want   string
		check  func(v *RunVerdict) bool
	}{
		"a worker": {[]pipeline.Fault{slowWorker(2, 1, 1.5)}, nil, `
straggler, on operators: one_rank, saves every_step; by evidence.PassTimes
rank, compute: rank 6 for 24-27 in pp=1, strong, 1791 ms, 20 %
open: rank_of_worker
next: profile of 6 in pp=1`, func(v *RunVerdict) bool {
			e, _ := evidence.Find[evidence.OperatorTimes](v.Findings[0].Evidence)
			passes, _ := evidence.Find[evidence.PassTimes](v.Findings[0].Evidence)
			walks, _ := evidence.Find[evidence.BlameWalks](v.Findings[0].Evidence)
			return slices.Equal(e.In, []evidence.OpTime{{Op: "backward-compute", Own: 96 * 573e6, Peers: 96 * 382e6}, {Op: "forward-compute", Own: 96 * 326.25e6, Peers: 96 * 217.5e6}}) &&
				math.Abs(passes.Factor-1.5) < 1e-9 && passes.Peers == 3 && has(v, evidence.Outliers{Whole: 16, Steps: 16 * 12, Alpha: 0.004}) &&
				walks.End == walks.Symptoms && walks.Op == "backward-compute" && !walks.Gap && walks.Workers && slices.Equal(walks.Victims, []int{2, 14})
		}},
		"one kind of its operators": {[]pipeline.Fault{forward}, nil, `
straggler, on operators: one_rank, saves every_step, at forward-compute; by evidence.PassTimes
rank, compute: rank 9 for 36-39 in pp=2 at forward-compute, strong, 1513 ms, 18 %
open: rank_of_worker
next: profile of 9 in pp=2`, func(v *RunVerdict) bool {
			e, _ := evidence.Find[evidence.OperatorTimes](v.Findings[0].Evidence)
			return slices.Equal(e.In, []evidence.OpTime{{Op: "forward-compute", Own: 96 * 435e6, Peers: 96 * 217.5e6}})
		}},
		"a stage": {[]pipeline.Fault{slowStage(3, 1.4)}, nil, `
imbalance, on operators: all, saves every_step; by evidence.PassTimes
stage, heavy: in pp=3, strong, 1906 ms, 21 %
next: profile of 12 in pp=3`, func(v *RunVerdict) bool {
			e, _ := evidence.Find[evidence.PassTimes](v.Findings[0].Evidence)
			even := stepsWith(t, func(*pipeline.Spec) {}, slowStage(0, 1.1), slowStage(1, 1.1), slowStage(2, 1.1), slowStage(3, 1.1))[0] // a fourth of 0.4 each
			return *e.Stage == 3 && e.Peers == 3 && math.Abs(e.Factor-1.4) < 1e-9 && max(e.Even-even, even-e.Even) < 1e4
		}},
		"a collective": {[]pipeline.Fault{{Kind: pipeline.SlowGroup, Where: pipeline.Where{PP: at(2)}, Size: pipeline.Size{Delay: 3000}}}, nil, `
straggler, on operators: all, saves every_step, at grads-reduce-scatter, only supported; by evidence.TransferTimes, not work_unknown
group, collective: in pp=2 at grads-reduce-scatter of pp=2, supported, 2208 ms, 24 %; work_unknown
next: profile of 0,4,8,12 in pp=2`, func(v *RunVerdict) bool {
			e, _ := evidence.Find[evidence.TransferTimes](v.Findings[0].Evidence)
			return e.Op == "grads-reduce-scatter" && e.Stage == "pp=2" && e.To == "" && math.Abs(e.Factor-3214./214) < 1e-9
		}},
		"a late start": {[]pipeline.Fault{{Kind: pipeline.LateStart, Where: pipeline.Where{DP: at(2), PP: at(0), Op: "forward-compute", Seq: at(6)}, Size: pipeline.Size{Delay: 2500}}}, nil, `
straggler, on operators: one_rank, saves every_step, at forward-compute, only supported; by evidence.LaunchDelay, not wait_not_recorded
edge, launch: rank 2 for 8-11 in pp=0 at forward-compute, supported, 2497 ms, 26 %; wait_not_recorded
open: rank_of_worker
next: profile of 2 in pp=0`, func(v *RunVerdict) bool {
			walks, _ := evidence.Find[evidence.BlameWalks](v.Findings[0].Evidence)
			return has(v, evidence.LaunchDelay{Rank: 2, Op: "forward-compute", Delay: 2500e6, Outlier: true, Workers: true}) && walks.Gap && walks.End == walks.Symptoms && walks.Op == "forward-compute"
		}},
		"all stages from a step on": {[]pipeline.Fault{from(slowStage(0, 1.5), 10), from(slowStage(1, 1.5), 10), from(slowStage(2, 1.5), 10), from(slowStage(3, 1.5), 10)}, func(s *pipeline.Spec) { s.Steps.Count = 24 }, "", func(v *RunVerdict) bool {
			f := v.Findings[0]
			x, _ := evidence.Find[evidence.SlowSteps](f.Evidence)
			longer := float64(8 * (191e6 + 108.75e6)) // of both kinds of passes
			return f.Cause == CauseRegression && f.Kind == KindWorkload && f.Op == "backward-compute" && f.Struck == Struck{Count: 14, Of: 24, First: 10, Last: 23, Pattern: PatternWindow} &&
				has(v, evidence.Slower{Stage: "backward-compute", Steps: [2]int64{10, 23}, Time: 8 * 573e6, BaseSteps: [2]int64{0, 9}, BaseTime: 8 * 382e6}) &&
				x.N == 14 && x.Of == 24 && x.First == 10 && x.Last == 23 && x.Excess == int64(longer) && math.Abs(x.Factor-1-longer/v.Operators.Replay.Recorded.Mean) < 1e-4
		}},
		"slow transfers": {nil, func(s *pipeline.Spec) { s.Ops.ForwardTransfer.Mean, s.Ops.BackwardTransfer.Mean = 120, 120 }, `
no_straggler, on operators
open: transfer_hidden`, func(v *RunVerdict) bool {
			slow := func(s *pipeline.Spec) { s.Ops.ForwardTransfer.Mean, s.Ops.BackwardTransfer.Mean = 120, 120 }
			none := func(s *pipeline.Spec) {
				o := &s.Ops
				for _, op := range []*pipeline.Op{&o.ForwardTransfer, &o.BackwardTransfer, &o.Gather, &o.Reduce, &o.SeparateReduce, &o.Embedding, &o.Clip} {
					op.Mean = 1e-6
				}
			}
			now, free := stepsWith(t, slow)[0], stepsWith(t, none)[0]
			return math.Abs(v.Undecided[0].Share-float64(now-free)/float64(now)) < 1e-4
		}},
		"two replicas of one rank each": {nil, func(s *pipeline.Spec) { s.Layout.DP, s.Layout.TP = 2, 1 }, `
no_straggler, on operators
open: which_of_few`, func(v *RunVerdict) bool { return v.Undecided[0].N == 2 }},
		"four steps": {[]pipeline.Fault{slowWorker(2, 1, 1.5)}, func(s *pipeline.Spec) { s.Steps.Count = 4 }, "", func(v *RunVerdict) bool {
			i := slices.IndexFunc(v.Undecided, func(u answer.Undecided) bool { return u.Question == answer.FewSteps })
			return i >= 0 && v.Undecided[i].N == 4 && v.Findings[0].Confidence < evidence.Strong
		}},
	} {
		t.Run(name, func(t *testing.T) {
			v := operatorVerdict(t, made(t, still(func(s *pipeline.Spec) {
				if c.change != nil {
					c.change(s)
				}
				s.Faults = c.faults
			})))
			if c.want != "" {
				says(t, &v.RunVerdict, strings.TrimSpace(c.want))
			}
			if c.check != nil && !c.check(&v.RunVerdict) {
				t.Errorf("%+v\n%+v", v.Undecided, v.Findings)
			}
		})
	}
}
