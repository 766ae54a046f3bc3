package diagnose

import (
	"fmt"

	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/trace"
)

// theory is a suspect of an operator trace with the remedy that would mend it.
type theory struct {
	Suspect
	cause   opCause
	workers []int // that it is about, by number
	stage   int   // the pipeline stage that is heavy
	mend    remedy
	delay   []int64 // launch delays that it adds; nil: none
	saved   float64 // ns of a step that mending it alone saves
	joint   float64 // ns of a step that mending all local faults saves
	say     string  // the headline's sentence, but for what mending buys
}

// opCause is the kind of fault.
type opCause uint8

const (
	causeWorker     opCause = iota // a worker computes longer than its peers
	causeTransfer                  // the transfers between two workers take longer
	causeCollective                // the collectives of one stage take longer
	causeLaunch                    // an operator starts late behind what was on time
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
	for _, look := range []func() error{j.workers, j.transfers, j.collectives, j.launches, j.priceLocal, j.rotating, j.stages, j.uneven} {
		if err := look(); err != nil {
			return nil, err
		}
	}
	return j.verdict(), nil
}

// add keeps a theory.
func (j *opJudge) add(t *theory) { j.theories = append(j.theories, t) }

// local are the theories of faults at one place.
func (j *opJudge) localTheories() []*theory {
	var out []*theory
	for _, t := range j.theories {
		if t.cause < causeLaunch {
			out = append(out, t)
		}
	}
	return out
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

// priceLocal says what mending each local fault saves alone, and divides what
// mending them all saves by what each would cost were it the only one left:
// of several that are equally slow, mending one alone saves nothing.
func (j *opJudge) priceLocal() error {
	list := j.localTheories()
	if len(list) == 0 {
		return nil
	}
	clean, err := j.step(mends(list, nil)...)
	if err != nil {
		return err
	}
	added, sum := make([]float64, len(list)), 0.0
	for i, t := range list {
		alone, err := j.step(t.mend)
		if err != nil {
			return err
		}
		left := alone
		if len(list) > 1 {
			if left, err = j.step(mends(list, t)...); err != nil {
				return err
			}
			added[i] = max(0, left-clean)
		} else {
			added[i] = max(0, j.now-clean)
		}
		t.saved, t.joint = max(0, j.now-alone), max(0, j.now-clean)
		sum += added[i]
	}
	for i, t := range list {
		explained := t.saved
		if sum > 0 {
			explained = max(explained, t.joint*added[i]/sum)
		}
		t.Explained = int64(explained * float64(len(j.Steps)))
	}
	return nil
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
