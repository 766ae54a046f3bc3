package composed

import (
	"math"
	"math/rand/v2"
	"slices"
)

// kind is a kind of job.
type kind struct {
	name string
	make func(rng *rand.Rand) *Job
	twin bool // without the faults that make gives
}

// family returns the family that the job is drawn of.
func (f kind) family() string {
	if f.twin {
		return f.name[:len(f.name)-len(healthySuffix)]
	}
	return f.name
}

// Families returns the names of all, those with faults first.
func Families() (out []string) {
	for _, f := range families {
		out = append(out, f.name)
	}
	return out
}

// faulty are the families that have faults. Those marked have a healthy twin, where it differs from others.
var faulty = []struct {
	name string
	make func(rng *rand.Rand) *Job
	twin bool
}{
	{"two_const", func(g *rand.Rand) *Job { return drawOneLate(g, 2, always) }, true},
	{"two_alternate", func(g *rand.Rand) *Job { return drawOneLate(g, 2, everyOther) }, false},
	{"two_random_half", func(g *rand.Rand) *Job { return drawOneLate(g, 2, randomHalf) }, false},
	{"three_const", func(g *rand.Rand) *Job { return drawOneLate(g, 3, always) }, true},
	{"three_everyother", func(g *rand.Rand) *Job { return drawOneLate(g, 3, everyOther) }, false},
	{"unclosed", func(g *rand.Rand) *Job { return unclosedJob(g, true) }, true},
	{"unclosed_nowall", func(g *rand.Rand) *Job { return unclosedJob(g, false) }, true},
	{"equal_all_but_one", drawMostSlow, false},
	{"quantised_1ms", func(g *rand.Rand) *Job { return quantisedJob(g, ms) }, true},
	{"quantised_10ms", func(g *rand.Rand) *Job { return quantisedJob(g, 10*ms) }, true},
	{"killed", killedJob, true},
	{"drift_all", driftAll, false},
	{"tp_undeclared", pairsInForward, true},
	{"absorbed", absorbedJob, true},
	{"alternate_pair", alternatePair, false},
	{"hand_over", handOver, false},
	{"host_in_turn", hostInTurn, true},
	{"local_sgd", localSGD, true},
	{"throttle_cycle", throttleCycle, false},
	{"sampled", sampledSteps, true},
	{"dropped_one_rank", droppedOfOneRank, true},
	{"asynchronous", asynchronous, true},
	{"hidden_backward", drawHiddenInBackward, false},
	{"three_points", threePoints, true},
	{"pipeline", drawPipeline, true},
}

// quiet are the families without faults that differ in their noise.
var quiet = []struct {
	name  string
	noise noise
}{
	{"lognormal", noise{sd: 0.02, lognormal: 0.5}},
	{"gc", noise{sd: 0.02, pauses: 0.04}},
	{"sequence_lengths", noise{sd: 0.01, lengths: 0.12}},
	{"autocorrelated", noise{sd: 0.01, correlated: 0.04, memory: 0.9}},
	{"host_noise", noise{sd: 0.01, host: 0.04, memory: 0.95}},
	{"pareto", noise{sd: 0.02, pareto: true}},
	{"spikes", noise{sd: 0.02, spikes: 0.05}},
	{"bias", noise{sd: 0.02, bias: 0.01}},
}

var families = func() (out []kind) {
	for _, f := range faulty {
		out = append(out, kind{name: f.name, make: f.make})
	}
	for _, f := range faulty {
		if f.twin {
			out = append(out, kind{name: f.name + healthySuffix, make: f.make, twin: true})
		}
	}
	for _, f := range quiet {
		out = append(out, kind{name: f.name + healthySuffix, make: func(g *rand.Rand) *Job { return healthyJob(g, drawSize(g), f.noise) }})
	}
	return append(out, kind{name: "few_steps" + healthySuffix, make: func(g *rand.Rand) *Job {
		return healthyJob(g, size{pick(g, 2, 4, 8, 16), 6 + g.IntN(11)}, usualNoise(g))
	}})
}()

func drawSize(g *rand.Rand) size { return size{pick(g, 2, 4, 8, 8, 16), pick(g, 60, 100, 200)} }

