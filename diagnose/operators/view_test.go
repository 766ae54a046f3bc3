package operators

import (
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/blame"
	"github.com/sfstat/sfstat/engine/ks"
	"github.com/sfstat/sfstat/engine/whatif"
	"github.com/sfstat/sfstat/engine/zscore"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/eval/simulate/pipeline"
)

// slow is a job in which one worker takes twice as long for its passes.
func slow(t *testing.T, change func(*pipeline.Spec)) *View {
	t.Helper()
	spec := pipeline.DefaultSpec()
	spec.Layout.Microbatches, spec.Steps.Count = 8, 12
	dp, pp := 2, 1
	spec.Faults = []pipeline.Fault{{Kind: pipeline.SlowWorker, Where: pipeline.Where{DP: &dp, PP: &pp}, Size: pipeline.Size{Factor: 2}}}
	if change != nil {
		change(&spec)
	}
	o, _, err := pipeline.Make(spec)
	if err != nil {
		t.Fatal(err)
	}
	v, err := New(o, whatif.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestEnginesAgree: all four engines, on what a view shows them, point at the
// slow worker, and the walk says that it was long and no victim.
func TestEnginesAgree(t *testing.T) {
	for name, change := range map[string]func(*pipeline.Spec){
		"one clock":    nil,
		"clocks apart": func(s *pipeline.Spec) { s.Clock.SkewSD, s.Clock.DriftPPM = 40, 20 },
	} {
		t.Run(name, func(t *testing.T) {
			v := slow(t, change)
			culprit := 1*v.Grid.Replicas + 2
			completion, err := ks.Analyze(v.Completions(), ks.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if test := completion.Scores[culprit].Test; test == nil || !test.Flagged {
				t.Errorf("the completion of the slow worker is not flagged: %+v", completion.Scores[culprit])
			}
			series, operators := v.Series()
			outliers, err := zscore.Analyze(series, zscore.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if w := outliers.Workers[0].Worker; w != culprit {
				t.Errorf("most excess is on worker %d, expected %d", w, culprit)
			}
			flags := v.Flags(outliers, series, operators)
			for step := range v.Grid.Steps {
				g, symptoms := flags.graph(step)
				r, err := blame.Analyze(g, symptoms, blame.Options{Tie: v.Tie()})
				if err != nil {
					t.Fatal(err)
				}
				if len(r.Causes) == 0 {
					t.Fatalf("step %d: no cause for %d symptoms", step, len(symptoms))
				}
				op, w := v.operation(r.Causes[0].Op)
				if r.Causes[0].Kind != blame.LongOp || w != culprit || !op.Class.IsCompute() {
					t.Errorf("step %d: %v of %s on worker %d, expected a long pass on %d", step, r.Causes[0].Kind, op.Name, w, culprit)
				}
			}
			now, err := v.Model.Replay(whatif.Timeline{})
			if err != nil {
				t.Fatal(err)
			}
			saved := v.Model.RecordedTimeline()
			lanes := v.Grid.Lanes()
			for n, node := range v.Model.Nodes() {
				for l := 2; node.Stage == 1 && l < lanes; l += v.Grid.Replicas {
					saved.Cost[n*lanes+l] = saved.Cost[n*lanes+l-1] // as the replica before it
				}
			}
			then, err := v.Model.Replay(whatif.Timeline{Cost: saved.Cost})
			if err != nil {
				t.Fatal(err)
			}
			if speedup := now.Mean / then.Mean; speedup < 1.5 || speedup > 2.2 {
				t.Errorf("fixing saves a factor of %.2f, expected about 1.9", speedup)
			}
		})
	}
}

// TestWindowsOfPipelineStages: the parts of a step fit its wall time, which is
// the same on all ranks of the job and is filled by the last of them; and only
// replicas share a window.
func TestWindowsOfPipelineStages(t *testing.T) {
	v := slow(t, nil)
	windows, err := Windows(v.Trace, v.Grid)
	if err != nil {
		t.Fatal(err)
	}
	if len(windows) != v.Grid.Stages {
		t.Fatalf("%d windows, expected one for each of %d stages", len(windows), v.Grid.Stages)
	}
	filled := make([]bool, len(v.Grid.Steps))
	for stage, w := range windows {
		S, R := len(w.Schema.Stages), len(w.Ranks)
		if R != v.Grid.Replicas || w.Steps() != len(v.Grid.Steps) || len(w.Missing()) != 0 {
			t.Fatalf("stage %d: %d ranks, %d steps, missing %v", stage, R, w.Steps(), w.Missing())
		}
		for step := range w.Steps() {
			wall := windows[0].WallOf(step)[0]
			for r := range R {
				sum := int64(0)
				for s := range S {
					sum += w.Step(step)[s*R+r]
				}
				if w.WallOf(step)[r] != wall || sum > wall {
					t.Fatalf("stage %d, step %d, rank %d: parts add up to %d of %d ns, expected %d", stage, step, w.Ranks[r].ID, sum, w.WallOf(step)[r], wall)
				}
				if sum == wall {
					filled[step] = true
				}
			}
		}
	}
	for step, ok := range filled {
		if !ok {
			t.Errorf("step %d: no rank works to its end", step)
		}
	}
}

// TestWindowsWithoutWaits: of a collective over the replicas its stage has the transfer, and the time until the last member has
// started is wait before it.
func TestWindowsWithoutWaits(t *testing.T) {
	v := slow(t, nil)
	windows, err := Windows(v.Trace, v.Grid)
	if err != nil {
		t.Fatal(err)
	}
	const op = "optimizer-clip-main-grad"
	for i, in := range v.Grid.Instances {
		if v.Trace.Names[in.Name] != op {
			continue
		}
		w := windows[in.Stage]
		k := slices.Index(w.Schema.Stages, op)
		for l := range v.Grid.Lanes() {
			step, d := l/v.Grid.Replicas, l%v.Grid.Replicas
			row := v.Grid.At[i*v.Grid.Lanes()+l]
			if got := w.Step(step)[k*len(w.Ranks)+d]; got != v.transfer[row] {
				t.Fatalf("stage %d, step %d, replica %d: %s takes %d, want the transfer, %d of %d", in.Stage, step, d, op, got, v.transfer[row], v.Trace.Dur[row])
			}
			if got := w.Step(step)[(k-1)*len(w.Ranks)+d]; got < v.wait[row] {
				t.Fatalf("stage %d, step %d, replica %d: waits for %d before %s, want %d or more", in.Stage, step, d, got, op, v.wait[row])
			}
		}
	}
}

// TestTotals: the totals of an operator are the sums of its instances.
func TestTotals(t *testing.T) {
	v := slow(t, nil)
	series, operators := v.Series()
	total, parts := make([]int64, v.Grid.Lanes()), make([]int64, v.Grid.Lanes())
	for _, s := range series {
		op := operators[s.Op]
		if op.Name != "backward-compute" || op.Stage != 2 || s.Quantity != zscore.Duration {
			continue
		}
		sum := parts
		if op.Instance == Total {
			sum = total
		}
		for l, x := range s.X {
			sum[l] += x
		}
	}
	for l := range total {
		if total[l] != parts[l] || total[l] == 0 {
			t.Fatalf("lane %d: total %d, parts %d", l, total[l], parts[l])
		}
	}
}

// TestAlignedClocks: clocks that are apart and drift are brought together to
// within what a transfer takes, so that waits and transfers are those of the
// same job on one clock; a job on one clock is left alone.
func TestAlignedClocks(t *testing.T) {
	for _, running := range []bool{false, true} {
		one := slow(t, func(s *pipeline.Spec) { s.Clock.Running = running })
		apart := slow(t, func(s *pipeline.Spec) {
			s.Clock = pipeline.Clock{Clock: simulate.Clock{SkewSD: 40, DriftPPM: 20}, Running: running}
		})
		if one.Offset != 0 {
			t.Errorf("running %v: a job on one clock was shifted by %d ns", running, one.Offset)
		}
		if apart.Offset < 20e6 || apart.Offset > 200e6 {
			t.Errorf("running %v: clocks 40 ms apart (deviation) are said to be %d ns apart at most", running, apart.Offset)
		}
		worst := int64(0)
		for i, in := range one.Grid.Instances {
			if !in.Class.IsTransfer() && !in.Class.AcrossReplicas() {
				continue
			}
			for l := range one.Grid.Lanes() {
				a, b := one.Grid.At[i*one.Grid.Lanes()+l], apart.Grid.At[i*apart.Grid.Lanes()+l]
				d := one.transfer[a] - apart.transfer[b]
				worst = max(worst, d, -d)
			}
		}
		// 20 ppm over a step of some seconds is some tens of microseconds.
		if worst > 1e6 {
			t.Errorf("running %v: a transfer differs by %d ns from the one on one clock", running, worst)
		}
	}
}
