package simulate

import (
	"math"
)

// drawStep fills the draws of an absolute step.
func (g *Generator) drawStep(step int64) {
	g.advanceDrift(step)
	g.drawRanks(step)
	g.addSpikes(step)
	g.addFaults(step)
}

// drawRanks draws what each rank does, in the order in which it does it.
func (g *Generator) drawRanks(step int64) {
	R, p := g.spec.Ranks, g.program
	for r := range R {
		s := g.rng.Restart(g.spec.Seed, forRank, uint64(r), step)
		drift := g.driftOf(r)
		for i := range p.ops {
			o := &p.ops[i]
			f := g.factors[o.stage*R+r]
			o.workNs[r] = wholeNs(o.work.Draw(s.Rand) * f.host * drift)
			if o.deviceNs != nil {
				o.deviceNs[r] = wholeNs(o.device.Draw(s.Rand) * f.device)
			}
			if o.loader != nil {
				o.loadNs[r] = wholeNs(o.load.Draw(s.Rand) * f.host * drift)
			}
			for j := range o.points {
				m := &o.points[j]
				m.exitNs[r] = int64(m.exit.Draw(s.Rand))
			}
		}
		g.otherNs[r] = int64(g.other.Draw(s.Rand))
	}
}

// wholeNs cuts a length to whole nanoseconds, and to one that cannot overflow.
func wholeNs(x float64) int64 { return int64(min(x, MaxMillis*NsPerMilli)) }

// factor is what multiplies the draws of one stage on one rank.
type factor struct{ host, device float64 }

// makeFactors combines work factors and the persistent speed of each rank.
func (g *Generator) makeFactors() {
	s, R := g.spec, g.spec.Ranks
	g.factors = make([]factor, len(s.Stages)*R)
	for r := range R {
		speed := max(0.1, 1+s.Noise.SpeedSD*g.rng.Restart(s.Seed, forSpeed, uint64(r), 0).NormFloat64())
		for i := range s.Stages {
			f := 1.0
			if len(s.Work) > 0 {
				f = s.factor(r, s.Stages[i].Name)
			}
			g.factors[i*R+r] = factor{f * speed, f}
		}
	}
}

// driftOf returns the momentary slowness of a rank.
func (g *Generator) driftOf(r int) float64 {
	if g.drift == nil {
		return 1
	}
	if g.spec.Noise.Drift.PerHost {
		r /= g.spec.RanksPerHost
	}
	return max(0.1, 1+g.drift[r])
}

// advanceDrift moves the drift of every rank or host by one step.
func (g *Generator) advanceDrift(step int64) {
	d := g.spec.Noise.Drift
	if g.drift == nil {
		return
	}
	ρ := 0.0
	if d.Steps > 0 {
		ρ = math.Exp(-1 / d.Steps)
	}
	fresh := d.SD * math.Sqrt(1-ρ*ρ)
	if step == 0 { // begin in the stationary state
		ρ, fresh = 0, d.SD
	}
	for i := range g.drift {
		g.drift[i] = ρ*g.drift[i] + fresh*g.rng.Restart(g.spec.Seed, forDrift, uint64(i), step).NormFloat64()
	}
}

// addSpikes lets hosts be busy with something else.
func (g *Generator) addSpikes(step int64) {
	spikes := g.spec.Noise.Spikes
	if spikes.Probability == 0 {
		return
	}
	R, per := g.spec.Ranks, g.spec.RanksPerHost
	for from := 0; from < R; from += per {
		s := g.rng.Restart(g.spec.Seed, forHost, uint64(from/per), step)
		if s.Float64() >= spikes.Probability {
			continue
		}
		row := g.program.ops[s.IntN(len(g.program.ops))].workNs
		length := float64(spikes.Mean.ns()) * s.ExpFloat64()
		for r := from; r < min(from+per, R); r++ {
			if s.Float64() < spikes.Share {
				row[r] += int64(length * (0.9 + 0.2*s.Float64()))
			}
		}
	}
}

// addFaults delays the hidden ranks of the faults that strike in this step.
// Delays of a synchronisation point are kept for the synchronisation point: see commDelay.
func (g *Generator) addFaults(step int64) {
	for i := range g.spec.Faults {
		g.striking[i] = g.spec.active(i, step, g.rng)
		f := &g.spec.Faults[i]
		if !g.striking[i] || f.Family == BackwardComm {
			continue
		}
		for _, at := range g.hits[i] {
			o := &g.program.ops[at.op]
			row := o.workNs
			switch {
			case f.Family == ForwardDevice:
				row = o.deviceNs
			case o.loader != nil:
				row = o.loadNs
			}
			for _, r := range f.Ranks {
				row[r] += at.delay
			}
		}
	}
}

// hit is the share of a fault's delay in one op.
type hit struct {
	op    int
	delay int64
}

// hitsOf divides the delay of fault i over the ops of its stage: equal parts,
// the rounding in the last.
func (g *Generator) hitsOf(i int) []hit {
	f := &g.spec.Faults[i]
	var hits []hit
	for n := range g.program.ops {
		o := &g.program.ops[n]
		if g.spec.Stages[o.stage].Name == f.Stage && (f.Family != BackwardComm || len(o.points) > 0) {
			hits = append(hits, hit{op: n})
		}
	}
	rest := f.Delay.ns()
	for n := range hits {
		hits[n].delay = f.Delay.ns() / int64(len(hits))
		rest -= hits[n].delay
	}
	hits[len(hits)-1].delay += rest
	return hits
}
