package pipeline

import (
	"math"
	"slices"

	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/eval/simulate/internal/streams"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/operator"
)

// generator makes the operator trace of one run, step by step.
type generator struct {
	spec    *Spec // resolved
	program *program
	laws    []laws          // [node]
	speed   []float64       // [rank] factor on what a worker does itself
	clocks  []simulate.Dial // [rank]
	between law
	hits    [][]hit // [fault]
	rng     *streams.Stream

	// Of one step, [node][dp]. Before the step runs, start holds launch delays
	// and end holds durations; the transfer of a group stands with its first
	// member, and for one across replicas with replica 0.
	start, end []int64
	begin      []int64 // [rank] when the worker is ready for the step
	step       int     // the one that runs, counted from 0
}

// laws of one node.
type laws struct{ work, launch law }

// newGenerator checks the spec and prepares its run.
func newGenerator(s Spec) (*generator, error) {
	spec, p, err := s.resolve()
	if err != nil {
		return nil, err
	}
	l := spec.Layout
	g := &generator{spec: spec, program: p, between: spec.Between.law(1), rng: streams.New(),
		start: make([]int64, len(p.nodes)*l.DP), end: make([]int64, len(p.nodes)*l.DP), begin: make([]int64, l.Workers())}
	for v := range p.nodes {
		g.laws = append(g.laws, spec.lawsOf(&p.nodes[v], l))
	}
	for i := range spec.Faults {
		g.hits = append(g.hits, g.hitsOf(&spec.Faults[i]))
	}
	g.place()
	return g, nil
}

// lawsOf returns the laws of a node: a bucket has its part of the collective, a stage its work.
func (s *Spec) lawsOf(n *node, l Layout) laws {
	o, factor := s.Ops.entry(n.class), 1.0
	switch {
	case n.class.IsCompute():
		factor = s.StageWork[n.stage]
	case n.class == operator.ParamsAllGather || n.class == operator.GradsReduceScatter:
		factor = 1 / float64(l.Buckets)
	case n.class.IsTransfer() && n.group < 0:
		factor = 0 // at an end of the model: nothing is moved
	}
	return laws{o.Dist.law(factor), o.Launch.law(1)}
}

// place gives every worker its speed and its clock, and sets it going.
func (g *generator) place() {
	s, l := g.spec, g.spec.Layout
	for pp := range l.PP {
		for dp := range l.DP {
			rng := g.rng.Restart(s.Seed, forSpeed, worker(dp, pp), 0)
			slowest := rng.NormFloat64()
			for range l.TP - 1 {
				slowest = max(slowest, rng.NormFloat64())
			}
			g.speed = append(g.speed, max(0.1, 1+s.SpeedSD*slowest))
			g.clocks = append(g.clocks, s.Clock.Draw(g.rng.Restart(s.Seed, forClock, worker(dp, pp), 0).Rand, simulate.Ahead))
			g.begin[l.rank(dp, pp)] = g.pause(dp, pp)
		}
	}
}

// pause returns a worker's time before its next step.
func (g *generator) pause(dp, pp int) int64 {
	return roundLength(g.between.Draw(g.rng.Restart(g.spec.Seed, forBetween, worker(dp, pp), int64(g.step)).Rand))
}

// Make generates a whole run. The trace is arranged and has its groups.
func Make(s Spec) (*operator.Trace, Truth, error) {
	g, err := newGenerator(s)
	if err != nil {
		return nil, Truth{}, err
	}
	if s.Steps.Count > operator.MaxOps/len(g.start) {
		return nil, Truth{}, input.Bad(input.ErrTooLarge, "%d steps of %d operators, a trace holds %d: take fewer steps",
			s.Steps.Count, len(g.start), operator.MaxOps)
	}
	t := g.empty()
	for range s.Steps.Count {
		g.draw()
		g.run()
		g.record(t)
		if !g.next() {
			return nil, Truth{}, g.overflowError()
		}
	}
	if t.Arrange(nil) != nil {
		return nil, Truth{}, g.overflowError()
	}
	return t, g.spec.truth(g.program), nil
}

// empty returns the trace without times.
func (g *generator) empty() *operator.Trace {
	l, ops := g.spec.Layout, len(g.start)*g.spec.Steps.Count
	t := &operator.Trace{Run: g.spec.Run, StepClock: !g.spec.Clock.Running, Resolution: 1, Units: "nanoseconds (simulated)",
		Layout: operator.Layout{DP: l.DP, PP: l.PP, TP: l.TP, DSP: 1, VPP: l.Chunks, World: l.Workers() * l.TP},
		Start:  make([]int64, ops), Dur: make([]int64, ops)}
	for _, column := range []*[]int32{&t.Rank, &t.Step, &t.Name, &t.Lane, &t.Seq, &t.Chunk, &t.GlobalChunk, &t.Microbatch, &t.Group} {
		*column = make([]int32, ops)
	}
	for rank := range l.Workers() {
		t.Ranks = append(t.Ranks, trace.Rank{ID: rank, LocalRank: -1, Role: trace.Role{
			{Axis: trace.DataParallel, Index: rank % l.DP}, {Axis: trace.PipelineParallel, Index: rank / l.DP}}})
	}
	return t
}

