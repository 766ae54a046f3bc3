package pipeline

import (
	"io"
	"runtime"
	"slices"

	"github.com/sfstat/sfstat/eval/simulate/internal/streams"
	"github.com/sfstat/sfstat/internal/parallel"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/operator"
)

// Generator yields the operator trace of one run, as many steps at a time as
// are asked for. It is for one goroutine; it uses others itself where there
// are many workers.
type Generator struct {
	spec    *Spec // resolved
	program *program
	laws    []laws    // [node]
	speed   []float64 // [stage][dp] factor on what a worker does itself
	clocks  []clock   // [stage][dp]
	between law
	faults  [][]hit
	rng     *streams.Stream
	shares  []*share // of the replicas, one per goroutine
	table   table    // constant columns of the trace

	// Of one step, [node][dp]. Before the step runs, start holds launch delays
	// and end holds durations; the transfer of a group stands with its first
	// member, and for one across replicas with replica 0.
	start, end []int64
	begin      []int64 // [stage][dp] when the worker is ready for the step
	step       int     // next step, counted from 0
	spent      int64   // bound on the sum of all durations so far
}

// laws of one node.
type laws struct{ work, launch law }

// clock is what is wrong with a worker's clock.
type clock struct {
	offset int64
	rate   float64
}

// read is what the clock shows.
func (c clock) read(t int64) int64 {
	if c.rate != 0 {
		t += int64(c.rate * float64(t))
	}
	return t + c.offset
}

// share is the replicas that one goroutine works on, and its own scratch.
type share struct {
	rng      *streams.Stream
	from, to int
	order    [][]int32 // [stage] nodes in order of start, of the worker looked at last
	length   []float64 // by microbatch
	limit    float64   // draws up to it cannot overflow
	huge     bool      // a draw of the step was beyond it
}

// workersPerShare is the least number of workers for which another goroutine
// pays.
const workersPerShare = 128

// New checks the spec and prepares its run.
func New(s Spec) (*Generator, error) {
	spec, p, err := s.resolve()
	if err != nil {
		return nil, err
	}
	l := spec.Layout
	g := &Generator{spec: spec, program: p, between: spec.Between.law(1), rng: streams.New(), table: newTable(p),
		start: make([]int64, len(p.nodes)*l.DP), end: make([]int64, len(p.nodes)*l.DP), begin: make([]int64, l.Workers())}
	for v := range p.nodes {
		g.laws = append(g.laws, spec.lawsOf(&p.nodes[v], l))
	}
	for i := range spec.Faults {
		g.faults = append(g.faults, g.hits(&spec.Faults[i]))
	}
	g.place()
	n := min(runtime.GOMAXPROCS(0), l.DP, max(1, l.Workers()/workersPerShare))
	for i := range n {
		w := &share{rng: streams.New(), from: l.DP * i / n, to: l.DP * (i + 1) / n, length: make([]float64, l.Microbatches),
			limit: operator.MaxTotal / float64(2*len(p.nodes))}
		for _, nodes := range p.stages {
			w.order = append(w.order, slices.Clone(nodes))
		}
		g.shares = append(g.shares, w)
	}
	return g, nil
}

