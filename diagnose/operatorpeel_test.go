package diagnose

import (
	"fmt"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/eval/simulate/pipeline"
)

// TestPeeledOperators: several causes are several findings, each with its steps and what fixing it saves
// according to the same job without it.
func TestPeeledOperators(t *testing.T) {
	worker := func(dp, pp int, factor float64, when pipeline.When) pipeline.Fault {
		return pipeline.Fault{Kind: pipeline.SlowWorker, Where: pipeline.Where{DP: at(dp), PP: at(pp)}, Size: pipeline.Size{Factor: factor}, When: when}
	}
	stages := func(factor float64, when pipeline.When) (out []pipeline.Fault) {
		for pp := range 4 {
			out = append(out, pipeline.Fault{Kind: pipeline.SlowStage, Where: pipeline.Where{PP: at(pp)}, Size: pipeline.Size{Factor: factor}, When: when})
		}
		return out
	}
	type want struct {
		cause       Cause
		worker      int // −1: all
		first, last int64
		count       int
		pattern     Pattern
	}
	var healthy [3]float64 // mean step of the healthy twins, ns, by seed
	for seed := range healthy {
		spec := job(func(s *pipeline.Spec) { s.Steps.Count, s.Seed = 24, uint64(seed) })
		healthy[seed] = operatorVerdict(t, made(t, spec)).Operators.Replay.Recorded.Mean
	}
	for _, test := range []struct {
		name   string
		faults []pipeline.Fault
		want   []want
	}{
		{"two slow workers of a stage", []pipeline.Fault{worker(1, 2, 1.5, pipeline.When{}), worker(3, 2, 1.8, pipeline.When{})},
			[]want{{CauseCompute, 9, 0, 23, 24, PatternConstant}, {CauseCompute, 11, 0, 23, 24, PatternConstant}}},
		{"two slow workers of two stages", []pipeline.Fault{worker(1, 0, 1.6, pipeline.When{}), worker(2, 3, 1.4, pipeline.When{})},
			[]want{{CauseCompute, 1, 0, 23, 24, PatternConstant}, {CauseCompute, 14, 0, 23, 24, PatternConstant}}},
		{"a worker slow from a step on", []pipeline.Fault{worker(2, 1, 1.7, pipeline.When{From: 10})},
			[]want{{CauseCompute, 6, 10, 23, 14, PatternWindow}}},
		{"a worker slow every fifth step", []pipeline.Fault{worker(0, 3, 3, pipeline.When{Every: 5})},
			[]want{{CauseCompute, 12, 0, 20, 5, PatternPeriodic}}},
		{"one always, one from a step on", []pipeline.Fault{worker(1, 2, 1.5, pipeline.When{}), worker(3, 0, 2, pipeline.When{From: 12})},
			[]want{{CauseCompute, 3, 12, 23, 12, PatternWindow}, {CauseCompute, 9, 0, 23, 24, PatternConstant}}},
		{"a regression", stages(1.5, pipeline.When{From: 12}), []want{{CauseRegression, -1, 12, 23, 12, PatternWindow}}},
		{"a regression beside a slow worker", append(stages(1.6, pipeline.When{From: 8}), worker(2, 1, 1.8, pipeline.When{})),
			[]want{{CauseRegression, -1, 8, 23, 16, PatternWindow}, {CauseCompute, 6, 0, 23, 24, PatternConstant}}},
		{"every sixth step slow on all", stages(2, pipeline.When{From: 3, Every: 6}), []want{{CausePeriodic, -1, 3, 21, 4, PatternPeriodic}}},
	} {
		for seed, healthy := range healthy {
			t.Run(fmt.Sprint(test.name, ", seed ", seed), func(t *testing.T) {
				spec := job(func(s *pipeline.Spec) { s.Faults, s.Steps.Count, s.Seed = test.faults, 24, uint64(seed) })
				v := operatorVerdict(t, made(t, spec))
				var called []want
				for _, f := range v.Findings {
					if !f.IsFlagged() {
						continue
					}
					w := want{f.Cause, -1, f.Struck.First, f.Struck.Last, f.Struck.Count, f.Struck.Pattern}
					if f.Rank != nil {
						w.worker = *f.Rank
					}
					called = append(called, w)
					if r, ok := evidence.Find[evidence.StepReplay](f.Evidence); !ok || r.Saved > r.Step {
						t.Errorf("%s: replay %+v", show(f), r)
					}
				}
				slices.SortFunc(called, func(a, b want) int { return a.worker - b.worker })
				expected := slices.Clone(test.want)
				slices.SortFunc(expected, func(a, b want) int { return a.worker - b.worker })
				if !slices.Equal(called, expected) {
					t.Errorf("called %v, expected %v", called, expected)
				}
				now := v.Operators.Replay.Recorded.Mean
				if r, _ := evidence.Find[evidence.StepReplay](v.Findings[0].Evidence); len(test.want) == 1 {
					if then := now - float64(r.Saved); then < 0.97*healthy || then > 1.03*healthy {
						t.Errorf("a step of %.0f ms would take %.0f, the healthy twin takes %.0f", now/1e6, then/1e6, healthy/1e6)
					}
				} else if then := now - float64(r.Joint); r.Masked && (then < 0.97*healthy || then > 1.03*healthy) {
					t.Errorf("with all fixed a step of %.0f ms would take %.0f, the healthy twin takes %.0f", now/1e6, then/1e6, healthy/1e6)
				}
			})
		}
	}
}

