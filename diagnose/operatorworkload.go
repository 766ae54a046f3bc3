package diagnose

import (
	"math"
	"slices"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/whatif"
	"github.com/sfstat/sfstat/engine/zscore"
	"github.com/sfstat/sfstat/trace/operator"
)

// save prices a change on top of the local fixes.
func (j *opJudge) save(extra ...fix) float64 {
	local := fixes(j.localTheories(), nil)
	return max(0, j.step(local...)-j.step(append(local, extra...)...))
}

// rotating finds operators other than passes that are long now on this worker,
// now on that.
func (j *opJudge) rotating() {
	if j.Replicas < 2 {
		return
	}
	var kinds []string
	for n, node := range j.v.Model.Nodes() {
		if j.priced.local(n) && !j.class[n].IsCompute() && !slices.Contains(kinds, node.Op) {
			kinds = append(kinds, node.Op)
		}
	}
	for _, kind := range kinds {
		saved := j.save(j.allLikePeers(func(n int) bool { return j.v.Model.Nodes()[n].Op == kind && j.priced.local(n) }))
		if saved < trivial*j.now {
			continue
		}
		t := &theory{saved: saved, workers: j.longIn(kind), Finding: Finding{Kind: KindOp, Cause: CauseRotatingOps, Place: Place{Op: kind},
			Cost: Cost{Explained: int64(saved * float64(len(j.Steps)))}}}
		if len(t.workers) > 0 {
			t.Evidence = []evidence.Observation{evidence.Outliers{Ranks: j.ids(t.workers)}}
		}
		j.add(t)
	}
}

// longIn are the workers on which operators of a kind are surely long in some
// step.
func (j *opJudge) longIn(kind string) (out []int) {
	for _, o := range j.Outliers.Outliers {
		s := j.series[o.Series]
		if o.Sure && o.Effect > 0 && s.Quantity == zscore.Duration && j.operators[s.Op].Name == kind && !slices.Contains(out, o.Worker) {
			out = append(out, o.Worker)
		}
	}
	return out
}

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

// uneven finds that passes of equal length would make the step shorter: because
// microbatches are uneven, or for a reason that the trace does not show.
func (j *opJudge) uneven() {
	saved, shared := j.save(j.evenPasses()), j.shared()
	if saved < trivial*j.now || !shared && saved < j.gates.StaticGain*j.now { // noise costs that much in any job
		return
	}
	t := &theory{saved: saved, Finding: Finding{Kind: KindWorkload, Cause: CauseUneven, Cost: Cost{Explained: int64(saved * float64(len(j.Steps)))}}}
	if j.Passes != nil {
		s := j.Passes.Shared
		e := evidence.MicrobatchCorrelation{Spread: s.Spread, Directions: s.Directions, PDirections: s.PDirections, Stages: s.Stages, PStages: s.PStages}
		if shared {
			e.Fixed, e.Workers = j.standOut(), len(j.Workers)
		}
		t.Evidence = []evidence.Observation{e}
	}
	if !shared {
		t.Kind, t.Cause, t.Op = KindOp, CauseRandom, operator.ForwardCompute.String()
		if j.varies(operator.BackwardCompute) > j.varies(operator.ForwardCompute) {
			t.Op = operator.BackwardCompute.String()
		}
	}
	j.add(t)
}

// varies is the time that passes of a class differ from their kind's mean by.
func (j *opJudge) varies(class operator.Class) float64 {
	even := slices.Clone(j.fixed(j.evenPasses()))
	sum := 0.0
	j.nodes(func(n int, _ whatif.Node) bool { return j.class[n] == class }, func(_, at int) {
		for l := range j.v.Grid.Lanes() {
			sum += math.Abs(float64(j.recorded[at+l] - even[at+l]))
		}
	})
	return sum
}

// standOut counts the slow workers that an unevenness was priced without.
func (j *opJudge) standOut() (n int) {
	for _, t := range j.theories {
		if t.Cause == CauseCompute && j.share(t) >= trivial {
			n++
		}
	}
	return n
}