// lawsOf a node: a bucket has its part of the collective, a stage its work.
func (s *Spec) lawsOf(n *node, l Layout) laws {
	o, factor := s.Ops.of(n.class), 1.0
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
func (g *Generator) place() {
	s, l := g.spec, g.spec.Layout
	skew := float64(s.Clock.SkewSD) * nsPerMilli
	for pp := range l.PP {
		for dp := range l.DP {
			rng := g.rng.At(s.Seed, forSpeed, worker(dp, pp), 0)
			slowest := rng.NormFloat64()
			for range l.TP - 1 {
				slowest = max(slowest, rng.NormFloat64())
			}
			g.speed = append(g.speed, max(0.1, 1+s.SpeedSD*slowest))
			g.rng.At(s.Seed, forClock, worker(dp, pp), 0)
			c := clock{offset: int64(max(0, skew*(8+g.rng.NormFloat64())))}
			c.rate = min(0.5, max(-0.5, s.Clock.DriftPPM*1e-6*g.rng.NormFloat64()))
			g.clocks = append(g.clocks, c)
			g.begin[l.rank(dp, pp)] = g.pause(dp, pp)
		}
	}
}

// pause is a worker's time before its next step.
func (g *Generator) pause(dp, pp int) int64 {
	return whole(g.between.draw(g.rng.At(g.spec.Seed, forBetween, worker(dp, pp), int64(g.step)).Rand))
}

// Steps is the number of steps that are still to come.
func (g *Generator) Steps() int { return g.spec.Steps.Count - g.step }

// Ops is the number of operators in one step of all workers.
func (g *Generator) Ops() int { return len(g.start) }

// Truth is what the run hides.
func (g *Generator) Truth() Truth { return g.spec.truth(g.program) }

// Next generates the next n steps, or those that are left. The caller owns the
// trace, which is arranged and has its groups. After the last step the error
// is io.EOF.
func (g *Generator) Next(n int) (*operator.Trace, error) {
	if n = min(n, g.Steps()); n <= 0 {
		return nil, io.EOF
	}
	if n > operator.MaxOps/g.Ops() {
		return nil, input.Bad(input.ErrTooLarge, "%d steps of %d operators, a trace holds %d: take fewer steps at a time", n, g.Ops(), operator.MaxOps)
	}
	t := g.table.trace(g.spec, n)
	g.spent = 0
	for i := range n {
		g.draw()
		if !g.fits() {
			return nil, g.tooLong()
		}
		g.run()
		if !g.account() {
			return nil, g.tooLong()
		}
		g.record(t, i)
		g.step++
		g.pauseAll()
	}
	return t, nil
}

// Make generates a whole run.
func Make(s Spec) (*operator.Trace, Truth, error) {
	g, err := New(s)
	if err != nil {
		return nil, Truth{}, err
	}
	t, err := g.Next(s.Steps.Count)
	if err != nil {
		return nil, Truth{}, err
	}
	return t, g.Truth(), nil
}

// each runs fn on every share of the replicas, side by side. The results do
// not depend on how replicas are shared out.
func (g *Generator) each(fn func(w *share)) {
	var wg parallel.Group
	for _, w := range g.shares[1:] {
		wg.Go(func() { fn(w) })
	}
	fn(g.shares[0])
	wg.Wait()
}

// pauseAll readies every worker for the next step; steps that are not recorded
// pass like the one before.
func (g *Generator) pauseAll() {
	l := g.spec.Layout
	first, last := slices.Min(g.begin), int64(0)
	for pp, v := range g.program.last {
		last = max(last, slices.Max(g.row(g.end, v)))
		for dp, end := range g.row(g.end, v) {
			g.begin[l.rank(dp, pp)] = end + g.pause(dp, pp)
		}
	}
	if skipped := g.spec.Steps.Every - 1; skipped > 0 {
		length := (last - first) * min(skipped, maxTime/max(1, last-first))
		for w, begin := range g.begin {
			g.begin[w] = min(begin+length, maxTime)
		}
	}
}

// maxTime is when the last step has to end.
const maxTime = trace.MaxTotal / 4

// lanesPerWorker is how many queues of a worker run side by side.
const lanesPerWorker = 6

// account reports whether the step ended in time, and its operators fit into
// the trace with those before it.
func (g *Generator) account() bool {
	first, last := slices.Min(g.begin), int64(0)
	for _, v := range g.program.last {
		last = max(last, slices.Max(g.row(g.end, v)))
	}
	lanes := int64(lanesPerWorker * len(g.begin))
	if last >= maxTime || last-first > (operator.MaxTotal-g.spent)/lanes {
		return false
	}
	g.spent += (last - first) * lanes
	return true
}

func (g *Generator) tooLong() error {
	return input.Bad(input.ErrOverflow, "step %d or the trace that it is in lasts too long for %d workers: make operators or delays shorter, or take fewer steps at a time",
		g.spec.Steps.index(g.step), len(g.begin))
}

// row is a node's part of a [node][dp] array.
func (g *Generator) row(array []int64, v int32) []int64 {
	n := g.spec.Layout.DP
	return array[int(v)*n : (int(v)+1)*n]
}
