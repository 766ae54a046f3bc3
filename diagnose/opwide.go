package diagnose

import (
	"fmt"
	"math"
	"slices"

	"github.com/sfstat/sfstat/engine/microbatch"
	"github.com/sfstat/sfstat/engine/whatif"
	"github.com/sfstat/sfstat/engine/zscore"
	"github.com/sfstat/sfstat/trace"
)

// passesLevel is a level of engine/microbatch.
type passesLevel = microbatch.Level

// wide are theories that are about no single place. They are priced with the
// local faults mended, so that a straggler is not counted as unevenness.

// save prices a remedy on top of the local ones.
func (j *opJudge) save(extra ...remedy) (float64, error) {
	local := mends(j.localTheories(), nil)
	before, err := j.step(local...)
	if err != nil {
		return 0, err
	}
	after, err := j.step(append(local, extra...)...)
	return max(0, before-after), err
}

// rotating accuses kinds of operators other than passes that are long now on
// this worker, now on that.
func (j *opJudge) rotating() error {
	if j.Replicas < 2 {
		return nil
	}
	var kinds []string
	for n, node := range j.v.Model.Nodes() {
		if j.priced.local(n) && !j.class[n].IsCompute() && !slices.Contains(kinds, node.Op) {
			kinds = append(kinds, node.Op)
		}
	}
	for _, kind := range kinds {
		saved, err := j.save(j.allLikePeers(func(n int) bool { return j.v.Model.Nodes()[n].Op == kind && j.priced.local(n) }))
		if err != nil {
			return err
		}
		if saved < trivial*j.now {
			continue
		}
		t := &theory{cause: causeRotating, saved: saved}
		ranks := j.longIn(kind)
		t.Finding = Finding{Kind: KindOp, Place: Place{Op: kind}, Cost: Cost{Explained: int64(saved * float64(len(j.Steps)))}, Evidence: Saying(
			fmt.Sprintf("replay: with every %s as long as the median of the other replicas', a step takes %s less", kind, ms(int64(saved))))}
		if len(ranks) > 0 {
			t.Evidence = append(t.Evidence, Said(fmt.Sprintf("outliers: surely long in some step on %s", j.ranksOf(ranks))))
		}
		t.workers = ranks
		t.say = fmt.Sprintf("the operator %s is long by turns, now on one rank, now on another", kind)
		j.add(t)
	}
	return nil
}

// longIn are the workers on which operators of a kind are surely long in some
// step.
func (j *opJudge) longIn(kind string) []int {
	var out []int
	for _, o := range j.Outliers.Outliers {
		s := j.series[o.Series]
		if o.Sure && o.Effect > 0 && s.Quantity == zscore.Duration && j.operators[s.Op].Name == kind && !slices.Contains(out, o.Worker) {
			out = append(out, o.Worker)
		}
	}
	return out
}

// stages accuses pipeline stages whose passes take longer than the others'.
func (j *opJudge) stages() error {
	if j.v.Grid.Stages < 2 {
		return nil
	}
	work := func(n int) bool { return j.class[n].IsCompute() }
	levels := j.levels(work)
	for stage := range j.v.Grid.Stages {
		over := levels.overOthers(stage)
		if len(over) == 0 {
			continue
		}
		mend := j.scaled(stage, over)
		alone, err := j.step(mend)
		if err != nil {
			return err
		}
		saved := j.now - alone
		few := j.Replicas < enoughReplicas && saved >= worthAWord*j.now && j.everyStep(levels, stage)
		if saved < j.gates.StaticGain*j.now && !j.surelyHeavy(stage) && !few {
			continue
		}
		factor := j.stageFactor(levels, stage)
		name := j.stageName(stage)
		t := &theory{cause: causeHeavy, stage: stage, mend: mend}
		t.Finding = Finding{Kind: KindStage, Place: Place{Stage: name}}
		place := name
		if stage == j.v.Grid.Stages-1 {
			place += ", the last,"
		}
		t.Evidence = append(t.Evidence, Said(fmt.Sprintf("passes: the passes of %s (%s) take %.3g times as long as on the median of the other stages%s",
			name, ordinal(stage, j.v.Grid.Stages), factor, j.stageChance(stage))))
		even, err := j.balanced(levels)
		if err != nil {
			return err
		}
		t.Evidence = append(t.Evidence, Said(fmt.Sprintf("replay: with the same work divided evenly over the stages, a step takes %s instead of %s (%s less)",
			ms(int64(even)), ms(int64(j.now)), percent(1-even/j.now))))
		if j.Replicas < 2 {
			t.Evidence = append(t.Evidence, Said(fmt.Sprintf("with one replica a heavy stage and a slow rank (rank %d) look the same", j.Workers[stage].ID)))
		}
		t.say = fmt.Sprintf("pipeline stage %s takes %.3g times as long for its passes as the others", place, factor)
		j.add(t)
	}
	return nil
}