// drawJob draws a job of so many ranks.
func drawJob(g *rand.Rand, ranks ...int) *Job {
	return healthyJob(g, size{pick(g, ranks...), pick(g, 60, 100, 200)}, usualNoise(g))
}

// strikes are the steps that a fault strikes, and which part of all they are.
type strikes struct {
	in   func(g *rand.Rand, step int) bool
	part float64
}

var (
	always     = strikes{func(*rand.Rand, int) bool { return true }, 1}
	everyOther = strikes{func(_ *rand.Rand, step int) bool { return step%2 == 1 }, 0.5}
	randomHalf = strikes{func(g *rand.Rand, _ int) bool { return g.IntN(2) == 0 }, 0.5}
)

// step returns what a step of the job takes, about.
func (j *Job) step() float64 {
	all := 0.0
	for _, row := range j.work {
		all += total(row[0])
	}
	for _, m := range j.meetings {
		for _, x := range m.transfer {
			all += x
		}
	}
	return all / float64(j.Steps)
}

// unsteady is the standard deviation of a fault's size from step to step, as a part of it.
const unsteady = 0.02

// add gives the job a fault of a size in the steps and ranks that it strikes, in a segment.
func (j *Job) add(g *rand.Rand, ranks []int, segment int, size float64, struck func(t, rank int) bool) *Job {
	f := Fault{Ranks: ranks, Stages: []string{stageOf(segment)}, Hides: size}
	for t := range j.Steps {
		row := make([][segments]float64, j.Ranks)
		for r := range row {
			if struck(t, r) {
				row[r][segment] = size * (1 + unsteady*g.NormFloat64())
			}
		}
		f.extra = append(f.extra, row)
	}
	j.Faults = append(j.Faults, f)
	return j
}

// late adds a fault of one rank.
func (j *Job) late(g *rand.Rand, rank, segment int, size float64, when strikes) *Job {
	hit := make([]bool, j.Steps)
	for t := range hit {
		hit[t] = when.in(g, t)
	}
	return j.add(g, []int{rank}, segment, size, func(t, r int) bool { return r == rank && hit[t] })
}

// visible draws a stage in which a late rank shows.
func visible(g *rand.Rand) int { return pick(g, data, forward, optim) }

// uniform draws a number from low to high.
func uniform(g *rand.Rand, low, high float64) float64 { return low + (high-low)*g.Float64() }

// drawOneLate draws a job with a rank that is late by 20 to 60 % of a step, on average over all steps.
func drawOneLate(g *rand.Rand, ranks int, when strikes) *Job {
	j := drawJob(g, ranks)
	return j.late(g, g.IntN(ranks), visible(g), uniform(g, 0.2, 0.6)*j.step()/when.part, when)
}

// unclosedJob draws a job with a rank that is late between stages.
func unclosedJob(g *rand.Rand, walled bool) *Job {
	j := drawJob(g, 4, 8, 16)
	j.at, j.walled = g.IntN(5), walled
	part := uniform(g, 0.005, 0.04) * j.step()
	for t := range j.work {
		for r := range j.work[t] {
			j.work[t][r][outside] = part * (0.9 + 0.2*g.Float64())
		}
	}
	return j.late(g, g.IntN(j.Ranks), outside, uniform(g, 0.2, 0.6)*j.step(), always)
}

// drawMostSlow draws a job with more than half of the ranks that take as much longer.
func drawMostSlow(g *rand.Rand) *Job {
	j := drawJob(g, 3, 4, 4, 6, 8)
	n := j.Ranks - 1
	if j.Ranks > 4 && g.IntN(2) == 0 {
		n = j.Ranks/2 + 1 + g.IntN(j.Ranks/2-1)
	}
	slow := g.Perm(j.Ranks)[:n]
	return j.add(g, slow, visible(g), uniform(g, 0.2, 0.6)*j.step(), func(_, r int) bool { return slices.Contains(slow, r) })
}

// quantisedJob draws a job whose recorder rounds.
func quantisedJob(g *rand.Rand, clock int64) *Job {
	j := healthyJob(g, drawSize(g), usualNoise(g))
	j.clock, j.walled = clock, g.IntN(3) > 0
	return j.late(g, g.IntN(j.Ranks), visible(g), uniform(g, 0.2, 0.6)*j.step(), always)
}

