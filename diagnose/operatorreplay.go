package diagnose

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/engine/whatif"
	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace/operator"
)

// A fix changes what operators cost to what they would cost without a
// fault. Costs are [node][lane], ns.
type fix func(cost []int64)

// prepare reads the program of the trace, and replays it as it is.
func (j *opJudge) prepare() {
	j.recorded, j.otherEnd = j.v.Model.RecordedTimeline().Cost, map[int]int{}
	for _, i := range j.v.Model.Instances() {
		j.class = append(j.class, j.v.Grid.Instances[i].Class)
	}
	for _, g := range j.v.Model.Groups() {
		if a := int(g.Members[0]); len(g.Members) == 2 && j.class[a].IsTransfer() {
			b := int(g.Members[1])
			j.otherEnd[a], j.otherEnd[b] = b, a
		}
	}
	j.now = j.step()
}

// step returns the mean step time, in ns, with the fixes.
func (j *opJudge) step(fixes ...fix) float64 { return j.replayDelays(nil, fixes...).Mean }

// replayDelays returns the step times, in ns, when some operators start late beside
// what the fixes leave.
func (j *opJudge) replayDelays(delay []int64, fixes ...fix) whatif.StepTimes {
	j.scratch = append(j.scratch[:0], j.recorded...)
	for _, change := range fixes {
		change(j.scratch)
	}
	return j.replay(whatif.Timeline{Cost: j.scratch, Delay: delay})
}

// replay returns the step times of a timeline, ns.
func (j *opJudge) replay(t whatif.Timeline) whatif.StepTimes {
	r, err := j.v.Model.Replay(t)
	j.err = cmp.Or(j.err, err)
	return r
}

// row returns the part of values, [node][lane], of a node.
func (j *opJudge) row(values []int64, node int) []int64 {
	lanes := j.v.Grid.Lanes()
	return values[node*lanes : (node+1)*lanes]
}

// ends returns a node and, of a transfer between stages, the node at its other end, of the same duration.
func (j *opJudge) ends(node int) []int {
	if other, ok := j.otherEnd[node]; ok {
		return []int{node, other}
	}
	return []int{node}
}

// local reports whether node n is work that its worker does by itself.
func (j *opJudge) local(n int) bool {
	c := j.class[n]
	return !c.IsTransfer() && !c.AcrossReplicas() && c != operator.EmbeddingGradsAllReduce
}

// subtractOthers subtracts from every value the median of the others, the lower one
// of an even number: stragglers are only ever slow. O(n log n) for all of them.
func subtractOthers(dst, x []int64, scratch []int64) {
	scratch = append(scratch[:0], x...)
	slices.Sort(scratch)
	for i, v := range x {
		lower, _ := robust.MiddlesWithout(scratch, v)
		dst[i] = v - lower
	}
}

// equalizeWorkers makes the nodes that match cost, on every worker, what the median
// of the other replicas does, instance by instance and step by step.
func (j *opJudge) equalizeWorkers(match func(n int) bool) fix {
	return func(cost []int64) {
		apart, scratch := make([]int64, j.Replicas), make([]int64, 0, j.Replicas)
		for n := range j.class {
			if !match(n) {
				continue
			}
			for lanes := range slices.Chunk(j.row(cost, n), j.Replicas) {
				subtractOthers(apart, lanes, scratch)
				for d, by := range apart {
					lanes[d] -= by
				}
			}
		}
	}
}

// scaleNodes makes the nodes of a stage cost less, by a factor for each kind and step; of transfers both ends.
func (j *opJudge) scaleNodes(stage int, factor map[string][]float64) fix {
	return func(cost []int64) {
		for n, node := range j.v.Model.Nodes() {
			if node.Stage != stage || factor[node.Op] == nil {
				continue
			}
			for _, end := range j.ends(n) {
				row := j.row(cost, end)
				for l, x := range row {
					row[l] = int64(float64(x) / factor[node.Op][l/j.Replicas])
				}
			}
		}
	}
}

