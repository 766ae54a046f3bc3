package main

import (
	"fmt"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/operators"
	"github.com/sfstat/sfstat/engine/whatif"
	"github.com/sfstat/sfstat/engine/zscore"
	"github.com/sfstat/sfstat/eval/simulate/pipeline"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/operator"
)

// method is a way to find a culprit.
type method int

const (
	plain  method = iota // 3 population deviations from the mean of the peers
	pooled               // engine/zscore by default, what is sure
	named                // the verdict lists a suspect
	called               // the verdict lists one as supported or strong
	methods
)

var methodNames = [methods]string{"plain 3-sigma", "pooled z-scores", "verdict: named", "verdict: called"}

// answer is what one method says about one trace.
type answer struct {
	fires bool
	right bool // what it puts first is the culprit
	op    bool // and the operator is the right one too
}

// trial is one trace with what the methods said.
type trial struct {
	band    int
	grid    grid
	speeds  float64             // relative deviation of the speeds of ranks
	fault   *pipeline.TrueFault // nil: none struck
	size    pipeline.Size
	exposed float64 // part of a step that the fault costs
	answers [methods]answer
	wrong   bool // the verdict calls something that is no culprit
}

// try simulates trace number i of a seed and asks all methods.
func try(seed uint64, i int) (*trial, error) {
	spec, at := draw(seed, i)
	o, truth, err := pipeline.Make(spec)
	if err != nil {
		return nil, fmt.Errorf("trace %d: %w", i, err)
	}
	l := spec.Layout
	t := &trial{band: at, grid: grid{l.DP, l.PP}, speeds: spec.SpeedSD}
	for k := range truth.Faults {
		if len(truth.Faults[k].Steps) > 0 { // by chance it may strike in none
			t.fault, t.size = &truth.Faults[k], spec.Faults[k].Size
		}
	}
	if t.fault != nil {
		if t.exposed, err = exposed(spec); err != nil {
			return nil, fmt.Errorf("trace %d: %w", i, err)
		}
	}
	if err := t.scoreOutliers(o); err != nil {
		return nil, fmt.Errorf("trace %d: %w", i, err)
	}
	v, err := verdict(o)
	if err != nil {
		return nil, fmt.Errorf("trace %d: %w", i, err)
	}
	t.scoreVerdict(v)
	return t, nil
}

func verdict(o *operator.Trace) (*diagnose.Verdict, error) {
	s := diagnose.New(diagnose.Options{})
	if err := s.Add(o); err != nil {
		return nil, err
	}
	return s.Verdict(), nil
}

// scoreVerdict judges the suspects.
func (t *trial) scoreVerdict(v *diagnose.Verdict) {
	for k, s := range v.Findings {
		right, op := t.isCulprit(s)
		a := answer{true, right, op}
		if k == 0 {
			t.answers[named] = a
		}
		if !s.Flagged() {
			continue
		}
		if !t.answers[called].fires {
			t.answers[called] = a
		}
		t.wrong = t.wrong || !right
	}
}

// isCulprit reports whether a suspect is what was made slow, and whether its
// operator is.
func (t *trial) isCulprit(s diagnose.Finding) (right, op bool) {
	f := t.fault
	if f == nil {
		return false, false
	}
	first := f.Workers[0]
	onRank := s.Rank != nil && *s.Rank == first.Rank
	switch f.Kind {
	case pipeline.SlowWorker, pipeline.SlowOp:
		right = onRank && (s.Kind == diagnose.KindRank || s.Kind == diagnose.KindOp)
	case pipeline.SlowStage:
		right = s.Kind == diagnose.KindStage && s.Stage == stageName(first.PP)
	case pipeline.Workload:
		right = s.Kind == diagnose.KindWorkload
	case pipeline.SlowEdge:
		right = onRank && s.Kind == diagnose.KindEdge && s.Op == f.Ops[0].Op
	case pipeline.SlowGroup:
		right = s.Kind == diagnose.KindGroup && s.Stage == stageName(first.PP)
	case pipeline.LateStart:
		right = onRank && s.Kind == diagnose.KindEdge
	}
	return right, right && t.isOp(s.Op, s.Seq)
}

func stageName(pp int) string { return fmt.Sprintf("%s=%d", trace.PipelineParallel, pp) }

// isOp reports whether an operator, "" being all passes, is what was slowed
// down.
func (t *trial) isOp(name string, seq *int) bool {
	f := t.fault
	switch {
	case f.Kind == pipeline.Workload || f.Kind == pipeline.SlowStage || f.Kind == pipeline.SlowWorker && len(f.Ops) > 1:
		return name == ""
	case name != f.Ops[0].Op:
		return false
	}
	return f.Ops[0].Seq == nil || seq != nil && *seq == *f.Ops[0].Seq
}

// scoreOutliers asks the two methods that see operators only: durations of
// what waits for nobody, and transfers with the wait stripped.
func (t *trial) scoreOutliers(o *operator.Trace) error {
	replay := whatif.DefaultOptions()
	replay.Missing = whatif.NoteMissing
	v, err := operators.New(o.Complete(), replay)
	if err != nil {
		return err
	}
	all, compared := v.Series()
	var series []zscore.Series
	for _, s := range all {
		if s.Quantity == zscore.Duration || s.Quantity == zscore.Transfer {
			series = append(series, s)
		}
	}
	for _, m := range []method{plain, pooled} {
		opts := zscore.DefaultOptions()
		if m == plain {
			opts.Method = zscore.Population
		}
		r, err := zscore.Analyze(series, opts)
		if err != nil {
			return err
		}
		for _, f := range r.Outliers {
			s := series[f.Series]
			op := compared[s.Op]
			if f.Effect <= 0 || m == pooled && !f.Sure || m == plain && op.Instance == operators.Total {
				continue // stragglers are slow, and the plain rule has no totals
			}
			t.answers[m] = t.judge(v.Rank(f.Worker).ID, op)
			break
		}
	}
	return nil
}

// judge is the answer of a method that puts an operator of a rank first.
func (t *trial) judge(rank int, op operators.Operator) answer {
	a := answer{fires: true}
	if t.fault == nil {
		return a
	}
	f := t.fault
	slowed := false
	for k, o := range f.Ops {
		instance := o.Seq == nil || op.Seq == *o.Seq
		slowed = slowed || o.Op == op.Name && instance && (f.Kind != pipeline.SlowEdge || f.Workers[k].Rank == rank)
	}
	switch f.Kind {
	case pipeline.SlowWorker, pipeline.SlowOp:
		a.right = f.Workers[0].Rank == rank && !op.Class.IsTransfer() && !op.Class.AcrossReplicas()
	case pipeline.SlowEdge:
		a.right = slowed
	}
	a.op = a.right && slowed
	return a
}
