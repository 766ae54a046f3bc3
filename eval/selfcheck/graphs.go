package selfcheck

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/sfstat/sfstat/engine/blame"
	"github.com/sfstat/sfstat/engine/bootstrap"
	"github.com/sfstat/sfstat/engine/whatif"
)

// planted: on every rank a lane of operators, at the end of which all ranks wait
// for each other. One operator is long. From every member of the collective,
// its own and those that waited, the walk comes to that operator and to nothing
// else.
func planted(s *sampler) finding {
	trials := repeat(s, s.Trials, func(rng *rand.Rand) bool {
		ranks, layers := 3+rng.IntN(14), 1+rng.IntN(8)
		g, symptoms, culprit := longOperator(rng, ranks, layers)
		r := must(blame.Analyze(g, symptoms, blame.Options{}))
		return len(r.Causes) == 1 && len(r.Unexplained) == 0 && r.Causes[0].Kind == blame.LongOp && r.Causes[0].Op == culprit &&
			len(r.Causes[0].Symptoms) == ranks
	})
	return every(trials)
}

// longOperator makes such a step: the graph, the members of its collective, and
// the operator that is long.
func longOperator(rng *rand.Rand, ranks, layers int) (g blame.Graph, members []int64, culprit int64) {
	slow, at, extra := rng.IntN(ranks), rng.IntN(layers), int64(100_000+rng.IntN(millisecond))
	id := func(rank, layer int) int64 { return int64(layer*ranks + rank + 1) }
	now := make([]int64, ranks)
	add := func(o blame.Op) {
		if o.ID > int64(ranks) {
			g.Edges = append(g.Edges, blame.Edge{From: o.ID - int64(ranks), To: o.ID, Kind: blame.Lane})
		}
		g.Ops = append(g.Ops, o)
	}
	for layer := range layers {
		for r := range ranks {
			o := blame.Op{ID: id(r, layer), Rank: r, Start: now[r], End: now[r] + 50_000 + rng.Int64N(1000)}
			if r == slow && layer == at {
				o.End += extra
				o.Length, culprit = blame.High, o.ID
			}
			if r == slow && layer > at {
				o.Lateness = blame.High
			}
			now[r] = o.End
			add(o)
		}
	}
	last := slices.Max(now)
	for r := range ranks {
		o := blame.Op{ID: id(r, layers), Rank: r, Start: now[r], End: last + 20_000, Collective: 1}
		if r == slow {
			o.Lateness = blame.High
		}
		members = append(members, o.ID)
		add(o)
	}
	return g, members, culprit
}

// program is a random graph of operators, each of a kind of its own, and how
// long each takes in every lane: [node][lane].
type program struct {
	graph           whatif.Graph
	replicas, count int
	length, delay   [][]int64
}

func randomProgram(rng *rand.Rand) *program {
	p := &program{replicas: 1 + rng.IntN(3), count: 1 + rng.IntN(3)}
	for n := range 2 + rng.IntN(12) {
		node := whatif.Node{Op: fmt.Sprint("op", n)}
		for before := range n {
			if rng.IntN(3) == 0 {
				node.After = append(node.After, int32(before))
			}
		}
		p.graph.Nodes = append(p.graph.Nodes, node)
		length, delay := make([]int64, p.replicas*p.count), make([]int64, p.replicas*p.count)
		for i := range length {
			length[i] = 1 + rng.Int64N(1000)
			if rng.IntN(2) == 0 {
				delay[i] = rng.Int64N(100)
			}
		}
		p.length, p.delay = append(p.length, length), append(p.delay, delay)
	}
	for n := range p.graph.Nodes {
		p.graph.Nodes[n].Final = !slices.ContainsFunc(p.graph.Nodes, func(after whatif.Node) bool { return slices.Contains(after.After, int32(n)) })
	}
	return p
}