// evenPasses makes every pass of a stage cost the mean of its passes of that
// direction and chunk, over replicas and steps: microbatches of equal length,
// with the same work in all.
func (j *opJudge) evenPasses() fix {
	type kind struct {
		class operator.Class
		stage int
		chunk int32
	}
	passes := map[kind][]int{}
	for n, node := range j.v.Model.Nodes() {
		if j.class[n].IsCompute() {
			k := kind{j.class[n], node.Stage, j.v.Trace.Chunk[j.v.Grid.At[int(j.v.Model.Instances()[n])*j.v.Grid.Lanes()]]}
			passes[k] = append(passes[k], n)
		}
	}
	return func(cost []int64) {
		for _, list := range passes {
			sum := int64(0)
			for _, n := range list {
				for _, c := range j.row(cost, n) {
					sum += c
				}
			}
			mean := sum / int64(len(list)*j.v.Grid.Lanes())
			for _, n := range list {
				row := j.row(cost, n)
				for l := range row {
					row[l] = mean
				}
			}
		}
	}
}

// freeCommunication makes all transfers take no time.
func (j *opJudge) freeCommunication() fix {
	return func(cost []int64) {
		for n := range j.class {
			if !j.local(n) {
				clear(j.row(cost, n))
			}
		}
	}
}

// levels are what the operators of one kind cost in every step, by stage: the
// lower median over its workers, so that a straggler does not make its stage
// heavy.
type levels map[string][][]float64 // kind: [stage][step], ns

// levels measures the nodes that match.
func (j *opJudge) levels(match func(n int) bool) levels {
	sums := make(map[string][][]float64) // kind: [stage][lane]
	for n, node := range j.v.Model.Nodes() {
		if !match(n) {
			continue
		}
		if sums[node.Op] == nil {
			for range j.v.Grid.Stages {
				sums[node.Op] = append(sums[node.Op], make([]float64, j.v.Grid.Lanes()))
			}
		}
		for l, x := range j.row(j.recorded, n) {
			sums[node.Op][node.Stage][l] += float64(x)
		}
	}
	out := make(levels)
	for op, stages := range sums {
		for _, cost := range stages {
			var steps []float64
			for lanes := range slices.Chunk(cost, j.Replicas) {
				steps = append(steps, robust.Lower(lanes))
			}
			out[op] = append(out[op], steps)
		}
	}
	return out
}

// mean returns the mean over the steps of a kind on a stage.
func (l levels) mean(op string, stage int) float64 {
	sum := 0.0
	for _, x := range l[op][stage] {
		sum += x
	}
	return sum / float64(max(1, len(l[op][stage])))
}

// medianOfOthers returns the lower median of the other stages, 0 without any.
func medianOfOthers(stages int, stage int, of func(stage int) float64) float64 {
	var x []float64
	for s := range stages {
		if s != stage {
			x = append(x, of(s))
		}
	}
	return robust.Lower(x)
}

// excessFactors returns the factor by which the levels of a stage exceed the lower median of the other stages, by kind and step,
// at least 1; only of kinds with a larger mean. A stage may be slow in some steps only.
func (l levels) excessFactors(stage int) map[string][]float64 {
	out := make(map[string][]float64)
	for op, stages := range l {
		base := medianOfOthers(len(stages), stage, func(s int) float64 { return l.mean(op, s) })
		if base <= 0 || l.mean(op, stage) <= base {
			continue
		}
		for t, own := range stages[stage] {
			f := 1.0
			if base := medianOfOthers(len(stages), stage, func(s int) float64 { return stages[s][t] }); base > 0 {
				f = max(1, own/base)
			}
			out[op] = append(out[op], f)
		}
	}
	return out
}

// total returns the cost of all kinds together on a stage in a step.
func (l levels) total(stage, step int) float64 {
	sum := 0.0
	for _, stages := range l {
		sum += stages[stage][step]
	}
	return sum
}
