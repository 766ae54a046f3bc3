package diagnose

import (
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/diagnose/operators"
	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/delay"
	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/engine/zscore"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/operator"
)

// theory is a claim about operators with the change of costs that would fix it.
type theory struct {
	claim.Claim
	fix     fix
	delayed *workerTerms   // the terms that it fixes; nil of what is not a worker's
	workers []int          // of those Ranks, by number
	common  []*claim.Claim // what all replicas of its stage have in common
	late    []int64        // of a late start, what it adds to launch delays, [node][lane]
	saved   float64        // ns of a step that fixing it alone saves
	after   float64        // ns of a step that fixing it saves where all others are fixed
	joint   float64        // ns of a step that fixing it with all others saves
	gain    float64        // part of the steps that it struck that fixing it alone saves
}

// stageTheory returns a theory about all replicas of pipeline stages, in all steps; without stages about everyone.
func (j *opJudge) stageTheory(kind claim.Kind, cause claim.Cause, stages ...int) *theory {
	t, n := &theory{}, len(j.Steps)
	t.Source, t.Kind, t.Cause, t.Host, t.P, t.Certainty = claim.Operators, kind, cause, -1, 1, claim.Event
	t.Steps = claim.Struck{Count: n, Of: n, Last: n - 1, Pattern: claim.Constant, Incidents: 1, Ongoing: true}
	for _, s := range stages {
		t.Ranks, t.Parts = append(t.Ranks, idsOf(j.stageWorkers(s))...), append(t.Parts, claim.Part{Stage: s})
	}
	for s := range j.v.Grid.Stages {
		if len(stages) == 0 {
			t.Parts = append(t.Parts, claim.Part{Stage: s})
		}
	}
	return t
}

// workerTheory returns a theory about what delays workers, by number.
func (j *opJudge) workerTheory(d *workerTerms, kind claim.Kind, cause claim.Cause, workers ...int) *theory {
	t := j.stageTheory(kind, cause, j.v.Stage(workers[0]))
	t.delayed, t.workers, t.Steps, t.P, t.Ranks = d, workers, delay.Describe(d.struck()), d.p(), nil
	for _, w := range workers {
		t.Ranks = append(t.Ranks, j.Workers[w].ID)
	}
	switch {
	case t.P <= gates.Strong:
		t.Certainty = claim.Strong
	case t.P <= gates.Supported:
		t.Certainty = claim.Supported
	}
	return t
}

// local reports whether a theory is about work or transfers at one place, which
// are priced without launch delays.
func (t *theory) local() bool {
	return t.Cause != claim.Launch && t.Cause != claim.Heavy && t.Cause != claim.Turns
}

// charge divides what a theory explains, ns of the run, evenly over its stages: which of them has how much is not known.
func (t *theory) charge(ns int64) {
	n := int64(len(t.Parts))
	for i := range t.Parts {
		t.Parts[i].Charged = ns / n
	}
	t.Parts[0].Charged += ns % n
}

// opJudge turns what the engines say of an operator trace into findings.
type opJudge struct {
	*Operators
	v       *operators.View
	series  []zscore.Series
	ops     []operators.Operator // of the series
	gates   gates.Gates
	minGain float64

	// The replay: all without launch delays, since what delays a launch is often a wait that no operator records.
	recorded []int64 // cost, [node][lane]
	scratch  []int64
	now      float64          // mean step, ns
	class    []operator.Class // by node
	otherEnd map[int]int      // node at the other end of a transfer between stages
	err      error            // of the first replay that failed, whose steps take no time

	theories []*theory
	late     []*workerTerms // operators that start late
	searched operatorSearch // what replicas were compared in; of fewer than two nothing
}

// judge collects theories: first those about one place, which price divides
// the time between; then those about no single place, which are priced with the
// local ones fixed, so that a straggler does not count as imbalance.
func (j *opJudge) judge(run string) (*RunVerdict, error) {
	j.prepare()
	for _, look := range []func(){j.peel, j.links, j.collectives, j.heavyStages, j.findCommon, j.price, j.launches, j.imbalance} {
		look()
	}
	v := j.verdict()
	v.Run = run
	return v, j.err
}

func (j *opJudge) add(t *theory) { j.theories = append(j.theories, t) }

// addPriced adds a theory unless fixing it saves next to nothing.
func (j *opJudge) addPriced(t *theory) {
	if (j.now-j.step(t.fix))/j.now >= trivial {
		j.add(t)
	}
}

// localTheories returns the theories of a single place that are large enough to list, with a chance up to a level.
func (j *opJudge) localTheories(level float64) []*theory {
	var out []*theory
	for _, t := range j.theories {
		if t.local() && j.share(t) >= trivial && (t.delayed == nil || t.P <= level) {
			out = append(out, t)
		}
	}
	return out
}

// share returns the part of a step that a theory explains.
func (j *opJudge) share(t *theory) float64 {
	return float64(t.Charged()) / float64(max(1, len(j.Steps))) / max(1, j.base(t))
}

// fixes returns the fixes of theories.
func fixes(list []*theory) []fix {
	var out []fix
	for _, t := range list {
		if t.fix != nil {
			out = append(out, t.fix)
		}
	}
	return out
}

// removeTheory returns a list but for one theory.
func removeTheory(list []*theory, one *theory) []*theory {
	return slices.DeleteFunc(slices.Clone(list), func(t *theory) bool { return t == one })
}

// divide computes what fixing each theory saves alone, and divides what fixing
// them all saves by what each would cost were it the only one left: of several
// that are equally slow, fixing one alone saves nothing. step is how long a step
// takes with some theories left as they are.
func (j *opJudge) divide(list []*theory, step func(left []*theory) float64) {
	now, clean, sum := step(list), step(nil), 0.0
	for _, t := range list {
		t.saved, t.after, t.joint = max(0, now-step(removeTheory(list, t))), max(0, step([]*theory{t})-clean), max(0, now-clean)
		sum += t.after
	}
	for _, t := range list {
		explained := t.saved
		if sum > 0 {
			explained = max(explained, t.joint*t.after/sum)
		}
		t.charge(int64(explained * float64(len(j.Steps))))
	}
}

// price prices the theories at one place. What explains next to nothing is dropped.
func (j *opJudge) price() {
	all := j.theories
	j.divide(all, func(left []*theory) float64 {
		return j.step(fixes(slices.DeleteFunc(slices.Clone(all), func(t *theory) bool { return slices.Contains(left, t) }))...)
	})
	j.theories = slices.DeleteFunc(j.theories, func(t *theory) bool {
		if t.Cause == claim.Heavy || t.delayed != nil && t.P > gates.Supported {
			return j.share(t) < trivial
		}
		return j.share(t) < negligible
	})
}

// isMasked reports whether a theory saves much more together with others than
// alone.
func (t *theory) isMasked(steps int) bool {
	return float64(t.Charged()) > maskedFactor*t.saved*float64(steps)
}

// stageName names a pipeline stage as roles do.
func (j *opJudge) stageName(stage int) string {
	return fmt.Sprintf("%s=%d", trace.PipelineParallel, stage)
}

// hasSharedWorkers reports whether workers stand for several ranks each.
func (j *opJudge) hasSharedWorkers() bool { return j.StandsFor(0) != nil }

// ids returns the ranks of workers, ascending.
func (j *opJudge) ids(workers []int) []int {
	ids := make([]int, len(workers))
	for i, w := range workers {
		ids[i] = j.Workers[w].ID
	}
	slices.Sort(ids)
	return ids
}
