package main

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/sfstat/sfstat/eval/simulate/pipeline"
	"github.com/sfstat/sfstat/trace/operator"
)

// turns are the kinds of fault, one trace after another: every kind as often,
// and five of twelve traces healthy.
var turns = [...]pipeline.Kind{
	pipeline.NoFault, pipeline.SlowWorker, pipeline.NoFault, pipeline.SlowOp, pipeline.SlowStage, pipeline.NoFault,
	pipeline.Workload, pipeline.SlowEdge, pipeline.NoFault, pipeline.SlowGroup, pipeline.LateStart, pipeline.NoFault,
}

// kinds are the faults, in the order of the tables.
var kinds = [...]pipeline.Kind{pipeline.SlowWorker, pipeline.SlowOp, pipeline.SlowStage, pipeline.Workload, pipeline.SlowEdge,
	pipeline.SlowGroup, pipeline.LateStart}

// grid is replicas × pipeline stages.
type grid struct{ dp, pp int }

func (g grid) String() string { return fmt.Sprintf("%d×%d", g.dp, g.pp) }

// band is a range of sizes of a job, and the layouts that stand for it. What
// is there twice is drawn twice as often.
type band struct {
	name  string
	share float64 // of the traces
	grids []grid
}

var bands = [...]band{
	{"4", 0.22, []grid{{4, 1}, {4, 1}, {2, 2}}},
	{"8", 0.24, []grid{{8, 1}, {4, 2}, {4, 2}, {4, 2}, {2, 4}}},
	{"16–32", 0.26, []grid{{16, 1}, {8, 2}, {4, 4}, {4, 4}, {16, 2}, {8, 4}, {4, 8}}},
	{"64–128", 0.20, []grid{{64, 1}, {32, 2}, {16, 4}, {8, 8}, {64, 2}, {32, 4}, {16, 8}}},
	{"256–512", 0.08, []grid{{256, 1}, {128, 2}, {64, 4}, {32, 8}, {128, 4}, {64, 8}}},
}

// sizes of a kind of fault. Deviations are those of the operator's own jitter
// from step to step; of passes one is about 2 % of their length.
var sizes = map[pipeline.Kind][]pipeline.Size{
	pipeline.SlowWorker: withSigmas(pipeline.Size{Factor: 1.1}, pipeline.Size{Factor: 1.3}, pipeline.Size{Factor: 2}),
	pipeline.SlowOp:     withSigmas(pipeline.Size{Delay: 300}, pipeline.Size{Delay: 1500}),
	pipeline.SlowStage:  withSigmas(pipeline.Size{Factor: 1.1}, pipeline.Size{Factor: 1.3}, pipeline.Size{Factor: 2}),
	pipeline.Workload:   {{Factor: 1.1}, {Factor: 1.3}, {Factor: 1.5}, {Factor: 2}},
	pipeline.SlowEdge:   withSigmas(pipeline.Size{Delay: 30}, pipeline.Size{Delay: 100}, pipeline.Size{Delay: 400}),
	pipeline.SlowGroup:  withSigmas(pipeline.Size{Delay: 300}, pipeline.Size{Delay: 1500}),
	pipeline.LateStart:  {{Delay: 10}, {Delay: 30}, {Delay: 100}, {Delay: 300}, {Delay: 1500}},
}

var sigmas = []pipeline.Size{{Sigma: 0.5}, {Sigma: 1}, {Sigma: 2}, {Sigma: 3}, {Sigma: 5}, {Sigma: 10}}

func withSigmas(more ...pipeline.Size) []pipeline.Size { return slices.Concat(sigmas, more) }

// compareSizes orders deviations, factors and delays, each by size.
func compareSizes(a, b pipeline.Size) int {
	return cmp.Or(cmp.Compare(a.Delay, b.Delay), cmp.Compare(a.Factor, b.Factor), cmp.Compare(a.Sigma, b.Sigma))
}

// sizeName is "3 σ", "× 1.3" or "300 ms".
func sizeName(s pipeline.Size) string {
	switch {
	case s.Sigma > 0:
		return fmt.Sprintf("%g σ", s.Sigma)
	case s.Factor > 0:
		return fmt.Sprintf("× %g", s.Factor)
	}
	return fmt.Sprintf("%g ms", float64(s.Delay))
}

