package diagnose

import (
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/engine/delay"
	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/trace"
)

// theory is a finding of an operator trace with the change of costs that would
// fix it.
type theory struct {
	Finding
	workers []int // that it is about, by number
	stage   int   // the pipeline stage that is heavy
	fix     fix
	// delayed are the terms that it fixes, which struck so many stretches of steps, and the last step;
	// nil of what is not a worker's.
	delayed   *delayed
	incidents int
	ongoing   bool
	from      *delay.Finding // of what all replicas of a stage have in common
	confirmed bool           // blame or an outlier speaks for it, beside a launch delay
	saved     float64        // ns of a step that fixing it alone saves
	after     float64        // ns of a step that fixing it saves where all others are fixed
	joint     float64        // ns of a step that fixing it with all others saves
}

// local reports whether a theory is about work or transfers at one place, which
// are priced without launch delays.
func (t *theory) local() bool {
	switch t.Cause {
	case CauseCompute, CauseTransfer, CauseLink, CauseCollective, CauseRegression, CauseSlowSteps, CausePeriodic:
		return true
	}
	return false
}

// opJudge turns what the engines say into findings.
type opJudge struct {
	*examined
	*priced
	gates    gates.Gates
	minGain  float64
	theories []*theory
	late     []*delayed // operators that start late
}

// judge collects theories: first those about one place, which price divides
// the time between; then those about no single place, which are priced with the
// local ones fixed, so that a straggler does not count as imbalance.
func (e *examined) judge(gates gates.Gates, minGain float64) (*RunVerdict, error) {
	j := &opJudge{examined: e, priced: e.prices(), gates: gates, minGain: minGain}
	j.otherEnd = j.ends()
	for _, look := range []func(){j.peel, j.links, j.collectives, j.stages, j.inCommon, j.price, j.launches, j.imbalance} {
		look()
	}
	v := j.verdict()
	return v, j.err
}

func (j *opJudge) add(t *theory) { j.theories = append(j.theories, t) }

// localTheories are those at one place that are large enough to list, and chance up to a level.
func (j *opJudge) localTheories(level float64) []*theory {
	var out []*theory
	for _, t := range j.theories {
		if t.local() && j.share(t) >= trivial && (t.delayed == nil || t.delayed.p() <= level) {
			out = append(out, t)
		}
	}
	return out
}

// share is the part of a step that a theory explains.
func (j *opJudge) share(t *theory) float64 {
	return float64(t.Explained) / float64(max(1, len(j.Steps))) / max(1, j.base(t))
}

// fixes are those of theories, but for one.
func fixes(list []*theory, without *theory) []fix {
	var out []fix
	for _, t := range list {
		if t != without && t.fix != nil {
			out = append(out, t.fix)
		}
	}
	return out
}

// price computes what fixing each theory saves alone, and divides what fixing
// them all saves by what each would cost were it the only one left: of several
// that are equally slow, fixing one alone saves nothing. What explains next to
// nothing even so is dropped.
func (j *opJudge) price() {
	if len(j.theories) == 0 {
		return
	}
	clean := j.step(fixes(j.theories, nil)...)
	added, sum := make([]float64, len(j.theories)), 0.0
	for i, t := range j.theories {
		alone, left := j.step(t.fix), j.now
		if len(j.theories) > 1 {
			left = j.step(fixes(j.theories, t)...)
		}
		added[i] = max(0, left-clean)
		t.saved, t.after, t.joint = max(0, j.now-alone), added[i], max(0, j.now-clean)
		sum += added[i]
	}
	for i, t := range j.theories {
		explained := t.saved
		if sum > 0 {
			explained = max(explained, t.joint*added[i]/sum)
		}
		t.Explained = int64(explained * float64(len(j.Steps)))
	}
	j.theories = slices.DeleteFunc(j.theories, func(t *theory) bool {
		switch {
		case t.Cause == CauseHeavy || t.delayed != nil && t.delayed.p() > gates.Supported:
			return j.share(t) < trivial
		}
		return j.share(t) < negligible
	})
}

// masked reports whether a theory saves much more together with others than
// alone.
func (t *theory) masked(steps int) bool {
	return float64(t.Explained) > maskedFactor*t.saved*float64(steps)
}

// stageName names a pipeline stage as roles do.
func (j *opJudge) stageName(stage int) string {
	return fmt.Sprintf("%s=%d", trace.PipelineParallel, stage)
}

// several reports whether workers stand for several ranks each.
func (j *opJudge) several() bool { return j.StandsFor(0) != nil }

// ids are the ranks of workers, ascending.
func (j *opJudge) ids(workers []int) []int {
	ids := make([]int, len(workers))
	for i, w := range workers {
		ids[i] = j.Workers[w].ID
	}
	slices.Sort(ids)
	return ids
}
