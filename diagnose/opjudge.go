package diagnose

import (
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/trace"
)

// theory is a suspect of an operator trace with the remedy that would mend it.
type theory struct {
	Finding
	cause   opCause
	workers []int // that it is about, by number
	stage   int   // the pipeline stage that is heavy
	proof   mark  // against a worker
	mend    remedy
	// unproven: no test speaks against it. confirmed: blame or an outlier does,
	// beside a launch delay.
	unproven, confirmed bool
	saved               float64 // ns of a step that mending it alone saves
	joint               float64 // ns of a step that mending it with all others saves
	added               float64 // ns that it costs were it the only one
	say                 string  // the headline's sentence, but for what mending buys
}

// opCause is the kind of fault.
type opCause uint8

const (
	causeWorker     opCause = iota // a worker computes longer than its peers
	causeTransfer                  // the transfers between two workers take longer
	causeLink                      // the transfers between two stages take longer in all replicas
	causeCollective                // the collectives of one stage take longer
	causeLaunch                    // an operator starts late behind what was on time
	causeIdle                      // the ranks stand still before operators that were ready
	causeHeavy                     // a pipeline stage has more to compute
	causeUneven                    // microbatches are uneven
	causeRandom                    // passes vary without a pattern
	causeRotating                  // another operator is long by turns
)

// opJudge turns what the engines say into suspects.
type opJudge struct {
	*examined
	*priced
	gates    frontier.Gates
	theories []*theory

	marked      []mark
	differences map[quantityOf]float64
}

func (e *examined) judge(gates frontier.Gates) (*RunVerdict, error) {
	p, err := e.prices()
	if err != nil {
		return nil, err
	}
	j := &opJudge{examined: e, priced: p, gates: gates}
	for _, look := range []func() error{j.workers, j.transfers, j.links, j.collectives, j.stages, j.price, j.launches, j.idle, j.rotating, j.uneven} {
		if err := look(); err != nil {
			return nil, err
		}
	}
	return j.verdict(), nil
}

// add keeps a theory.
func (j *opJudge) add(t *theory) { j.theories = append(j.theories, t) }

// localTheories are those of faults at one place that cost anything to speak
// of.
func (j *opJudge) localTheories() []*theory {
	var out []*theory
	for _, t := range j.theories {
		if t.cause < causeLaunch && j.share(t) >= trivial {
			out = append(out, t)
		}
	}
	return out
}

// share is the part of a step that a theory explains.
func (j *opJudge) share(t *theory) float64 {
	return float64(t.Explained) / float64(max(1, len(j.Steps))) / max(1, j.base(t))
}

// mends are the remedies of theories, but for one.
func mends(list []*theory, without *theory) []remedy {
	var out []remedy
	for _, t := range list {
		if t != without && t.mend != nil {
			out = append(out, t.mend)
		}
	}
	return out
}

// negligible is the part of a step below which a difference, however sure, costs
// nothing that anybody would mend: it has slack, or is too small.
const negligible = 5e-4

// price says what mending each theory saves alone, and divides what mending them
// all saves by what each would cost were it the only one left: of several
// that are equally slow, mending one alone saves nothing. What
// explains next to nothing even so is dropped.
func (j *opJudge) price() error {
	if len(j.theories) == 0 {
		return nil
	}
	clean, err := j.step(mends(j.theories, nil)...)
	if err != nil {
		return err
	}
	added, sum := make([]float64, len(j.theories)), 0.0
	for i, t := range j.theories {
		alone, err := j.step(t.mend)
		if err != nil {
			return err
		}
		left := j.now
		if len(j.theories) > 1 {
			if left, err = j.step(mends(j.theories, t)...); err != nil {
				return err
			}
		}
		added[i] = max(0, left-clean)
		t.saved, t.joint = max(0, j.now-alone), max(0, j.now-clean)
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
		case t.unproven:
			return j.share(t) < worthAWord
		case t.cause == causeHeavy:
			return j.share(t) < trivial
		}
		return j.share(t) < negligible
	})
	return nil
}

// masked reports whether a theory saves much more together with others than
// alone.
func (t *theory) masked(steps int) bool {
	return float64(t.Explained) > 1.2*t.saved*float64(steps)
}

// stageName names a pipeline stage as roles do.
func (j *opJudge) stageName(stage int) string {
	return fmt.Sprintf("%s=%d", trace.PipelineParallel, stage)
}

// countedWord is "1 operator" or "3 operators".
func countedWord(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