// overflowError returns the only fault that a trace of valid draws can have.
func (g *generator) overflowError() error {
	return input.Bad(input.ErrOverflow, "the trace lasts too long for %d workers by step %d: make operators or delays shorter, or take fewer steps",
		len(g.begin), g.spec.Steps.index(g.step))
}

// maxTime is when the last step has to end.
const maxTime = trace.MaxTotal / 4

// next readies every worker for the next step; steps that are not recorded pass like the
// one before. It reports whether the step ended in time.
func (g *generator) next() bool {
	l := g.spec.Layout
	first, last := slices.Min(g.begin), int64(0)
	g.step++
	for pp, v := range g.program.last {
		for dp, end := range g.row(g.end, v) {
			last = max(last, end)
			g.begin[l.rank(dp, pp)] = end + g.pause(dp, pp)
		}
	}
	if skipped := g.spec.Steps.Every - 1; skipped > 0 {
		length := (last - first) * min(skipped, maxTime/max(1, last-first))
		for w, begin := range g.begin {
			g.begin[w] = min(begin+length, maxTime)
		}
	}
	return last < maxTime
}

// row returns a node's part of a [node][dp] array.
func (g *generator) row(array []int64, v int32) []int64 {
	n := g.spec.Layout.DP
	return array[int(v)*n : (int(v)+1)*n]
}

// run lets every operator start as soon as it can.
func (g *generator) run() {
	for _, set := range g.program.order {
		for _, v := range set.members {
			n, start := &g.program.nodes[v], g.row(g.start, v)
			for dp := range start {
				ready := g.begin[g.spec.Layout.rank(dp, n.stage)]
				for _, u := range n.after {
					ready = max(ready, g.row(g.end, u)[dp])
				}
				start[dp] += ready
			}
		}
		g.finish(set)
	}
}

// finish ends the members of a group, all of which have started: all at once, where they are
// several. A time that could not be held is cut to maxTime, which next reports.
func (g *generator) finish(set group) {
	transfer := slices.Clone(g.row(g.end, set.members[0]))
	last := slices.Repeat([]int64{math.MinInt64}, len(transfer))
	for _, v := range set.members {
		for dp, start := range g.row(g.start, v) {
			last[dp] = max(last[dp], start)
		}
	}
	if set.across {
		latest := slices.Max(last) + transfer[0]
		for dp := range last {
			last[dp], transfer[dp] = latest, 0
		}
	}
	for _, v := range set.members {
		for dp := range last {
			g.row(g.end, v)[dp] = min(last[dp]+transfer[dp], maxTime)
		}
	}
}

// record writes the step that has run into a trace, to be arranged.
func (g *generator) record(t *operator.Trace) {
	l, step := g.spec.Layout, len(t.Steps)
	for v := range g.program.nodes {
		n := &g.program.nodes[v]
		name := slices.Index(t.Names, n.class.String())
		if name < 0 {
			name = len(t.Names)
			t.Names = append(t.Names, n.class.String())
		}
		depth := -1
		if n.class.IsCompute() {
			depth = l.depth(n.stage, n.chunk)
		}
		for dp, start := range g.row(g.start, int32(v)) {
			i, rank := step*len(g.start)+v*l.DP+dp, l.rank(dp, n.stage)
			c := g.clocks[rank]
			t.Start[i] = c.Read(start)
			t.Dur[i] = c.Read(g.row(g.end, int32(v))[dp]) - t.Start[i]
			t.Rank[i], t.Step[i], t.Group[i] = int32(rank), int32(step), -1
			t.Name[i], t.Lane[i], t.Seq[i] = int32(name), n.class.Lane(), int32(n.seq)
			t.Chunk[i], t.GlobalChunk[i], t.Microbatch[i] = int32(n.chunk), int32(depth), int32(n.micro)
			if n.group >= 0 {
				t.Group[i] = g.program.number(n.group, step, dp)
			}
		}
	}
	t.Steps = append(t.Steps, g.spec.Steps.index(g.step))
	if t.StepClock {
		starts := t.Start[step*len(g.start):][:len(g.start)]
		zero := slices.Min(starts)
		for i := range starts {
			starts[i] -= zero
		}
	}
}
