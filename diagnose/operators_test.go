package diagnose

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/eval/simulate/pipeline"
	"github.com/sfstat/sfstat/fixtures/optrace/pipesim"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/optrace"
	"github.com/sfstat/sfstat/internal/largedata"
	"github.com/sfstat/sfstat/trace/operator"
)

func operatorVerdict(t *testing.T, o *operator.Trace) *Verdict {
	t.Helper()
	s := New(Options{})
	if err := s.Add(o); err != nil {
		t.Fatal(err)
	}
	return s.Verdict()
}

// published opens one of the public production traces.
func published(t *testing.T, name string) *operator.Trace {
	t.Helper()
	path := largedata.Need(t, filepath.Join("data", "optrace", "trace-"+name+".parquet"))
	o, err := optrace.Open(path, ingest.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestOperatorClaims: whatever is slow, the judge returns claims about operators that are sound, and findings that repeat them.
func TestOperatorClaims(t *testing.T) {
	for kind, size := range map[pipeline.Kind]pipeline.Size{pipeline.SlowWorker: {Factor: 2}, pipeline.SlowOp: {Delay: 2500}, pipeline.SlowStage: {Factor: 1.6}, pipeline.Workload: {Factor: 1.5},
		pipeline.SlowEdge: {Delay: 400}, pipeline.SlowGroup: {Delay: 3000}, pipeline.LateStart: {Delay: 2500}} {
		j, err := examine(made(t, job(func(s *pipeline.Spec) { s.Faults = []pipeline.Fault{{Kind: kind, Size: size}} })))
		if err != nil {
			t.Fatal(err)
		}
		j.gates, j.minGain = New(Options{}).gates()
		v, err := j.judge("")
		if err != nil || len(v.Findings) == 0 || len(v.Findings) != len(j.theories) {
			t.Fatalf("%v: %d findings of %d claims, %v", kind, len(v.Findings), len(j.theories), err)
		}
		for i, one := range j.theories {
			c, f := &one.Claim, &v.Findings[i]
			if err := c.Validate(); err != nil || c.Source != claim.Operators {
				t.Errorf("%v: %v of %v", kind, err, c.Source)
			}
			if f.RunGain != c.Saves.Alone || f.Explained != c.Charged() || f.Op != c.Op || f.Rank != nil && *f.Rank != c.Ranks[0] {
				t.Errorf("%v: %s, claimed %+v", kind, show(*f), c)
			}
		}
	}
}

// TestPublishedTraces: the verdicts on the public traces are their published
// causes.
func TestPublishedTraces(t *testing.T) {
	t.Run("one slow worker", func(t *testing.T) {
		v := operatorVerdict(t, published(t, "AR"))
		s := v.Findings[0]
		if s.Kind != KindRank || *s.Rank != 0 || s.Role != "dp=0,pp=0" || s.Confidence != evidence.Strong {
			t.Errorf("suspect %s", show(s))
		}
		if faster := 1 / (1 - s.Gain); faster < 1.9 || faster > 2.1 {
			t.Errorf("fixing it makes a step %.2f times as fast, expected 2", faster)
		}
		for _, o := range v.Findings[1:] {
			if o.IsFlagged() {
				t.Errorf("a victim is called: %s", show(o))
			}
		}
	})
	t.Run("uneven microbatches", func(t *testing.T) {
		v := operatorVerdict(t, published(t, "SE"))
		first, second := v.Findings[0], v.Findings[1]
		if first.Kind != KindWorkload || first.Confidence != evidence.Strong {
			t.Errorf("suspect %s", show(first))
		}
		if second.Kind != KindStage || second.Stage != "pp=1" || !second.IsFlagged() {
			t.Errorf("second suspect %s", show(second))
		}
		for _, o := range v.Findings[2:] {
			if o.IsFlagged() {
				t.Errorf("also called: %s", show(o))
			}
		}
	})
}

// job is a small healthy job, and variations of it.
func job(change func(*pipeline.Spec)) pipeline.Spec {
	s := pipeline.DefaultSpec()
	s.Layout.Microbatches, s.Steps.Count, s.Seed = 8, 12, 5
	if change != nil {
		change(&s)
	}
	return s
}

func made(t *testing.T, s pipeline.Spec) *operator.Trace {
	t.Helper()
	o, _, err := pipeline.Make(s)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func at(n int) *int { return &n }

// TestOperatorFaults: every kind of fault, large enough to matter, is the
// first suspect, and is called.
func TestOperatorFaults(t *testing.T) {
	for _, test := range []struct {
		name  string
		fault pipeline.Fault
		right func(Finding) bool
	}{
		{"slow worker", pipeline.Fault{Kind: pipeline.SlowWorker, Where: pipeline.Where{DP: at(2), PP: at(1)}, Size: pipeline.Size{Factor: 1.5}},
			func(s Finding) bool { return s.Kind == KindRank && *s.Rank == 1*4+2 && s.Confidence == evidence.Strong }},
		{"slow forward", pipeline.Fault{Kind: pipeline.SlowWorker, Where: pipeline.Where{DP: at(0), PP: at(3), Op: "forward-compute"}, Size: pipeline.Size{Factor: 2}},
			func(s Finding) bool {
				return s.Kind == KindRank && *s.Rank == 12 && s.Op == "forward-compute" && s.Confidence == evidence.Strong
			}},
		{"slow worker now and then", pipeline.Fault{Kind: pipeline.SlowWorker, Where: pipeline.Where{DP: at(1), PP: at(2)}, Size: pipeline.Size{Factor: 3}, When: pipeline.When{Every: 4}},
			func(s Finding) bool {
				return s.Kind == KindRank && *s.Rank == 2*4+1 && s.IsFlagged() && s.Struck.Count == 3 && s.Struck.Of == 12 && s.Struck.Period == 4 &&
					s.Gain > 2*s.RunGain && s.Excess*3 < int64(1.2*float64(s.Explained))
			}},
		{"slow operator", pipeline.Fault{Kind: pipeline.SlowOp, Where: pipeline.Where{DP: at(3), PP: at(0), Op: "backward-compute", Seq: at(4)}, Size: pipeline.Size{Delay: 2500}},
			func(s Finding) bool {
				return s.Kind == KindOp && *s.Rank == 3 && s.Op == "backward-compute" && *s.Seq == 4 && s.Confidence == evidence.Strong
			}},
		{"slow last stage", pipeline.Fault{Kind: pipeline.SlowStage, Where: pipeline.Where{PP: at(3)}, Size: pipeline.Size{Factor: 1.4}},
			func(s Finding) bool {
				return s.Kind == KindStage && s.Stage == "pp=3" && s.Confidence == evidence.Strong
			}},
		{"uneven microbatches", pipeline.Fault{Kind: pipeline.Workload, Size: pipeline.Size{Factor: 1.5}},
			func(s Finding) bool { return s.Kind == KindWorkload && s.IsFlagged() }},
		{"slow edge", pipeline.Fault{Kind: pipeline.SlowEdge, Where: pipeline.Where{DP: at(1), PP: at(1)}, Size: pipeline.Size{Delay: 400}},
			func(s Finding) bool {
				return s.Kind == KindEdge && *s.Rank == 1*4+1 && s.Op == "forward-send" && s.IsFlagged()
			}},
		{"slow group", pipeline.Fault{Kind: pipeline.SlowGroup, Where: pipeline.Where{PP: at(2)}, Size: pipeline.Size{Delay: 3000}},
			func(s Finding) bool { return s.Kind == KindGroup && s.Stage == "pp=2" && s.IsFlagged() }},
		{"late start", pipeline.Fault{Kind: pipeline.LateStart, Where: pipeline.Where{DP: at(2), PP: at(0), Op: "forward-compute", Seq: at(6)}, Size: pipeline.Size{Delay: 2500}},
			func(s Finding) bool {
				return s.Kind == KindEdge && *s.Rank == 2 && s.Op == "forward-compute" && s.IsFlagged()
			}},
	} {
		for _, layout := range []string{"1F1B", "interleaved, clocks apart"} {
			t.Run(test.name+", "+layout, func(t *testing.T) {
				v := operatorVerdict(t, made(t, job(func(s *pipeline.Spec) {
					s.Faults = []pipeline.Fault{test.fault}
					if layout != "1F1B" {
						s.Layout.Chunks, s.Clock.SkewSD, s.Layout.EarlyReduce = 2, 5, true
					}
				})))
				if len(v.Findings) == 0 {
					t.Fatalf("no suspect, status %v", v.Status)
				}
				if !test.right(v.Findings[0]) {
					t.Errorf("suspect %s, status %v\n%v", show(v.Findings[0]), v.Status, v.Findings[0].Evidence)
				}
				for _, s := range v.Findings[1:] {
					if s.IsFlagged() {
						t.Errorf("also called: %s", show(s))
					}
				}
			})
		}
	}
}

// TestHealthyJobs: nothing is listed, and nothing called.
func TestHealthyJobs(t *testing.T) {
	listed := 0
	const jobs = 60
	for seed := range uint64(jobs) {
		v := operatorVerdict(t, made(t, job(func(s *pipeline.Spec) {
			s.Seed, s.Layout.DP, s.Layout.PP, s.Layout.Microbatches = seed, 2+int(seed%7), 1+int(seed%4), 4+4*int(seed%2)
			s.Steps.Count = 6 + int(seed%9)
		})))
		if len(v.Findings) > 0 {
			listed++
			t.Logf("seed %d: %s, %s", seed, show(v.Findings[0]), v.Status)
		}
		if len(v.Findings) > 0 && v.Findings[0].IsFlagged() {
			t.Errorf("seed %d: %s", seed, v.Status)
		}
	}
	if listed > 3 {
		t.Errorf("%d of %d healthy jobs have a suspect", listed, jobs)
	}
}

// TestEqualStragglersOfAJob: fixing one of two that are equally slow saves
// nothing, and both are called.
func TestEqualStragglersOfAJob(t *testing.T) {
	v := operatorVerdict(t, made(t, job(func(s *pipeline.Spec) {
		s.Layout.DP = 6
		for _, dp := range []int{1, 4} {
			s.Faults = append(s.Faults, pipeline.Fault{Kind: pipeline.SlowWorker, Where: pipeline.Where{DP: at(dp), PP: at(1)}, Size: pipeline.Size{Factor: 1.6}})
		}
	})))
	var ranks []int
	for _, s := range v.Findings {
		if s.IsFlagged() {
			ranks = append(ranks, *s.Rank)
		}
	}
	slices.Sort(ranks)
	if !slices.Equal(ranks, []int{7, 10}) || !slices.Equal(v.Findings[0].Ranks, ranks) {
		t.Errorf("called %v, together %v", ranks, v.Findings[0].Ranks)
	}
}

// TestMaskedCauses: a slow worker and a heavy stage hide each other, and so do
// two heavy stages: fixing one alone saves little, and both are called.
func TestMaskedCauses(t *testing.T) {
	stage := func(pp int) pipeline.Fault {
		return pipeline.Fault{Kind: pipeline.SlowStage, Where: pipeline.Where{PP: at(pp)}, Size: pipeline.Size{Factor: 1.3}}
	}
	worker := pipeline.Fault{Kind: pipeline.SlowWorker, Where: pipeline.Where{DP: at(3), PP: at(0)}, Size: pipeline.Size{Factor: 1.5}}
	for _, faults := range [][]pipeline.Fault{{worker, stage(3)}, {stage(1), stage(3)}} {
		v := operatorVerdict(t, made(t, job(func(s *pipeline.Spec) { s.Faults = faults })))
		called := 0
		for _, s := range v.Findings {
			if !s.IsFlagged() {
				continue
			}
			called++
			if r, _ := evidence.Find[evidence.StepReplay](s.Evidence); !r.Masked || r.Joint <= r.Saved {
				t.Errorf("not masked: %+v", r)
			}
			if s.Kind == KindRank && *s.Rank != 3 || s.Kind == KindStage && s.Stage == "pp=0" || s.Gain > 0.08 {
				t.Errorf("called: %s", show(s))
			}
		}
		if called != 2 {
			t.Errorf("%d causes called", called)
		}
	}
}

// TestHardCases: what is easily told wrong. calls are the suspects at supported
// or above, as kind, rank (−1: none) and operator, in any order.
func TestHardCases(t *testing.T) {
	type call struct {
		kind Kind
		rank int
		op   string
	}
	fault := func(kind pipeline.Kind, dp, pp int, size pipeline.Size) pipeline.Fault {
		return pipeline.Fault{Kind: kind, Where: pipeline.Where{DP: at(dp), PP: at(pp)}, Size: size}
	}
	late := func(dp, pp, seq int) pipeline.Fault {
		f := fault(pipeline.LateStart, dp, pp, pipeline.Size{Delay: 2500})
		f.Op, f.Seq = "forward-compute", at(seq)
		return f
	}
	optimizer := fault(pipeline.SlowOp, 1, 2, pipeline.Size{Delay: 2000})
	optimizer.Op = "optimizer"
	nowAndThen := fault(pipeline.SlowWorker, 2, 0, pipeline.Size{Factor: 5})
	nowAndThen.Every = 5
	edge := func(dp int) pipeline.Fault { return fault(pipeline.SlowEdge, dp, 1, pipeline.Size{Delay: 400}) }
	for _, test := range []struct {
		name   string
		dp, pp int
		faults []pipeline.Fault
		calls  []call
	}{
		{"two late starts hide each other", 4, 4, []pipeline.Fault{late(1, 0, 0), late(2, 3, 5)},
			[]call{{KindEdge, 1, "forward-compute"}, {KindEdge, 14, "forward-compute"}}},
		{"a late start and a slow worker on one rank", 4, 4, []pipeline.Fault{late(1, 0, 0), fault(pipeline.SlowWorker, 1, 0, pipeline.Size{Factor: 1.4})},
			[]call{{KindEdge, 1, "forward-compute"}, {KindRank, 1, ""}}},
		{"a late start with two replicas", 2, 2, []pipeline.Fault{late(1, 1, 3)}, []call{{KindEdge, 3, "forward-compute"}}},
		{"a slow optimizer makes the next step late", 4, 4, []pipeline.Fault{optimizer}, []call{{KindOp, 9, "optimizer"}}},
		{"slow now and then beside slow always, one stage", 4, 1, []pipeline.Fault{nowAndThen, fault(pipeline.SlowWorker, 1, 0, pipeline.Size{Factor: 1.2})},
			[]call{{KindRank, 2, ""}}},
		{"a slow edge with two replicas", 2, 3, []pipeline.Fault{edge(1)}, []call{{KindEdge, 3, "forward-send"}}},
		{"a slow link in all replicas", 3, 4, []pipeline.Fault{edge(0), edge(1), edge(2)}, []call{{KindEdge, -1, "forward-send"}}},
		{"uneven microbatches with two replicas", 2, 1, []pipeline.Fault{{Kind: pipeline.Workload, Size: pipeline.Size{Factor: 1.5}}}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := operatorVerdict(t, made(t, job(func(s *pipeline.Spec) { s.Layout.DP, s.Layout.PP, s.Faults = test.dp, test.pp, test.faults })))
			var calls []call
			for _, s := range v.Findings {
				if s.IsFlagged() && s.Kind != KindWorkload {
					c := call{s.Kind, -1, s.Op}
					if s.Rank != nil {
						c.rank = *s.Rank
					}
					calls = append(calls, c)
				}
				if s.Gain > 1 || s.Gain < 0 {
					t.Errorf("gain %v of %s", s.Gain, show(s))
				}
			}
			byRank := func(a, b call) int { return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(b.op, a.op)) }
			slices.SortFunc(calls, byRank)
			slices.SortFunc(test.calls, byRank)
			if !slices.Equal(calls, test.calls) {
				t.Errorf("called %v, expected %v; status %v", calls, test.calls, v.Status)
			}
		})
	}
}

// TestWrappedLinks: with two stages interleaved, twice as much goes one way
// round as the other, each time as fast: no link is slow.
func TestWrappedLinks(t *testing.T) {
	v := operatorVerdict(t, made(t, job(func(s *pipeline.Spec) {
		s.Layout.PP, s.Layout.Chunks = 2, 2
		s.Ops.ForwardTransfer.Mean, s.Ops.BackwardTransfer.Mean = 150, 150
	})))
	for _, s := range v.Findings {
		if s.Kind == KindEdge {
			t.Errorf("suspect %s", show(s))
		}
	}
}

// TestLongByTurns: a garbage collector that pauses now one worker, now another,
// is named as such, and no worker is.
func TestLongByTurns(t *testing.T) {
	v := operatorVerdict(t, made(t, job(func(s *pipeline.Spec) {
		s.Ops.Collect.Mean, s.Steps.Count = 5, 16
		for w := range 16 {
			f := pipeline.Fault{Kind: pipeline.SlowWorker, Where: pipeline.Where{DP: at(w % 4), PP: at(w / 4), Op: "gc"}, Size: pipeline.Size{Delay: 2500}}
			f.From, f.Until = int64(w), int64(w+1)
			s.Faults = append(s.Faults, f)
		}
	})))
	if s := v.Findings[0]; s.Kind != KindOp || s.Op != "gc" || s.Rank != nil || !s.IsFlagged() || s.Gain < 0.1 {
		t.Errorf("suspect %s", show(s))
	}
}

// TestUsualDifferences: optimizers that differ among workers by a few percent,
// and hardly vary in themselves, are surely different and nobody's fault.
func TestUsualDifferences(t *testing.T) {
	v := operatorVerdict(t, made(t, job(func(s *pipeline.Spec) {
		s.Layout.DP, s.SpeedSD, s.Steps.Count = 16, 0.02, 20
		s.Ops.Optimizer.Mean, s.Ops.Optimizer.Jitter = 500, 0.001
	})))
	for _, s := range v.Findings {
		if s.Op == "optimizer" || s.IsFlagged() {
			t.Errorf("suspect %s", show(s))
		}
	}
}

// TestHeadlineNumbers: what a step would take is what it takes in the same job
// without the fault, and starts from what was recorded.
func TestHeadlineNumbers(t *testing.T) {
	for _, f := range []pipeline.Fault{
		{Kind: pipeline.SlowWorker, Where: pipeline.Where{DP: at(2), PP: at(1)}, Size: pipeline.Size{Factor: 1.6}},
		{Kind: pipeline.LateStart, Where: pipeline.Where{DP: at(1), PP: at(2), Op: "forward-compute", Seq: at(2)}, Size: pipeline.Size{Delay: 2500}},
		{Kind: pipeline.SlowStage, Where: pipeline.Where{PP: at(2)}, Size: pipeline.Size{Factor: 1.5}},
	} {
		spec := job(func(s *pipeline.Spec) { s.Faults = []pipeline.Fault{f} })
		sick, healthy := operatorVerdict(t, made(t, spec)), operatorVerdict(t, made(t, spec.Healthy()))
		s := sick.Findings[0]
		recorded := sick.Operators.Replay.Recorded.Mean
		if then, want := recorded*(1-s.Gain), healthy.Operators.Replay.Recorded.Mean; then < 0.98*want || then > 1.02*want {
			t.Errorf("%v: a step of %.0f ms would take %.0f, the healthy twin takes %.0f", f.Kind, recorded/1e6, then/1e6, want/1e6)
		}
		if part := float64(s.Explained) / recorded / float64(len(sick.Operators.Steps)); part < s.Gain-0.01 || part > s.Gain+0.01 {
			t.Errorf("%v: explains %.3f of the step, gain %.3f", f.Kind, part, s.Gain)
		}
	}
}

// TestBrokenSchedules: times that contradict the schedule stop blame, and
// nothing else.
func TestBrokenSchedules(t *testing.T) {
	o := made(t, job(func(s *pipeline.Spec) {
		s.Faults = []pipeline.Fault{{Kind: pipeline.SlowWorker, Where: pipeline.Where{DP: at(2), PP: at(1)}, Size: pipeline.Size{Factor: 2}}}
	}))
	for i := range o.Start { // a tenth of a second is all that is known
		o.Start[i], o.Dur[i] = o.Start[i]/1e8*1e8, o.Dur[i]/1e8*1e8
	}
	if err := o.Arrange(nil); err != nil {
		t.Fatal(err)
	}
	if v := operatorVerdict(t, o); v.Findings[0].Rank == nil || *v.Findings[0].Rank != 6 {
		t.Errorf("status %v", v.Status)
	}
}

// TestStandingStill: time before the first operators, on all replicas alike, is nobody's.
func TestStandingStill(t *testing.T) {
	v := operatorVerdict(t, pipesim.Make(pipesim.Spec{DP: 4, PP: 4, Microbatches: 8, Steps: 10, Noise: 0.01, HostDelay: 150e6}))
	if len(v.Findings) > 0 {
		t.Errorf("suspect %s", show(v.Findings[0]))
	}
}

// TestFewReplicas: two replicas can show who is slower, never strongly; one
// can show stages.
func TestFewReplicas(t *testing.T) {
	slow := []pipeline.Fault{{Kind: pipeline.SlowWorker, Where: pipeline.Where{DP: at(1), PP: at(1)}, Size: pipeline.Size{Factor: 1.6}}}
	v := operatorVerdict(t, made(t, job(func(s *pipeline.Spec) { s.Layout.DP, s.Faults = 2, slow })))
	if s := v.Findings[0]; s.Kind != KindRank || *s.Rank != 3 || s.Confidence != evidence.Supported {
		t.Errorf("two replicas: %s, %v", show(s), v.Status)
	}
	v = operatorVerdict(t, made(t, job(func(s *pipeline.Spec) {
		s.Layout.DP, s.Faults = 1, []pipeline.Fault{{Kind: pipeline.SlowStage, Where: pipeline.Where{PP: at(2)}, Size: pipeline.Size{Factor: 1.6}}}
	})))
	if s := v.Findings[0]; s.Kind != KindStage || s.Stage != "pp=2" || s.Confidence != evidence.Supported {
		t.Errorf("one replica: %s, %v", show(s), v.Status)
	}
	if len(v.Undecided) == 0 || v.Undecided[0].Question != answer.WhichOfFew {
		t.Errorf("undecided %v", v.Undecided)
	}
}

// TestScalingTime: all times eight times as long change no suspect, and what
// they explain eightfold.
func TestScalingTime(t *testing.T) {
	o := made(t, job(func(s *pipeline.Spec) {
		s.Faults = []pipeline.Fault{{Kind: pipeline.SlowWorker, Where: pipeline.Where{DP: at(2), PP: at(1)}, Size: pipeline.Size{Factor: 1.5}}}
	}))
	a := operatorVerdict(t, o).Findings[0]
	for i := range o.Start {
		o.Start[i], o.Dur[i] = 8*o.Start[i], 8*o.Dur[i]
	}
	b := operatorVerdict(t, o).Findings[0]
	if *a.Rank != *b.Rank || a.Confidence != b.Confidence || fmt.Sprintf("%.6f %.6f", a.Gain, a.Score) != fmt.Sprintf("%.6f %.6f", b.Gain, b.Score) {
		t.Errorf("%s becomes %s", show(a), show(b))
	}
	if r := float64(b.Explained) / float64(a.Explained); r < 7.99 || r > 8.01 {
		t.Errorf("explains %d, then %d ns", a.Explained, b.Explained)
	}
}

// TestWindowsAndOperators: both may be in one session.
func TestWindowsAndOperators(t *testing.T) {
	s := New(Options{})
	for _, w := range windows(t, spec(8, 40, 1)) {
		if err := s.Add(w); err != nil {
			t.Fatal(err)
		}
	}
	o := made(t, job(func(s *pipeline.Spec) {
		s.Faults = []pipeline.Fault{{Kind: pipeline.SlowWorker, Where: pipeline.Where{DP: at(2), PP: at(1)}, Size: pipeline.Size{Factor: 2}}}
	}))
	if err := s.Add(o); err != nil {
		t.Fatal(err)
	}
	if v := s.Verdict(); len(v.Runs) != 2 || v.Operators == nil || *v.Findings[0].Rank != 6 {
		t.Errorf("%d runs, status %v", len(v.Runs), v.Status)
	}
}
