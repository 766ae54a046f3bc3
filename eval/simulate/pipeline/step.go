package pipeline

import (
	"math"
	"slices"

	"github.com/sfstat/sfstat/eval/simulate/internal/streams"
	"github.com/sfstat/sfstat/trace/operator"
)

// draw fills start with launch delays and end with durations and transfers,
// the faults of the step included.
func (g *Generator) draw() {
	striking := make([]bool, len(g.spec.Faults))
	for i := range striking {
		striking[i] = g.spec.strikes(i, g.step, g.rng)
	}
	g.each(func(w *share) {
		for dp := w.from; dp < w.to; dp++ {
			for pp := range g.program.stages {
				g.drawWorker(w, dp, pp)
			}
			for i, strikes := range striking {
				if strikes && g.spec.Faults[i].Kind == Workload {
					g.drawLengths(w, dp, i)
				}
			}
		}
	})
	g.drawGroups()
	for i, strikes := range striking {
		if !strikes {
			continue
		}
		for _, h := range g.faults[i] {
			row := g.row(g.end, h.node)
			if h.launch {
				row = g.row(g.start, h.node)
			}
			for dp := h.from; dp < h.to; dp++ {
				row[dp] = g.shares[0].whole(float64(row[dp])*h.factor + float64(h.add))
			}
		}
	}
}

// whole rounds to nanoseconds, and notes lengths of which a step could not add
// up as many as it has operators.
func (w *share) whole(x float64) int64 {
	if x > w.limit {
		w.huge, x = true, min(x, maxMillis*nsPerMilli)
	}
	return int64(x + 0.5)
}

// fits reports whether the draws of the step add up to a time that can be
// held.
func (g *Generator) fits() bool {
	huge := false
	for _, w := range g.shares {
		huge, w.huge = huge || w.huge, false
	}
	if !huge {
		return true
	}
	sum := 0.0
	for i := range g.start {
		sum += float64(g.start[i]) + float64(g.end[i])
	}
	return sum < operator.MaxTotal
}

// drawWorker draws what one worker does by itself, and the transfers that it
// draws for its group, each from a stream of its own.
func (g *Generator) drawWorker(w *share, dp, pp int) {
	p, n := g.program, g.spec.Layout.DP
	seed, who, step := g.spec.Seed, worker(dp, pp), g.spec.Steps.index(g.step)
	speed := g.speed[g.spec.Layout.rank(dp, pp)]
	rng := w.rng.At(seed, forWork, who, step).Rand
	for _, v := range p.stages[pp] {
		if p.nodes[v].group < 0 {
			g.end[int(v)*n+dp] = w.whole(g.laws[v].work.draw(rng) * speed)
		}
	}
	rng = w.rng.At(seed, forTransfer, who, step).Rand
	for _, v := range p.stages[pp] {
		if i := p.nodes[v].group; i >= 0 && !p.groups[i].across && p.groups[i].members[0] == v {
			g.end[int(v)*n+dp] = w.whole(g.laws[v].work.draw(rng))
		}
	}
	rng = w.rng.At(seed, forLaunch, who, step).Rand
	for _, v := range p.stages[pp] {
		g.start[int(v)*n+dp] = w.whole(g.laws[v].launch.draw(rng))
	}
}

// drawGroups draws the transfers of collectives over replicas.
func (g *Generator) drawGroups() {
	rng := g.rng.At(g.spec.Seed, forGroup, 0, g.spec.Steps.index(g.step)).Rand
	for i := range g.program.groups {
		if grp := &g.program.groups[i]; grp.across {
			v := grp.members[0]
			g.row(g.end, v)[0] = g.shares[0].whole(g.laws[v].work.draw(rng))
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
func (g *Generator) drawLengths(w *share, dp, fault int) {
	f, n := &g.spec.Faults[fault], g.spec.Layout.DP
	who := worker(dp, fault)
	rng := w.rng.At(g.spec.Seed, forLength, who, g.spec.Steps.index(g.step))
	all := f.Shared * drawExtra(rng)
	for m := range w.length {
		w.length[m] = 1 + (f.Factor-1)*(all+(1-f.Shared)*drawExtra(rng))
	}
	for v := range g.program.nodes {
		if node := &g.program.nodes[v]; node.class.IsCompute() {
			at := &g.end[v*n+dp]
			*at = w.whole(float64(*at) * w.length[node.micro])
		}
	}
}

// run lets every operator start as soon as it can.
func (g *Generator) run() {
	p, l := g.program, g.spec.Layout
	for _, t := range p.order {
		n := &p.nodes[t.node]
		start := g.row(g.start, t.node)
		switch len(n.after) {
		case 0:
			addRow(start, g.begin[n.stage*l.DP:])
		case 1:
			addRow(start, g.row(g.end, n.after[0]))
		default:
			addMax(start, g.row(g.end, n.after[0]), g.row(g.end, n.after[1]))
			if len(n.after) > 2 {
				g.addLate(start, n.after)
			}
		}
		switch {
		case n.group < 0:
			addRow(g.row(g.end, t.node), start)
		case t.ends:
			g.endGroup(&p.groups[n.group])
		}
	}
}

// addLate repairs a sum of launch delays and the ends of the first two nodes
// for the nodes after them.
func (g *Generator) addLate(start []int64, after []int32) {
	a, b := g.row(g.end, after[0]), g.row(g.end, after[1])
	for dp := range start {
		two := max(a[dp], b[dp])
		most := two
		for _, u := range after[2:] {
			most = max(most, g.row(g.end, u)[dp])
		}
		start[dp] += most - two
	}
}

// endGroup ends the members of a group, all of which have started.
func (g *Generator) endGroup(grp *group) {
	end := g.row(g.end, grp.members[0])
	if grp.across {
		met := int64(math.MinInt64)
		for _, v := range grp.members {
			met = max(met, slices.Max(g.row(g.start, v)))
		}
		met += end[0]
		for _, v := range grp.members {
			for dp := range g.row(g.end, v) {
				g.row(g.end, v)[dp] = met
			}
		}
		return
	}
	if len(grp.members) == 2 {
		addMax(end, g.row(g.start, grp.members[0]), g.row(g.start, grp.members[1]))
		copy(g.row(g.end, grp.members[1]), end)
	}
}

func addRow(dst, src []int64) {
	src = src[:len(dst)]
	for i := range dst {
		dst[i] += src[i]
	}
}

// addMax adds the larger of a and b.
func addMax(dst, a, b []int64) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] += max(a[i], b[i])
	}
}