// killedJob draws a job with a late rank whose record ends early.
func killedJob(g *rand.Rand) *Job {
	j := drawJob(g, 4, 8, 16)
	slow := g.IntN(j.Ranks)
	j.ends = [2]int{slow, 15 + g.IntN(j.Steps/2)}
	return j.late(g, slow, visible(g), uniform(g, 0.25, 0.6)*j.step(), always)
}

// driftAll draws a job whose ranks all take longer and longer in a stage.
func driftAll(g *rand.Rand) *Job {
	j := drawJob(g, 4, 8, 16)
	size, k := uniform(g, 0.4, 0.8)*j.step(), pick(g, data, forward, optim, backward)
	j.add(g, nil, k, size, func(int, int) bool { return true })
	for t, row := range j.Faults[0].extra {
		for r := range row {
			row[r][k] *= float64(t) / float64(j.Steps)
		}
	}
	return j
}

// pairsInForward draws a job with pairs or fours of ranks that wait for each other in forward, and all in backward.
func pairsInForward(g *rand.Rand) *Job {
	j := drawJob(g, 4, 8, 16)
	of := 2
	if j.Ranks > 4 && g.IntN(3) == 0 {
		of = 4
	}
	m := meeting{segment: forward, every: 1}
	for r := 0; r < j.Ranks; r += of {
		set := make([]int, of)
		for i := range set {
			set[i] = r + i
		}
		m.sets = append(m.sets, set)
	}
	for _, x := range j.meetings[0].transfer {
		m.transfer = append(m.transfer, x/4)
	}
	j.meetings = append(j.meetings, m)
	return j.late(g, g.IntN(j.Ranks), data, uniform(g, 0.25, 0.6)*j.step(), always)
}

// absorbedJob draws a job whose ranks all wait for a source of a fixed rate, which takes what one of them is late by.
func absorbedJob(g *rand.Rand) *Job {
	j := drawJob(g, 4, 8, 16)
	step := j.step()
	slow := uniform(g, 0.15, 0.4) * step
	rate := slow + (1+uniform(g, 0.1, 0.2))*step
	for t := range j.Steps {
		j.release = append(j.release, rate*float64(t)+0.01*step*g.NormFloat64())
	}
	return j.late(g, g.IntN(j.Ranks), optim, slow, always)
}

// alternatePair draws a job with two ranks that are late by turns.
func alternatePair(g *rand.Rand) *Job {
	j := drawJob(g, 4, 8, 8)
	pair := g.Perm(j.Ranks)[:2]
	turn, size, k := pick(g, 1, 1, 2, 5), uniform(g, 0.3, 0.6)*j.step(), visible(g)
	for i, rank := range pair {
		j.add(g, []int{rank}, k, size, func(t, r int) bool { return r == rank && t/turn%2 == i })
	}
	return j
}

// handOver draws a job with a rank that is late, and from some step on another one.
func handOver(g *rand.Rand) *Job {
	j := drawJob(g, 4, 8, 16)
	pair := g.Perm(j.Ranks)[:2]
	at := j.Steps/3 + g.IntN(j.Steps/3)
	size, k := uniform(g, 0.3, 0.6)*j.step(), visible(g)
	j.add(g, pair[:1], k, size, func(t, r int) bool { return r == pair[0] && t < at })
	return j.add(g, pair[1:], k, size, func(t, r int) bool { return r == pair[1] && t >= at })
}

// hostInTurn draws a job with the ranks of one host that are late one after the other.
func hostInTurn(g *rand.Rand) *Job {
	j := drawJob(g, 8, 16, 32)
	j.perHost = pick(g, 2, 4)
	host, size := g.IntN(j.Ranks/j.perHost), uniform(g, 0.25, 0.6)*j.step()
	of := make([]int, j.perHost)
	for i := range of {
		of[i] = host*j.perHost + i
	}
	return j.add(g, of, pick(g, data, forward), size, func(t, r int) bool { return r == of[t%len(of)] })
}

// localSGD draws a job whose ranks meet in every fourth or eighth step.
func localSGD(g *rand.Rand) *Job {
	j := healthyJob(g, size{pick(g, 4, 8), 200}, usualNoise(g))
	j.meetings[0].every = pick(g, 4, 8)
	return j.late(g, g.IntN(j.Ranks), visible(g), uniform(g, 0.25, 0.6)*j.step(), always)
}