// surelyHeavy reports whether the passes of a stage are longer by more than
// workers differ by.
func (j *opJudge) surelyHeavy(stage int) bool { return j.Passes != nil && j.Passes.Stages[stage].Slow }

func ordinal(stage, stages int) string {
	if stage == stages-1 {
		return fmt.Sprintf("the last of %d", stages)
	}
	return fmt.Sprintf("number %d of %d", stage, stages)
}

func (j *opJudge) stageChance(stage int) string {
	if j.Passes == nil || j.Passes.Stages[stage].Score == nil {
		return ""
	}
	return fmt.Sprintf(", against the %s by which workers differ; chance %s", percent(j.Passes.Between), probability(j.Passes.Stages[stage].P))
}

// everyStep reports whether the passes of a stage take longer than the median
// of the other stages in nearly every step, or clearly in some and shorter in
// none.
func (j *opJudge) everyStep(l levels, stage int) bool {
	const much = 1.2
	var p pattern
	for t := range j.Steps {
		p.note(l.total(stage, t), others(j.v.Grid.Stages, stage, func(s int) float64 { return l.total(s, t) }), much)
	}
	return p.always() || p.nowAndThen()
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
func (j *opJudge) balanced(l levels) (float64, error) {
	var all []remedy
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

// uneven accuses the workload where passes of equal length would make the step
// shorter.
func (j *opJudge) uneven() error {
	saved, err := j.save(j.evenPasses())
	if err != nil || saved < trivial*j.now {
		return err
	}
	t := &theory{cause: causeUneven, saved: saved}
	t.Finding = Finding{Kind: KindWorkload, Cost: Cost{Explained: int64(saved * float64(len(j.Steps)))}}
	shared := j.shared()
	if !shared {
		if saved < j.gates.StaticGain*j.now {
			return nil // noise costs this much in any job
		}
		t.cause = causeRandom
		t.Kind = KindOp
	}
	t.Evidence = append(t.Evidence, Said(fmt.Sprintf("replay: with every pass of a stage as long as their mean (the same work in all), a step takes %s less", ms(int64(saved)))))
	if j.Passes != nil {
		t.Evidence = append(t.Evidence, Saying(j.relations()...)...)
	}
	if shared {
		t.Evidence = append(t.Evidence, Said(j.nobody()))
		t.say = "microbatches of uneven length make the workers wait for each other by turns"
	} else {
		t.Op = trace.ForwardCompute.String()
		if j.varies(trace.BackwardCompute) > j.varies(trace.ForwardCompute) {
			t.Op = trace.BackwardCompute.String()
		}
		t.say = "passes vary in length by turns on all workers, without a pattern over the microbatches"
	}
	j.add(t)
	return nil
}

// varies is the time that passes of a class differ from their kind's mean by.
func (j *opJudge) varies(class trace.OpClass) float64 {
	even := slices.Clone(j.mended(j.evenPasses()))
	sum := 0.0
	j.nodes(func(n int, _ whatif.Node) bool { return j.class[n] == class }, func(_, at int) {
		for l := range j.v.Grid.Lanes() {
			sum += math.Abs(float64(j.recorded[at+l] - even[at+l]))
		}
	})
	return sum
}

// relations say how passes of the same microbatch go together.
func (j *opJudge) relations() []string {
	s := j.Passes.Shared
	var out []string
	if s.Directions != nil {
		out = append(out, fmt.Sprintf("passes: they vary by %s; forward and backward of the same microbatch rise together: correlation %.2f, chance %s (permutation)",
			percent(s.Spread), *s.Directions, atMost(s.PDirections)))
	}
	if s.Stages != nil {
		out = append(out, fmt.Sprintf("passes: so do those of the same microbatch on neighbouring stages: correlation %.2f, chance %s (permutation)", *s.Stages, atMost(s.PStages)))
	}
	return out
}

// atMost writes the P of a permutation test, of which the smallest means "not
// once".
func atMost(p float64) string { return fmt.Sprintf("at most %.3f", p) }

// nobody says that no worker is behind an unevenness.
func (j *opJudge) nobody() string {
	accused := 0
	for _, t := range j.theories {
		if t.cause == causeWorker && j.share(t) >= trivial {
			accused++
		}
	}
	if accused == 0 {
		return fmt.Sprintf("on no fixed worker: none of %d stands out from its peers", len(j.Workers))
	}
	return fmt.Sprintf("beyond the workers that stand out: priced with %d of them mended", accused)
}
