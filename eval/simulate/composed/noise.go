package composed

import (
	"math"
	"math/rand/v2"
)

// noise is how the work of a job varies. Parts are of the work that varies.
type noise struct {
	sd          float64 // of each segment, step and rank on its own
	correlated  float64 // sd of what a rank keeps from step to step
	memory      float64 // part of it that stays, of each step
	host        float64 // sd of what the ranks of a host share, which stays by memory too
	bias        float64 // sd of the ranks' speeds
	spikes      float64 // how often a segment takes longer, by a third on average
	lognormal   float64 // sd of the logarithm of data
	pareto      bool    // data has a tail of index 2.5
	lengths     float64 // sd of what forward and backward of a step of a rank share, as sequences of other lengths do
	pauses      float64 // how often a rank pauses for a third of a step, in a segment at random
	commonDrift float64 // by what part all ranks are slower at the end than at the start
}

const ms = 1e6

// usualStages are what the segments take, before they are scaled.
var usualStages = [segments]float64{data: 15 * ms, forward: 60 * ms, backward: 110 * ms, optim: 10 * ms, outside: 0.3 * ms}

// usualTransfer is the all-reduce of a step.
const usualTransfer = 20 * ms

// usualNoise draws noise as the jobs of most families have it.
func usualNoise(rng *rand.Rand) noise {
	n := noise{sd: pick(rng, 0.005, 0.02, 0.05)}
	if rng.Float64() < 0.3 {
		n.spikes = 0.02
	}
	if rng.Float64() < 0.3 {
		n.correlated, n.memory = n.sd, 0.8
	}
	n.bias = pick(rng, 0, 0.003)
	return n
}

// size of a job.
type size struct{ ranks, steps int }

// healthyJob draws a job without faults: its ranks meet at the end of backward, and wall time is recorded.
func healthyJob(rng *rand.Rand, s size, n noise) *Job {
	scale := pick(rng, 0.1, 1, 1, 5)
	base := usualStages
	base[forward] *= 0.7 + 0.6*rng.Float64()
	base[backward] *= 0.7 + 0.4*rng.Float64()
	for k := range base {
		base[k] *= scale
	}
	return drawWork(rng, s, n, base, usualTransfer*scale)
}

// drawWork draws the work of a job whose segments take so long, and the transfers of its meeting.
func drawWork(rng *rand.Rand, s size, n noise, base [segments]float64, transfer float64) *Job {
	j := &Job{Ranks: s.ranks, Steps: s.steps, perHost: 4, at: segments, walled: true}
	draws := newDraws(rng, n, s.ranks, j.perHost)
	step := total(base)
	for t := range s.steps {
		draws.next()
		row := make([][segments]float64, s.ranks)
		for r := range row {
			row[r] = draws.work(r, base, step, 1+n.commonDrift*float64(t)/float64(s.steps))
		}
		j.work = append(j.work, row)
	}
	m := meeting{segment: backward, every: 1}
	for range s.steps {
		m.transfer = append(m.transfer, transfer*math.Exp(n.sd*rng.NormFloat64()))
	}
	j.meetings = []meeting{m}
	return j
}

// draws are what noise keeps from step to step.
type draws struct {
	noise
	rng     *rand.Rand
	perHost int
	speed   []float64 // [rank]
	kept    []float64 // [rank]
	hosts   []float64 // [host]
}

func newDraws(rng *rand.Rand, n noise, ranks, perHost int) *draws {
	d := &draws{noise: n, rng: rng, perHost: perHost, kept: make([]float64, ranks), hosts: make([]float64, (ranks+perHost-1)/perHost)}
	for range ranks {
		d.speed = append(d.speed, math.Exp(n.bias*rng.NormFloat64()))
	}
	return d
}

// next goes on to the next step.
func (d *draws) next() {
	fresh := math.Sqrt(1 - d.memory*d.memory)
	for r := range d.kept {
		d.kept[r] = d.memory*d.kept[r] + fresh*d.correlated*d.rng.NormFloat64()
	}
	for h := range d.hosts {
		d.hosts[h] = d.memory*d.hosts[h] + fresh*d.host*d.rng.NormFloat64()
	}
}

// work draws what a rank does in a step, whose stages take base and are longer by a factor.
func (d *draws) work(r int, base [segments]float64, step, factor float64) (out [segments]float64) {
	shared := d.kept[r] + d.hosts[r/d.perHost]
	length := d.lengths * d.rng.NormFloat64()
	for k, b := range base {
		z := d.sd*d.rng.NormFloat64() + shared
		if d.rng.Float64() < d.spikes {
			z += 0.3 * d.rng.ExpFloat64()
		}
		switch {
		case k == data && d.pareto:
			z += math.Log(0.6) - math.Log(1-d.rng.Float64())/2.5
		case k == data:
			z += d.lognormal * d.rng.NormFloat64()
		case k == forward || k == backward:
			z += length
		}
		out[k] = b * d.speed[r] * math.Exp(z) * factor
	}
	if d.rng.Float64() < d.pauses {
		out[d.rng.IntN(len(Stages))] += 0.3 * step * (0.5 + d.rng.Float64())
	}
	return out
}

func total(work [segments]float64) (all float64) {
	for _, b := range work {
		all += b
	}
	return all
}

// pick draws one of a few values.
func pick[T any](rng *rand.Rand, values ...T) T { return values[rng.IntN(len(values))] }
