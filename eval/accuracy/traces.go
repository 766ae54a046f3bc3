package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"github.com/sfstat/sfstat/eval/simulate/pipeline"
	"github.com/sfstat/sfstat/ingest/optrace"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/operator"
)

// Simulated operator traces are of jobs of 4 to 512 workers, in which a worker, an operator,
// a stage, a link, a collective, a launch or the microbatches are slow, or nothing is.

// kindsInTurn are the kinds of fault, one trace after another: every kind as often,
// and five of twelve traces healthy.
var kindsInTurn = [...]pipeline.Kind{
	pipeline.NoFault, pipeline.SlowWorker, pipeline.NoFault, pipeline.SlowOp, pipeline.SlowStage, pipeline.NoFault,
	pipeline.Workload, pipeline.SlowEdge, pipeline.NoFault, pipeline.SlowGroup, pipeline.LateStart, pipeline.NoFault,
}

// grid is replicas × pipeline stages.
type grid struct{ dp, pp int }

// band is a range of sizes of a job, and the layouts that stand for it. What
// is there twice is drawn twice as often.
type band struct {
	share float64 // of the traces
	grids []grid
}

var bands = [...]band{
	{0.22, []grid{{4, 1}, {4, 1}, {2, 2}}},
	{0.24, []grid{{8, 1}, {4, 2}, {4, 2}, {4, 2}, {2, 4}}},
	{0.26, []grid{{16, 1}, {8, 2}, {4, 4}, {4, 4}, {16, 2}, {8, 4}, {4, 8}}},
	{0.20, []grid{{64, 1}, {32, 2}, {16, 4}, {8, 8}, {64, 2}, {32, 4}, {16, 8}}},
	{0.08, []grid{{256, 1}, {128, 2}, {64, 4}, {32, 8}, {128, 4}, {64, 8}}},
}

// sizes of a kind of fault. Deviations are those of the operator's own jitter
// from step to step; of passes one is about 2 % of their length.
var sizes = map[pipeline.Kind][]pipeline.Size{
	pipeline.SlowWorker: sigmaSizes(pipeline.Size{Factor: 1.1}, pipeline.Size{Factor: 1.3}, pipeline.Size{Factor: 2}),
	pipeline.SlowOp:     sigmaSizes(pipeline.Size{Delay: 300}, pipeline.Size{Delay: 1500}),
	pipeline.SlowStage:  sigmaSizes(pipeline.Size{Factor: 1.1}, pipeline.Size{Factor: 1.3}, pipeline.Size{Factor: 2}),
	pipeline.Workload:   {{Factor: 1.1}, {Factor: 1.3}, {Factor: 1.5}, {Factor: 2}},
	pipeline.SlowEdge:   sigmaSizes(pipeline.Size{Delay: 30}, pipeline.Size{Delay: 100}, pipeline.Size{Delay: 400}),
	pipeline.SlowGroup:  sigmaSizes(pipeline.Size{Delay: 300}, pipeline.Size{Delay: 1500}),
	pipeline.LateStart:  {{Delay: 10}, {Delay: 30}, {Delay: 100}, {Delay: 300}, {Delay: 1500}},
}

var sigmas = []pipeline.Size{{Sigma: 0.5}, {Sigma: 1}, {Sigma: 2}, {Sigma: 3}, {Sigma: 5}, {Sigma: 10}}

// sigmaSizes returns the sizes that are given in standard deviations, and more.
func sigmaSizes(more ...pipeline.Size) []pipeline.Size { return slices.Concat(sigmas, more) }

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

// draw returns the specification of trace number i of a seed. It does not depend on the other traces.
func draw(seed uint64, i int) pipeline.Spec {
	rng := rand.New(rand.NewPCG(seed, uint64(i)))
	kind := kindsInTurn[i%len(kindsInTurn)]
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
		return s
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
	return s
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

// faultCost returns the part of a step, on average over the run, that the fault of a
// specification costs: against its twin without it, on true clocks. The twin of
// uneven microbatches has even ones of the same mean length.
func faultCost(s pipeline.Spec) (float64, error) {
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

// traceSeed is of the traces that are scored; thresholds were set while looking at seeds 1 to 3.
const traceSeed = 4

// traces returns the first n operator traces of the seed.
func traces(n int) []task {
	var out []task
	const seed = traceSeed
	for i := range n {
		out = append(out, func(p program) ([]row, error) {
			r, err := scoreTrace(p, seed, i)
			if err != nil {
				err = fmt.Errorf("trace %d of seed %d: %w", i, seed, err)
			}
			return []row{r}, err
		})
	}
	return out
}

func scoreTrace(p program, seed uint64, i int) (r row, err error) {
	spec := draw(seed, i)
	o, made, err := pipeline.Make(spec)
	if err != nil {
		return r, err
	}
	t := truth{kind: healthy}
	as := row{Source: "operators", Family: pipeline.NoFault.String(), Job: fmt.Sprintf("%d-%d-%dx%d", seed, i, spec.Layout.DP, spec.Layout.PP)}
	for _, f := range made.Faults {
		if len(f.Steps) == 0 {
			continue // by chance it struck in no step
		}
		cost, err := faultCost(spec)
		if err != nil {
			return r, err
		}
		t.kind, as.Family = operators, f.Kind.String()
		t.faults = append(t.faults, operatorFault(f, cost, spec.Layout.DP))
	}
	dir, err := os.MkdirTemp("", "accuracy")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	path, err := writeTrace(dir, o)
	if err != nil {
		return r, err
	}
	return p.score(job{as: as, truth: t, path: path}), nil
}

// leastListed is the part of a step from which on a fault has to be the first finding. Between
// two replicas nobody can say which is unusual, so there it need not.
const leastListed = 0.03

// operatorFault returns a fault that costs a given part of the run, in a job of so many replicas.
func operatorFault(f pipeline.TrueFault, cost float64, replicas int) fault {
	first := f.Workers[0]
	return fault{what: f.Kind, ranks: []int{first.Rank}, stages: []string{fmt.Sprintf("%s=%d", trace.PipelineParallel, first.PP)},
		op: f.Ops[0].Op, saves: &cost, due: cost >= leastDue, listed: cost >= leastListed && replicas > 2, from: -1}
}

// writeTrace writes a trace with its layout next to it, and returns its path.
func writeTrace(dir string, o *operator.Trace) (string, error) {
	path := filepath.Join(dir, "trace-job.parquet")
	var meta, text bytes.Buffer
	if err := optrace.WriteMeta(&meta, o); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, "meta-job.yaml"), meta.Bytes(), 0o666); err != nil {
		return "", err
	}
	if err := optrace.WriteParquet(&text, o); err != nil {
		return "", err
	}
	return path, os.WriteFile(path, text.Bytes(), 0o666)
}