// TestLongData: where both stages of a replica are long now and then, it is its data; where they always are, or one is, workers are slow.
func TestLongData(t *testing.T) {
	slow := func(when pipeline.When, stages ...int) (out []pipeline.Fault) {
		for _, pp := range stages {
			out = append(out, pipeline.Fault{Kind: pipeline.SlowWorker, Where: pipeline.Where{DP: at(1), PP: at(pp)}, Size: pipeline.Size{Factor: 2}, When: when})
		}
		return out
	}
	for _, c := range []struct {
		name   string
		stages int
		faults []pipeline.Fault
		want   int // slow workers
	}{
		{"both stages, every fourth step", 2, slow(pipeline.When{Every: 4}, 0, 1), 0},
		{"both stages, always", 2, slow(pipeline.When{}, 0, 1), 2},
		{"one of two stages, every fourth step", 2, slow(pipeline.When{Every: 4}, 1), 1},
		{"the only stage, every fourth step", 1, slow(pipeline.When{Every: 4}, 0), 1},
		{"two of four stages, every fourth step", 4, slow(pipeline.When{Every: 4}, 0, 1), 2},
		{"three of four stages, every fourth step", 4, slow(pipeline.When{Every: 4}, 0, 1, 2), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := operatorVerdict(t, made(t, job(func(s *pipeline.Spec) {
				s.Layout.PP, s.Steps.Count, s.Faults = c.stages, 24, c.faults
			})))
			workers := 0
			for _, f := range v.Findings {
				if f.Cause == CauseCompute && f.IsFlagged() {
					workers++
				}
			}
			if workers != c.want {
				t.Errorf("%d slow workers, want %d: %q", workers, c.want, inShort(&v.RunVerdict))
			}
		})
	}
}

// TestBurstIsNoTurn: what may be one worker's, in too few steps to be sure, is not work that is uneven.
func TestBurstIsNoTurn(t *testing.T) {
	v := operatorVerdict(t, made(t, job(func(s *pipeline.Spec) {
		s.Layout.PP, s.Steps.Count = 1, 24
		s.Faults = []pipeline.Fault{{Kind: pipeline.SlowWorker, Where: pipeline.Where{DP: at(1), PP: at(0)}, Size: pipeline.Size{Factor: 8}, When: pipeline.When{From: 7, Until: 8}}}
	})))
	if slices.ContainsFunc(v.Findings, func(f Finding) bool { return f.Cause == CauseTurns }) {
		t.Errorf("%q", inShort(&v.RunVerdict))
	}
}

// TestVictimsOfAWorker: whom blame walks from are the victims of a slow worker, in order.
func TestVictimsOfAWorker(t *testing.T) {
	v := operatorVerdict(t, made(t, job(func(s *pipeline.Spec) {
		s.Faults = []pipeline.Fault{{Kind: pipeline.SlowWorker, Where: pipeline.Where{DP: at(2), PP: at(1)}, Size: pipeline.Size{Factor: 1.5}}}
	})))
	walks, ok := evidence.Find[evidence.BlameWalks](v.Findings[0].Evidence)
	if !ok || len(walks.Victims) == 0 || slices.Contains(walks.Victims, 6) || !slices.IsSorted(walks.Victims) {
		t.Errorf("%v %+v, want victims of worker 6", ok, walks)
	}
}
