package delay_test

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/delay"
	"github.com/sfstat/sfstat/engine/points"
)

// job is a made-up job: ranks work alone through data and forward, and through a part of
// backward that nobody sees, wait for one another at its end, and go through the optimizer.
// Waits are recorded in backward.
type job struct {
	seed   uint64
	ranks  int
	steps  int
	noise  float64 // of a stage, relative
	ar     float64 // of a rank's speed, as large as the noise
	spikes float64 // part of the stages that take longer, by a factor exp(Exp(0.3))
	bias   float64 // of ranks' speeds
	comm   float64
	free   bool // nobody waits for anybody
	noWall bool
	// work draws what each rank does itself, ms, [rank][stage], step by step, in place of what
	// noise, ar, spikes and bias describe; nil: those do.
	work func(rng *rand.Rand, ranks int) func() [][4]float64
}

var stages = []points.Stage{{Name: "data", Role: points.Data}, {Name: "forward", Role: points.Forward}, {Name: "backward", Role: points.Backward}, {Name: "optim", Role: points.Optimizer}}

var usual = []float64{15, 60, 120, 10} // ms

const usualStep = 205.0

// fault makes a stage of some ranks longer in some steps, by ms, by a size of each step, or all their stages by a factor.
type fault struct {
	ranks  []int
	stage  int
	ms     float64
	on     func(step int) bool
	size   func(step int) float64 // in place of ms
	factor float64                // 0: none
}

// lengthen adds a fault to what its ranks do in a step.
func (f *fault) lengthen(step int, own [][4]float64) {
	if f.on != nil && !f.on(step) {
		return
	}
	for _, r := range f.ranks {
		switch {
		case f.factor > 0:
			for k := range own[r] {
				own[r][k] *= f.factor
			}
		case f.size != nil:
			own[r][f.stage] += f.size(step)
		default:
			own[r][f.stage] += f.ms
		}
	}
}

// play is the job with its faults, as recorded, and how long it takes.
func (j job) play(faults ...fault) (*delay.Run, float64) {
	rng := rand.New(rand.NewPCG(j.seed, 1))
	speed := make([]float64, j.ranks)
	for r := range speed {
		speed[r] = math.Exp(j.bias * rng.NormFloat64())
	}
	drift := make([]float64, j.ranks)
	run := &delay.Run{}
	run.Stages, run.Ranks = stages, j.ranks
	at := make([]float64, j.ranks)
	comm := j.comm
	if comm == 0 {
		comm = 20
	}
	ns := func(ms float64) int64 { return int64(ms * 1e6) }
	var next func() [][4]float64
	if j.work != nil {
		next = j.work(rng, j.ranks)
	}
	for t := range j.steps {
		own := make([][4]float64, j.ranks)
		gap := make([]float64, j.ranks)
		for r := range own {
			drift[r] = j.ar*drift[r] + math.Sqrt(1-j.ar*j.ar)*rng.NormFloat64()
			for k := range own[r] {
				z := j.noise * rng.NormFloat64()
				if j.ar > 0 {
					z += j.noise * drift[r]
				}
				if rng.Float64() < j.spikes {
					z += 0.3 * rng.ExpFloat64()
				}
				own[r][k] = usual[k] * speed[r] * math.Exp(z)
			}
			own[r][2] -= comm
			gap[r] = 0.3 * math.Abs(1+0.2*rng.NormFloat64())
		}
		if next != nil {
			for r, work := range next() {
				work[2] -= comm
				own[r] = work
			}
		}
		for _, f := range faults {
			f.lengthen(t, own)
		}
		transfer := comm * math.Exp(j.noise*rng.NormFloat64())
		last, ends := 0.0, make([]float64, j.ranks)
		for r := range own {
			ends[r] = at[r] + own[r][0] + own[r][1] + own[r][2]
			last = max(last, ends[r])
		}
		for k := range 4 {
			for r := range own {
				d := own[r][k]
				if k == 2 {
					d += transfer
					if !j.free {
						d = last + transfer - at[r] - own[r][0] - own[r][1]
					}
				}
				run.Durations = append(run.Durations, ns(d))
			}
		}
		for r := range own {
			end := ends[r] + transfer
			if !j.free {
				end = last + transfer
			}
			end += own[r][3] + gap[r]
			if !j.noWall {
				run.Wall = append(run.Wall, ns(end-at[r]))
			}
			at[r] = end
		}
	}
	return run, slices.Max(at)
}

// analyzed returns the analysis of a run that is valid, as are its claims.
func analyzed(run *delay.Run, o delay.Options) *delay.Result {
	r, err := delay.Analyze(run, o)
	if err != nil {
		panic(err)
	}
	for i := range r.Claims {
		if err := r.Claims[i].Validate(); err != nil {
			panic(err)
		}
	}
	return r
}

// actionable are the ranks that are named, for certain and with savings large enough to act on.
func actionable(r *delay.Result) map[int]claim.Claim {
	out := map[int]claim.Claim{}
	for _, f := range r.Claims {
		if f.Certainty >= claim.Supported && f.Saves.Largest() >= 0.10 && f.Cause == claim.Late {
			for _, q := range f.Ranks {
				out[q] = f
			}
		}
	}
	return out
}

// common are the other findings to act on.
func common(r *delay.Result) (n int) {
	for _, f := range r.Claims {
		if f.Certainty >= claim.Supported && f.Saves.Largest() >= 0.10 && f.Cause != claim.Late && f.Cause != claim.StartUp {
			n++
		}
	}
	return n
}
