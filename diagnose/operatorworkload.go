package diagnose

import (
	"slices"

	"github.com/sfstat/sfstat/diagnose/evidence"
)

// stages finds pipeline stages whose passes take longer than the others'.
func (j *opJudge) stages() {
	if j.v.Grid.Stages < 2 {
		return
	}
	levels := j.levels(func(n int) bool { return j.class[n].IsCompute() })
	for stage := range j.v.Grid.Stages {
		over := levels.overOthers(stage)
		if len(over) == 0 {
			continue
		}
		change := j.scaled(stage, over)
		saved := j.now - j.step(change)
		few := j.Replicas < enoughReplicas && saved >= listedUntested*j.now && j.everyStep(levels, stage)
		if saved < j.gates.StaticGain*j.now && !j.surelyHeavy(stage) && !few {
			continue
		}
		heavy := evidence.PassTimes{Stage: &stage, Peers: j.v.Grid.Stages - 1, Factor: j.stageFactor(levels, stage),
			Step: int64(j.now), Even: int64(j.balanced(levels))}
		if j.Passes != nil && j.Passes.Stages[stage].Score != nil {
			heavy.Between, heavy.P = &j.Passes.Between, &j.Passes.Stages[stage].P
		}
		j.add(&theory{stage: stage, fix: change, Finding: Finding{Kind: KindStage, Cause: CauseHeavy, Place: Place{Stage: j.stageName(stage)},
			Evidence: []evidence.Observation{heavy}}})
	}
}

// surelyHeavy reports whether the passes of a stage are longer by more than
// workers differ by.
func (j *opJudge) surelyHeavy(stage int) bool { return j.Passes != nil && j.Passes.Stages[stage].Slow }

// everyStep reports whether the passes of a stage take longer than the median
// of the other stages in nearly every step, or clearly in some and shorter in
// none.
func (j *opJudge) everyStep(l levels, stage int) bool {
	var p pattern
	for t := range j.Steps {
		p.note(l.total(stage, t), others(j.v.Grid.Stages, stage, func(s int) float64 { return l.total(s, t) }), heavierSize)
	}
	return p.always() || p.intermittent()
}

// stageFactor is by how much the passes of a stage together exceed the median
// of the other stages.
func (j *opJudge) stageFactor(l levels, stage int) float64 {
	total := func(s int) float64 {
		sum := 0.0
		for t := range j.Steps {
			sum += l.total(s, t)
		}
		return sum
	}
	return total(stage) / max(1, others(j.v.Grid.Stages, stage, total))
}

// balanced is the step time with every kind of pass on every stage scaled to
// the mean over the stages: the same work, divided evenly.
func (j *opJudge) balanced(l levels) float64 {
	var all []fix
	for stage := range j.v.Grid.Stages {
		factor := make(map[string][]float64)
		for op := range l {
			mean := 0.0
			for s := range j.v.Grid.Stages {
				mean += l.mean(op, s) / float64(j.v.Grid.Stages)
			}
			if mean > 0 && l.mean(op, stage) > 0 {
				factor[op] = slices.Repeat([]float64{l.mean(op, stage) / mean}, len(j.Steps))
			}
		}
		all = append(all, j.scaled(stage, factor))
	}
	return j.step(all...)
}

// nearlyEvery is nine steps in ten, of enough steps.
func nearlyEvery(n, of int) bool { return of >= enoughSteps && 10*n >= 9*of }

// pattern is how the times of one thing compare with those of its like over the
// steps, where too few are alike for a test.
type pattern struct {
	steps, longer    int // steps, and those in which it took longer
	clearly, shorter int // in which it took much longer, and shorter by more than a little
}

// note adds a step in which it took own, and its like like.
func (p *pattern) note(own, like, much float64) {
	p.steps++
	if own > like {
		p.longer++
	}
	if own > much*like {
		p.clearly++
	}
	if like > littleLonger*own {
		p.shorter++
	}
}

// always: in nearly every step, of enough; of few in all of them, and clearly.
func (p pattern) always() bool {
	return nearlyEvery(p.longer, p.steps) || p.clearly == p.steps && p.steps > 0
}

// intermittent: clearly in several steps, and never the other way round.
func (p pattern) intermittent() bool { return p.clearly >= 3 && p.shorter == 0 }
