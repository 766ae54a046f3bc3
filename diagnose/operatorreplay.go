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

// priced is the replay of an operator trace with fixes: all without launch
// delays, since what delays a launch is often a wait that no operator records.
type priced struct {
	e        *examined
	recorded []int64
	now      float64 // mean step, ns
	class    []operator.Class
	scratch  []int64
	otherEnd map[int]int // node at the other end of a transfer between stages
	err      error       // of the first replay that failed, whose steps take no time
}

func (e *examined) prices() *priced {
	p := &priced{e: e, recorded: e.v.Model.Recorded().Cost}
	for _, i := range e.v.Model.Instances() {
		p.class = append(p.class, e.v.Grid.Instances[i].Class)
	}
	p.now = p.step()
	return p
}

// step is the mean step time, in ns, with the fixes.
func (p *priced) step(fixes ...fix) float64 { return p.delayed(nil, fixes...) }

// fixed are the costs with the fixes, valid until the next call.
func (p *priced) fixed(fixes ...fix) []int64 {
	p.scratch = append(p.scratch[:0], p.recorded...)
	for _, change := range fixes {
		change(p.scratch)
	}
	return p.scratch
}

// delayed is the mean step time, in ns, when some operators start late beside
// what the fixes leave.
func (p *priced) delayed(delay []int64, fixes ...fix) float64 {
	return p.replay(whatif.Timeline{Cost: p.fixed(fixes...), Delay: delay}).Mean
}

// perStep are the step times with the fixes, in ns.
func (p *priced) perStep(fixes ...fix) []int64 {
	return p.replay(whatif.Timeline{Cost: p.fixed(fixes...)}).PerStep
}

func (p *priced) replay(t whatif.Timeline) whatif.StepTimes {
	r, err := p.e.v.Model.Replay(t)
	if err != nil {
		p.err = cmp.Or(p.err, err)
		return whatif.StepTimes{}
	}
	return r[0]
}

// local reports whether node n is work that its worker does by itself.
func (p *priced) local(n int) bool {
	c := p.class[n]
	return !c.IsTransfer() && !c.AcrossReplicas() && c != operator.EmbeddingGradsAllReduce
}

// nodes calls fn for the nodes that match, with the lanes of each.
func (p *priced) nodes(match func(n int, node whatif.Node) bool, fn func(n, at int)) {
	lanes := p.e.v.Grid.Lanes()
	for n, node := range p.e.v.Model.Nodes() {
		if match(n, node) {
			fn(n, n*lanes)
		}
	}
}

// fromOthers subtracts from every value the median of the others, the lower one
// of an even number, as medianOfOthers would. O(n log n) for all of them.
func fromOthers(dst, x []int64, scratch []int64) {
	scratch = append(scratch[:0], x...)
	slices.Sort(scratch)
	k := (len(x) - 2) / 2
	for i, v := range x {
		if v <= scratch[k] { // it stands at k or before: the others' k-th is the next
			dst[i] = v - scratch[k+1]
		} else {
			dst[i] = v - scratch[k]
		}
	}
}

// allLikePeers makes the nodes that match cost, on every worker, what the median
// of the other replicas does, instance by instance and step by step.
func (p *priced) allLikePeers(match func(n int) bool) fix {
	replicas := p.e.v.Grid.Replicas
	return func(cost []int64) {
		apart, scratch := make([]int64, replicas), make([]int64, 0, replicas)
		p.nodes(func(n int, _ whatif.Node) bool { return match(n) }, func(_, at int) {
			for lane := at; lane < at+p.e.v.Grid.Lanes(); lane += replicas {
				fromOthers(apart, cost[lane:lane+replicas], scratch)
				for d, by := range apart {
					cost[lane+d] -= by
				}
			}
		})
	}
}

// medianOfOthers is the median of x but for one, the lower one of an even
// number: stragglers are only ever slow.
func medianOfOthers(x []int64, own int, scratch []int64) int64 {
	scratch = append(append(scratch[:0], x[:own]...), x[own+1:]...)
	return robust.Lower(scratch)
}

// scaled makes the nodes of a stage cost less, by a factor for each kind and
// step.
func (p *priced) scaled(stage int, factor map[string][]float64) fix {
	replicas := p.e.v.Grid.Replicas
	return func(cost []int64) {
		p.nodes(func(_ int, node whatif.Node) bool { return node.Stage == stage && factor[node.Op] != nil }, func(n, at int) {
			for step, f := range factor[p.e.v.Model.Nodes()[n].Op] {
				for l := at + step*replicas; l < at+(step+1)*replicas; l++ {
					cost[l] = int64(float64(cost[l]) / f)
				}
			}
		})
	}
}

