package pipeline

import (
	"math"

	"github.com/sfstat/sfstat/eval/simulate/internal/streams"
)

// draw fills start with launch delays and end with durations and transfers,
// the faults of the step included.
func (g *generator) draw() {
	for dp := range g.spec.Layout.DP {
		for pp := range g.program.stages {
			g.drawWorker(dp, pp)
		}
	}
	g.drawGroups()
	var hits []hit // the faults of one size come after those that draw lengths
	for i := range g.spec.Faults {
		if !g.spec.strikes(i, g.step, g.rng) {
			continue
		}
		hits = append(hits, g.hits[i]...)
		for dp := range g.spec.Layout.DP {
			if g.spec.Faults[i].Kind == Workload {
				g.drawLengths(dp, i)
			}
		}
	}
	for _, h := range hits {
		row := g.row(g.end, h.node)
		if h.launch {
			row = g.row(g.start, h.node)
		}
		for dp := h.from; dp < h.to; dp++ {
			row[dp] = roundLength(float64(row[dp])*h.factor + float64(h.add))
		}
	}
}

// drawWorker draws what one worker does by itself, and the transfers that it
// draws for its group, each from a stream of its own.
func (g *generator) drawWorker(dp, pp int) {
	p, n := g.program, g.spec.Layout.DP
	seed, who, step := g.spec.Seed, worker(dp, pp), g.spec.Steps.index(g.step)
	speed := g.speed[g.spec.Layout.rank(dp, pp)]
	rng := g.rng.Restart(seed, forWork, who, step).Rand
	for _, v := range p.stages[pp] {
		if p.nodes[v].group < 0 {
			g.end[int(v)*n+dp] = roundLength(g.laws[v].work.Draw(rng) * speed)
		}
	}
	rng = g.rng.Restart(seed, forTransfer, who, step).Rand
	for _, v := range p.stages[pp] {
		if i := p.nodes[v].group; i >= 0 && !p.groups[i].across && p.groups[i].members[0] == v {
			g.end[int(v)*n+dp] = roundLength(g.laws[v].work.Draw(rng))
		}
	}
	rng = g.rng.Restart(seed, forLaunch, who, step).Rand
	for _, v := range p.stages[pp] {
		g.start[int(v)*n+dp] = roundLength(g.laws[v].launch.Draw(rng))
	}
}

// drawGroups draws the transfers of collectives over replicas.
func (g *generator) drawGroups() {
	rng := g.rng.Restart(g.spec.Seed, forGroup, 0, g.spec.Steps.index(g.step)).Rand
	for i := range g.program.groups {
		if grp := &g.program.groups[i]; grp.across {
			v := grp.members[0]
			g.row(g.end, v)[0] = roundLength(g.laws[v].work.Draw(rng))
		}
	}
}

// Lengths of microbatches: the extra length is factor − 1 times a Lomax
// variable of mean 1 and shape 3, which has the tail of sequence lengths in
// production, cut at maxExtra.
const (
	maxExtra  = 20
	cutNorm   = 1 / (1 - 1/((1+maxExtra/2.0)*(1+maxExtra/2.0))) // ∫ of the survival function to maxExtra is 1/cutNorm
	lomaxSize = 2
)

func drawExtra(rng *streams.Stream) float64 {
	y := lomaxSize * (1/math.Cbrt(1-rng.Float64()) - 1)
	return min(y, maxExtra) * cutNorm
}

// drawLengths makes microbatches of one replica longer: both passes of each,
// on all stages.
func (g *generator) drawLengths(dp, fault int) {
	f, n := &g.spec.Faults[fault], g.spec.Layout.DP
	rng := g.rng.Restart(g.spec.Seed, forLength, worker(dp, fault), g.spec.Steps.index(g.step))
	all := f.Shared * drawExtra(rng)
	length := make([]float64, g.spec.Layout.Microbatches)
	for m := range length {
		length[m] = 1 + (f.Factor-1)*(all+(1-f.Shared)*drawExtra(rng))
	}
	for v := range g.program.nodes {
		if node := &g.program.nodes[v]; node.class.IsCompute() {
			at := &g.end[v*n+dp]
			*at = roundLength(float64(*at) * length[node.micro])
		}
	}
}