// ops are the operators that a kind of fault may strike; "" is its default.
var ops = map[pipeline.Kind][]string{
	pipeline.SlowWorker: {"", "", "", "forward-compute", "backward-compute", "optimizer"},
	pipeline.SlowOp:     {"forward-compute", "backward-compute"},
	pipeline.SlowEdge:   {"forward-send", "backward-send"},
	pipeline.SlowGroup:  {"grads-reduce-scatter", "params-all-gather"},
	pipeline.LateStart:  {"forward-compute", "backward-compute", "grads-reduce-scatter", "optimizer"},
}

// speeds are the relative deviations of the persistent speeds of ranks. Workers
// of a real job differ by a few tenths of a per cent, rarely by more.
var speeds = []float64{0.002, 0.002, 0.005, 0.01}

// whens are the steps in which a fault strikes.
var whens = []pipeline.When{{}, {}, {}, {Every: 2}, {Every: 4}, {Probability: 0.3}, {From: 3}}

// draw is the specification of trace number i of a seed, and its band. It does
// not depend on the other traces.
func draw(seed uint64, i int) (pipeline.Spec, int) {
	rng := rand.New(rand.NewPCG(seed, uint64(i)))
	kind := turns[i%len(turns)]
	at, u := 0, rng.Float64()
	for at < len(bands)-1 && u >= bands[at].share {
		u -= bands[at].share
		at++
	}
	s := pipeline.DefaultSpec()
	s.Seed = rng.Uint64()
	s.Layout = layout(rng, bands[at], kind)
	s.Steps.Count = 8 + rng.IntN(13)
	if s.Layout.Workers() >= 256 {
		s.Steps.Count = 8 + rng.IntN(5)
	}
	s.SpeedSD = pick(rng, speeds)
	if rng.IntN(3) == 0 {
		s.Clock.SkewSD = pick(rng, []pipeline.Millis{1, 20})
	}
	if kind == pipeline.NoFault {
		return s, at
	}
	f := pipeline.Fault{Kind: kind, Size: pick(rng, sizes[kind]), When: pick(rng, whens)}
	if list := ops[kind]; list != nil {
		f.Op = pick(rng, list)
	}
	if kind == pipeline.Workload {
		f.When = pipeline.When{} // every step has its own microbatches
		f.Shared = pick(rng, []float64{0, 0, 0.3})
	}
	s.Faults = []pipeline.Fault{f}
	return s, at
}

// layout draws how a job of a band divides its work. Stages are compared with
// stages, so that faults between them need two.
func layout(rng *rand.Rand, b band, kind pipeline.Kind) pipeline.Layout {
	g := pick(rng, b.grids)
	staged := kind == pipeline.SlowStage || kind == pipeline.SlowEdge || kind == pipeline.SlowGroup
	for staged && g.pp == 1 {
		g = pick(rng, b.grids)
	}
	l := pipeline.Layout{DP: g.dp, PP: g.pp, TP: 4, Chunks: 1, Microbatches: 4 + rng.IntN(5), Buckets: 1, EarlyReduce: rng.IntN(2) == 0}
	if g.pp > 1 && rng.IntN(4) == 0 {
		l.Chunks, l.Microbatches = 2, 4
		if g.pp == 8 || rng.IntN(2) == 0 {
			l.Microbatches = 8 // in multiples of the stages
		}
	}
	return l
}

func pick[T any](rng *rand.Rand, list []T) T { return list[rng.IntN(len(list))] }

// exposed is the part of a step, on average over the run, that the fault of a
// specification costs: against its twin without it, on true clocks. The twin of
// uneven microbatches has even ones of the same mean length.
func exposed(s pipeline.Spec) (float64, error) {
	s.Clock = pipeline.Clock{Running: true}
	twin := s.Healthy()
	if f := s.Faults[0]; f.Kind == pipeline.Workload {
		twin.StageWork = slices.Repeat([]float64{f.Factor}, s.Layout.PP)
	}
	ends := [2]int64{}
	for k, spec := range []pipeline.Spec{s, twin} {
		t, _, err := pipeline.Make(spec)
		if err != nil {
			return 0, err
		}
		ends[k] = lastEnd(t)
	}
	return 1 - float64(ends[1])/float64(ends[0]), nil
}

func lastEnd(t *operator.Trace) int64 {
	end := int64(0)
	for i, start := range t.Start {
		end = max(end, start+t.Dur[i])
	}
	return end
}