// evenPasses makes every pass of a stage cost the mean of its passes of that
// direction and chunk, over replicas and steps: microbatches of equal length,
// with the same work in all.
func (p *priced) evenPasses() fix {
	v := p.e.v
	lanes := v.Grid.Lanes()
	type kind struct {
		class operator.Class
		stage int
		chunk int32
	}
	nodes := v.Model.Nodes()
	of := func(n int) kind {
		return kind{p.class[n], nodes[n].Stage, v.Trace.Chunk[v.Grid.At[int(v.Model.Instances()[n])*lanes]]}
	}
	pass := func(n int, _ whatif.Node) bool { return p.class[n].IsCompute() }
	return func(cost []int64) {
		sums, count := make(map[kind]int64), make(map[kind]int64)
		p.nodes(pass, func(n, at int) {
			k := of(n)
			for _, c := range cost[at : at+lanes] {
				sums[k] += c
			}
			count[k] += int64(lanes)
		})
		p.nodes(pass, func(n, at int) {
			k := of(n)
			for l := range lanes {
				cost[at+l] = sums[k] / count[k]
			}
		})
	}
}

// levels are what the operators of one kind cost in every step, by stage: the
// lower median over its workers, so that a straggler does not make its stage
// heavy.
type levels map[string][][]float64 // kind: [stage][step], ns

// levels measures the nodes that match.
func (p *priced) levels(match func(n int) bool) levels {
	v := p.e.v
	replicas, lanes := v.Grid.Replicas, v.Grid.Lanes()
	sums := make(map[string][][]float64) // kind: [stage][lane]
	p.nodes(func(n int, _ whatif.Node) bool { return match(n) }, func(n, at int) {
		node := v.Model.Nodes()[n]
		if sums[node.Op] == nil {
			sums[node.Op] = make([][]float64, v.Grid.Stages)
			for s := range sums[node.Op] {
				sums[node.Op][s] = make([]float64, lanes)
			}
		}
		for l := range lanes {
			sums[node.Op][node.Stage][l] += float64(p.recorded[at+l])
		}
	})
	out := make(levels)
	for op, stages := range sums {
		for _, cost := range stages {
			steps := make([]float64, lanes/replicas)
			for t := range steps {
				steps[t] = robust.Lower(slices.Clone(cost[t*replicas : (t+1)*replicas]))
			}
			out[op] = append(out[op], steps)
		}
	}
	return out
}

// mean is the mean over the steps of a kind on a stage.
func (l levels) mean(op string, stage int) float64 {
	sum := 0.0
	for _, x := range l[op][stage] {
		sum += x
	}
	return sum / float64(max(1, len(l[op][stage])))
}

// others is the lower median of the other stages, 0 without any.
func others(stages int, stage int, of func(stage int) float64) float64 {
	var x []float64
	for s := range stages {
		if s != stage {
			x = append(x, of(s))
		}
	}
	return robust.Lower(x)
}

// overOthers is by which factor the levels of a stage exceed the lower median
// of the other stages, by kind and step, at least 1; only of kinds that do so
// in the mean. A stage may be slow in some steps only.
func (l levels) overOthers(stage int) map[string][]float64 {
	out := make(map[string][]float64)
	for op, stages := range l {
		base := others(len(stages), stage, func(s int) float64 { return l.mean(op, s) })
		if base <= 0 || l.mean(op, stage) <= base {
			continue
		}
		for t, own := range stages[stage] {
			f := 1.0
			if base := others(len(stages), stage, func(s int) float64 { return stages[s][t] }); base > 0 {
				f = max(1, own/base)
			}
			out[op] = append(out[op], f)
		}
	}
	return out
}

// total is what all kinds together cost on a stage in a step.
func (l levels) total(stage, step int) float64 {
	sum := 0.0
	for _, stages := range l {
		sum += stages[stage][step]
	}
	return sum
}

// freeCommunication makes all transfers take no time.
func (p *priced) freeCommunication() fix {
	lanes := p.e.v.Grid.Lanes()
	return func(cost []int64) {
		for n := range p.class {
			if !p.local(n) {
				clear(cost[n*lanes : (n+1)*lanes])
			}
		}
	}
}

// middleOfOthers is the median of x but for one, of an even number the mean of
// the middle two.
func middleOfOthers(x []int64, own int) int64 {
	return robust.MedianTime(slices.Concat(x[:own], x[own+1:]))
}
