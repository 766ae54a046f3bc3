package diagnose

import (
	"cmp"
	"maps"
	"slices"

	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace/operator"
)

// heavyStages finds pipeline stages whose passes take longer than the others'.
func (j *opJudge) heavyStages() {
	if j.v.Grid.Stages < 2 {
		return
	}
	levels := j.levels(func(n int) bool { return j.class[n].IsCompute() })
	for stage := range j.v.Grid.Stages {
		over := levels.excessFactors(stage)
		if len(over) == 0 {
			continue
		}
		change := j.scaleNodes(stage, over)
		saved := j.now - j.step(change)
		few := j.Replicas < enoughReplicas && saved >= listedUntested*j.now && j.isSlowThroughout(levels, stage)
		if saved < j.gates.StaticGain*j.now && !j.surelyHeavy(stage) && !few {
			continue
		}
		t := j.stageTheory(claim.PeerSet, claim.Heavy, stage)
		t.fix, t.Longer, t.Evenly = change, j.stageFactor(levels, stage), int64(j.balancedStep(levels))
		j.add(t)
	}
}

// surelyHeavy reports whether the passes of a stage are longer by more than
// workers differ by.
func (j *opJudge) surelyHeavy(stage int) bool { return j.Passes != nil && j.Passes.Stages[stage].Slow }

// isSlowThroughout reports whether the passes of a stage take longer than the median
// of the other stages in nearly every step, or clearly in some and shorter in
// none. Too few are alike for a test.
func (j *opJudge) isSlowThroughout(l levels, stage int) bool {
	longer, clearly, shorter, of := 0, 0, 0, len(j.Steps)
	for t := range j.Steps {
		own, like := l.total(stage, t), medianOfOthers(j.v.Grid.Stages, stage, func(s int) float64 { return l.total(s, t) })
		if own > like {
			longer++
		}
		if own > heavierSize*like {
			clearly++
		}
		if like > littleLonger*own {
			shorter++
		}
	}
	return of >= enoughSteps && 10*longer >= 9*of || clearly == of || clearly >= 3 && shorter == 0
}

// stageFactor returns the factor by which the passes of a stage together exceed the median of the other stages.
func (j *opJudge) stageFactor(l levels, stage int) float64 {
	total := func(s int) float64 {
		sum := 0.0
		for t := range j.Steps {
			sum += l.total(s, t)
		}
		return sum
	}
	return total(stage) / max(1, medianOfOthers(j.v.Grid.Stages, stage, total))
}

// balancedStep returns the step time with every kind of pass on every stage scaled to
// the mean over the stages: the same work, divided evenly.
func (j *opJudge) balancedStep(l levels) float64 {
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
		all = append(all, j.scaleNodes(stage, factor))
	}
	return j.step(all...)
}

// collectives finds stages whose collectives over the replicas move data
// more slowly than those of the other stages.
func (j *opJudge) collectives() {
	if j.v.Grid.Stages < 2 || j.Replicas < 2 {
		return
	}
	levels := j.levels(func(n int) bool { return j.class[n].AcrossReplicas() && j.class[n] != operator.OptimizerClip })
	for stage := range j.v.Grid.Stages {
		over := levels.excessFactors(stage)
		for _, op := range slices.Sorted(maps.Keys(over)) {
			f := levels.mean(op, stage) / medianOfOthers(j.v.Grid.Stages, stage, func(s int) float64 { return levels.mean(op, s) })
			if f >= heavierSize {
				t := j.stageTheory(claim.Communicator, claim.Transfer, stage)
				t.fix, t.Op, t.Longer = j.scaleNodes(stage, map[string][]float64{op: over[op]}), op, f
				j.addPriced(t)
			}
		}
	}
}

// way is the transfers of one kind from a stage to the one behind it, in a step of one replica.
// Interleaved schedules have more of them between some stages than others.
type way struct {
	op                  string
	from, to, transfers int
}

// links finds two stages between which data moves more slowly than between
// the others, in all replicas.
func (j *opJudge) links() {
	var ways []*way
	nodes := j.v.Model.Nodes()
	levels := j.levels(func(n int) bool {
		other, joined := j.otherEnd[n]
		if !joined || j.class[n].IsReceive() {
			return false
		}
		i := slices.IndexFunc(ways, func(w *way) bool { return w.op == nodes[n].Op && w.from == nodes[n].Stage })
		if i < 0 {
			i = len(ways)
			ways = append(ways, &way{op: nodes[n].Op, from: nodes[n].Stage, to: nodes[other].Stage})
		}
		ways[i].transfers++
		return true
	})
	slices.SortFunc(ways, func(a, b *way) int { return cmp.Or(cmp.Compare(a.op, b.op), cmp.Compare(a.from, b.from)) })
	each := func(w *way) float64 { return levels.mean(w.op, w.from) / float64(w.transfers) }
	for _, w := range ways {
		var rest []float64
		for _, o := range ways {
			if o.op == w.op && o != w {
				rest = append(rest, each(o))
			}
		}
		usual := robust.Lower(rest)
		if !(each(w) >= slowerTransfers*usual) || usual <= 0 {
			continue
		}
		f := each(w) / usual
		t := j.stageTheory(claim.Link, claim.Transfer, w.from, w.to)
		t.fix, t.Op, t.Longer = j.scaleNodes(w.from, map[string][]float64{w.op: slices.Repeat([]float64{f}, len(j.Steps))}), w.op, f
		j.addPriced(t)
	}
}
