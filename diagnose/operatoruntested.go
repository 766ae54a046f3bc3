package diagnose

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/engine/whatif"
)

// untested suspects the worker that costs most though no test speaks against
// it: with few replicas or steps no test can. It must take longer than its
// peers in nearly every step, or clearly in some and shorter in none, and
// fixing it must pay, and more than even microbatches would.
func (j *opJudge) untested(suspected []int) {
	worst := slices.MaxFunc(j.Replay.Workers, func(a, b whatif.Worker) int { return cmp.Compare(a.Overall, b.Overall) })
	w := j.v.Worker(worst.Rank)
	if len(suspected) > 0 || w < 0 {
		return
	}
	least := j.gates.StaticGain
	if j.Replicas < enoughReplicas {
		least = listedUntested
	}
	steps := j.compare(w)
	change := j.onTheWhole(w, j.priced.local)
	if !steps.always() {
		change = j.stepByStep(w, j.priced.local)
	}
	fixed := j.step(change)
	if !((j.now-fixed)/j.now >= least) || !steps.always() && !steps.intermittent() {
		return
	}
	if even := j.step(j.evenPasses()); even < fixed && j.shared() {
		return
	}
	j.suspect(w, j.marks()[w])
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

// compare compares a worker's own work with the median of its peers'.
func (j *opJudge) compare(w int) pattern {
	own, stage := j.v.Replica(w), j.v.Stage(w)
	totals := make([]int64, j.v.Grid.Lanes())
	j.nodes(func(n int, node whatif.Node) bool { return node.Stage == stage && j.priced.local(n) }, func(_, at int) {
		for l := range totals {
			totals[l] += j.recorded[at+l]
		}
	})
	var p pattern
	for l := 0; l < len(totals); l += j.Replicas {
		row := totals[l : l+j.Replicas]
		p.note(float64(row[own]), float64(medianOfOthers(row, own, nil)), clearlyLonger)
	}
	return p
}
