package diagnose

import (
	"slices"

	"github.com/sfstat/sfstat/engine/whatif"
	"github.com/sfstat/sfstat/trace"
)

// A remedy changes what operators cost to what they would cost without a
// fault. Costs are [node][lane], ns; recorded is never changed.
type remedy func(cost, recorded []int64)

// priced is the replay of an operator trace under remedies: all without launch
// delays, since what delays a launch is often a wait that no operator records.
type priced struct {
	e        *examined
	recorded []int64
	now      float64 // mean step, ns
	class    []trace.OpClass
	scratch  []int64
}

func (e *examined) prices() (*priced, error) {
	p := &priced{e: e, recorded: e.v.Model.Recorded().Cost}
	for _, i := range e.v.Model.Instances() {
		p.class = append(p.class, e.v.Grid.Instances[i].Class)
	}
	var err error
	p.now, err = p.step()
	return p, err
}

// step is the mean step time, in ns, after the remedies.
func (p *priced) step(remedies ...remedy) (float64, error) {
	cost := p.mended(remedies...)
	r, err := p.e.v.Model.Replay(whatif.Timeline{Cost: cost})
	if err != nil {
		return 0, err
	}
	return r[0].Mean, nil
}

// mended are the costs after the remedies, valid until the next call.
func (p *priced) mended(remedies ...remedy) []int64 {
	p.scratch = append(p.scratch[:0], p.recorded...)
	for _, mend := range remedies {
		mend(p.scratch, p.recorded)
	}
	return p.scratch
}

// delayed is the mean step time, in ns, when some operators start late beside
// what the remedies leave.
func (p *priced) delayed(delay []int64, remedies ...remedy) (float64, error) {
	r, err := p.e.v.Model.Replay(whatif.Timeline{Cost: p.mended(remedies...), Delay: delay})
	if err != nil {
		return 0, err
	}
	return r[0].Mean, nil
}

// local reports whether node n is work that its worker does by itself.
func (p *priced) local(n int) bool {
	c := p.class[n]
	return !c.IsTransfer() && !c.AcrossReplicas() && c != trace.EmbeddingGradsAllReduce
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

// likePeers makes the nodes of one worker cost what the median of the other
// replicas does, instance by instance and step by step. With several replicas
// that are slow, and half of them well, the others' median is still good.
func (p *priced) likePeers(worker int, match func(n int) bool) remedy {
	v := p.e.v
	stage, own, replicas := v.Stage(worker), v.Replica(worker), v.Grid.Replicas
	return func(cost, recorded []int64) {
		if replicas < 2 {
			return
		}
		others := make([]int64, 0, replicas)
		p.nodes(func(n int, node whatif.Node) bool { return node.Stage == stage && match(n) }, func(_, at int) {
			for lane := 0; lane < v.Grid.Lanes(); lane += replicas {
				cost[at+lane+own] = medianOfOthers(recorded[at+lane:at+lane+replicas], own, others)
			}
		})
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

// medianOfOthers is the median of x but for one, the lower one of an even
// number: stragglers are only ever slow.
func medianOfOthers(x []int64, own int, scratch []int64) int64 {
	scratch = append(append(scratch[:0], x[:own]...), x[own+1:]...)
	slices.Sort(scratch)
	return scratch[(len(scratch)-1)/2]
}

// scaled makes the nodes of a stage cost less by a factor for each kind.
func (p *priced) scaled(stage int, factor map[string]float64) remedy {
	lanes := p.e.v.Grid.Lanes()
	return func(cost, _ []int64) {
		p.nodes(func(_ int, node whatif.Node) bool { return node.Stage == stage && factor[node.Op] > 0 }, func(n, at int) {
			f := factor[p.e.v.Model.Nodes()[n].Op]
			for l := range lanes {
				cost[at+l] = int64(float64(cost[at+l]) / f)
			}
		})
	}
}

// evenPasses makes every pass of a worker cost the mean of its passes of that
// direction and chunk: microbatches of equal length, with the same work in all.
func (p *priced) evenPasses() remedy {
	v := p.e.v
	replicas, lanes := v.Grid.Replicas, v.Grid.Lanes()
	type kind struct {
		class trace.OpClass
		stage int
		chunk int32
	}
	of := func(n int, node whatif.Node) kind {
		row := v.Grid.At[int(v.Model.Instances()[n])*lanes]
		return kind{p.class[n], node.Stage, v.Trace.Chunk[row]}
	}
	return func(cost, _ []int64) {
		sums, count := make(map[kind][]int64), make(map[kind]int64)
		nodes := v.Model.Nodes()
		pass := func(n int, _ whatif.Node) bool { return p.class[n].IsCompute() }
		p.nodes(pass, func(n, at int) {
			k := of(n, nodes[n])
			if sums[k] == nil {
				sums[k] = make([]int64, replicas)
			}
			count[k]++
			for l := range lanes {
				sums[k][l%replicas] += cost[at+l]
			}
		})
		p.nodes(pass, func(n, at int) {
			k := of(n, nodes[n])
			for l := range lanes {
				cost[at+l] = sums[k][l%replicas] / (count[k] * int64(lanes/replicas))
			}
		})
	}
}

// levels are the mean costs per step of the nodes that match, by kind and
// stage: of every worker the mean over the steps, of a stage the lower median
// over its workers, so that a straggler does not make its stage heavy.
func (p *priced) levels(match func(n int) bool) map[string][]float64 {
	v := p.e.v
	replicas, lanes := v.Grid.Replicas, v.Grid.Lanes()
	sums := make(map[string][][]float64) // kind, stage, replica
	p.nodes(func(n int, _ whatif.Node) bool { return match(n) }, func(n, at int) {
		node := v.Model.Nodes()[n]
		if sums[node.Op] == nil {
			sums[node.Op] = make([][]float64, v.Grid.Stages)
			for s := range sums[node.Op] {
				sums[node.Op][s] = make([]float64, replicas)
			}
		}
		for l := range lanes {
			sums[node.Op][node.Stage][l%replicas] += float64(p.recorded[at+l])
		}
	})
	out := make(map[string][]float64)
	for op, stages := range sums {
		for _, workers := range stages {
			slices.Sort(workers)
			out[op] = append(out[op], workers[(len(workers)-1)/2]/float64(lanes/replicas))
		}
	}
	return out
}

// overOthers is by which factor the levels of a stage exceed the lower median
// of the other stages, by kind; only those that do.
func overOthers(levels map[string][]float64, stage int) map[string]float64 {
	out := make(map[string]float64)
	for op, stages := range levels {
		others := slices.Delete(slices.Clone(stages), stage, stage+1)
		slices.Sort(others)
		if len(others) == 0 {
			continue
		}
		if base := others[(len(others)-1)/2]; base > 0 && stages[stage] > base {
			out[op] = stages[stage] / base
		}
	}
	return out
}