// throttleCycle draws a job with a rank that is slower in everything in 20 of 50 steps.
func throttleCycle(g *rand.Rand) *Job {
	j := healthyJob(g, size{pick(g, 4, 8, 16), 300}, usualNoise(g))
	slow, factor := g.IntN(j.Ranks), uniform(g, 1.4, 1.8)
	f := Fault{Ranks: []int{slow}}
	for t := range j.Steps {
		row := make([][segments]float64, j.Ranks)
		if t%50 >= 30 {
			for k, x := range j.work[t][slow] {
				row[slow][k] = x * (factor - 1)
			}
		}
		f.extra = append(f.extra, row)
	}
	j.Faults = append(j.Faults, f)
	return j
}

// sampledSteps draws a job of which one step in ten is recorded.
func sampledSteps(g *rand.Rand) *Job {
	j := healthyJob(g, size{pick(g, 4, 8), 600}, usualNoise(g))
	j.sampled = 10
	return j.late(g, g.IntN(j.Ranks), visible(g), uniform(g, 0.25, 0.6)*j.step(), always)
}

// droppedOfOneRank lacks some steps of one rank.
func droppedOfOneRank(g *rand.Rand) *Job {
	j := drawJob(g, 4, 8)
	j.table = true
	slow := g.IntN(j.Ranks)
	of := pick(g, slow, g.IntN(j.Ranks))
	for t := range j.Steps {
		row := make([]bool, j.Ranks)
		row[of] = t == 0 || g.Float64() < 0.15
		j.lost = append(j.lost, row)
	}
	return j.late(g, slow, visible(g), uniform(g, 0.25, 0.6)*j.step(), always)
}

// asynchronous draws a job whose ranks never wait for one another.
func asynchronous(g *rand.Rand) *Job {
	j := drawJob(g, 4, 8)
	j.meetings = nil
	return j.late(g, g.IntN(j.Ranks), visible(g), uniform(g, 0.2, 0.6)*j.step(), always)
}

// drawHiddenInBackward draws a job with a rank that is late where all wait for one another.
func drawHiddenInBackward(g *rand.Rand) *Job {
	j := drawJob(g, 2, 4, 8, 16)
	return j.late(g, g.IntN(j.Ranks), backward, uniform(g, 0.15, 0.5)*j.step(), always)
}

// threePoints draws a job whose ranks wait for one another in forward, backward and the optimizer.
func threePoints(g *rand.Rand) *Job {
	j := drawJob(g, 4, 8)
	for _, k := range []int{forward, optim} {
		m := meeting{segment: k, every: 1}
		for _, x := range j.meetings[0].transfer {
			m.transfer = append(m.transfer, x/4)
		}
		j.meetings = append(j.meetings, m)
	}
	return j.late(g, g.IntN(j.Ranks), data, uniform(g, 0.2, 0.6)*j.step(), always)
}

// drawPipeline draws a job whose ranks are stages of a pipeline with unequal work and their replicas, which reduce gradients among themselves. All
// meet in the optimizer.
func drawPipeline(g *rand.Rand) *Job {
	stages, replicas := pick(g, 2, 3, 4), pick(g, 2, 4)
	j := drawJob(g, stages*replicas)
	j.pipeline.micro = pick(g, 1, 2, 4, 8)
	for s := range stages {
		set, factor := numbers(replicas), math.Exp(uniform(g, -0.3, 0.3))
		for i := range set {
			set[i] += s * replicas
			for t := range j.work {
				j.work[t][set[i]][forward] *= factor
				j.work[t][set[i]][backward] *= factor
			}
		}
		j.pipeline.stages = append(j.pipeline.stages, set)
	}
	all := meeting{segment: optim, every: 1}
	for _, x := range j.meetings[0].transfer {
		all.transfer = append(all.transfer, x/20)
	}
	j.meetings[0].sets = j.pipeline.stages
	j.meetings = append(j.meetings, all)
	return j.late(g, g.IntN(j.Ranks), pick(g, data, forward, backward), uniform(g, 0.3, 0.6)*j.step(), always)
}