// run gives the operators their times, by the definition alone: an operator
// starts when all before it have ended, and its launch delay later. makespan is
// of every step, over its replicas.
func (p *program) run() (r whatif.Recording, makespan []int64) {
	lanes := p.replicas * p.count
	r = whatif.Recording{Replicas: p.replicas}
	for step := range p.count {
		r.Steps = append(r.Steps, int64(step))
	}
	for rank := range p.replicas {
		r.Ranks = append(r.Ranks, rank)
	}
	makespan = make([]int64, p.count)
	end := make([][]int64, len(p.graph.Nodes))
	for n, node := range p.graph.Nodes {
		end[n] = make([]int64, lanes)
		for lane := range lanes {
			start := int64(0)
			for _, before := range node.After {
				start = max(start, end[before][lane])
			}
			start += p.delay[n][lane]
			end[n][lane] = start + p.length[n][lane]
			r.Start, r.Dur = append(r.Start, start), append(r.Dur, p.length[n][lane])
			makespan[lane/p.replicas] = max(makespan[lane/p.replicas], end[n][lane])
		}
	}
	return r, makespan
}

func (p *program) analyze() (*whatif.Result, []int64) {
	recording, makespan := p.run()
	m := must(whatif.Build(p.graph, recording, whatif.DefaultOptions()))
	return m.Analyze(), makespan
}

// replayed: with the durations and launch delays that were recorded, the replay
// takes as long as the recording; without the delays no longer than with them.
func replayed(s *sampler) finding {
	return noneOf(repeat(s, s.Trials, func(rng *rand.Rand) bool {
		p := randomProgram(rng)
		for n := range p.delay { // a step begins with its first operator
			if len(p.graph.Nodes[n].After) == 0 {
				clear(p.delay[n])
			}
		}
		r, makespan := p.analyze()
		worse := false
		for i, ns := range r.NoDelay.PerStep {
			worse = worse || ns > r.Recorded.PerStep[i]
		}
		return worse || r.Misfit != 0 || !slices.Equal(r.Recorded.PerStep, makespan)
	}))
}

// evenWork: where every operator takes as long in all replicas and steps, ideal
// durations are the recorded ones, and uneven work costs nothing: S = 1.
func evenWork(s *sampler) finding {
	return noneOf(repeat(s, s.Trials, func(rng *rand.Rand) bool {
		p := randomProgram(rng)
		for n := range p.length {
			for lane := range p.length[n] {
				p.length[n][lane] = p.length[n][0]
			}
		}
		r, _ := p.analyze()
		return r.Slowdown.Overall != 1
	}))
}

// monotone: a longer operator never makes a step shorter.
func monotone(s *sampler) finding {
	return noneOf(repeat(s, s.Trials, func(rng *rand.Rand) bool {
		p := randomProgram(rng)
		before, _ := p.analyze()
		n := rng.IntN(len(p.length))
		p.length[n][rng.IntN(len(p.length[n]))] += 1 + rng.Int64N(500)
		after, _ := p.analyze()
		shorter := false
		for i, ns := range before.NoDelay.PerStep {
			shorter = shorter || after.NoDelay.PerStep[i] < ns
		}
		return shorter
	}))
}

// coverage: the one-sided studentised bound of a mean overhead misses in at most
// 5 % of experiments, with twelve paired runs and normal noise.
func coverage(s *sampler) finding {
	const overhead, runs = 0.002, 12
	missed := repeat(s, s.Healthy, func(rng *rand.Rand) bool {
		var pairs []bootstrap.Pair
		for i := range runs {
			pairs = append(pairs, bootstrap.Pair{Block: i, Base: 1e8, With: 1e8 * (1 + overhead + 0.001*rng.NormFloat64())})
		}
		o := bootstrap.DefaultOptions()
		o.Seed, o.Replicates, o.Threads, o.Statistics = rng.Uint64(), 399, 1, []bootstrap.Statistic{bootstrap.Mean}
		r := must(bootstrap.Analyze(pairs, o))
		interval, ok := r.Of(bootstrap.Mean).By(bootstrap.Studentised)
		return !ok || math.IsNaN(interval.AtMost) || interval.AtMost < overhead
	})
	return notAbove(missed, 0.05)
}
