package delay_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/engine/bootstrap"
	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/delay"
	"github.com/sfstat/sfstat/internal/draws"
)

// null is a family of healthy jobs: how the work of a rank varies where nobody is at fault.
type null struct {
	name string
	work func(rng *rand.Rand, ranks int) func() [][4]float64
	// most is the part of jobs that may have a finding on a rank with p ≤ each of levels. nil: the
	// level, which P promises where ranks are exchangeable within blocks of steps. Else they are not,
	// or the run is too short to show how long its noise lasts, and this much is known to happen.
	most []float64
	// found is the smallest delay in forward that is found in nine of ten jobs of 8 ranks and 100
	// steps, as a part of the step.
	found float64
}

// relative draws work that varies about the usual by factors exp(z).
func relative(z func(r, k int) float64, ranks int) [][4]float64 {
	own := make([][4]float64, ranks)
	for r := range own {
		for k := range own[r] {
			own[r][k] = usual[k] * math.Exp(z(r, k))
		}
	}
	return own
}

// independent draws from one distribution for each rank, stage and step.
func independent(z func(rng *rand.Rand) float64) func(*rand.Rand, int) func() [][4]float64 {
	return func(rng *rand.Rand, ranks int) func() [][4]float64 {
		return func() [][4]float64 {
			return relative(func(int, int) float64 { return z(rng) }, ranks)
		}
	}
}

// autoregressive gives each rank a speed that follows itself with a coefficient, of a deviation, in all
// its stages, beside independent noise of a deviation.
func autoregressive(coefficient, deviation, noise float64) func(*rand.Rand, int) func() [][4]float64 {
	return func(rng *rand.Rand, ranks int) func() [][4]float64 {
		x := make([]float64, ranks)
		for r := range x {
			x[r] = rng.NormFloat64()
		}
		return func() [][4]float64 {
			for r := range x {
				x[r] = coefficient*x[r] + math.Sqrt(1-coefficient*coefficient)*rng.NormFloat64()
			}
			return relative(func(r, _ int) float64 { return deviation*x[r] + noise*rng.NormFloat64() }, ranks)
		}
	}
}

// loading gives each rank a time to load data that is lognormal and follows itself.
func loading(coefficient, deviation, noise float64) func(*rand.Rand, int) func() [][4]float64 {
	return func(rng *rand.Rand, ranks int) func() [][4]float64 {
		speeds := autoregressive(coefficient, deviation, 0)(rng, ranks)
		return func() [][4]float64 {
			own := relative(func(int, int) float64 { return noise * rng.NormFloat64() }, ranks)
			for r, drawn := range speeds() {
				own[r][0] = 3 * drawn[0] // loaders in the way take a fifth of the step
			}
			return own
		}
	}
}

// bursts stop a rank now and then for 8 steps, in which forward takes 40 % of a step longer.
func bursts(rng *rand.Rand, ranks int) func() [][4]float64 {
	left := make([]int, ranks)
	return func() [][4]float64 {
		own := relative(func(int, int) float64 { return 0.02 * rng.NormFloat64() }, ranks)
		for r := range own {
			if left[r] == 0 && rng.Float64() < 1.0/800 {
				left[r] = 8
			}
			if left[r] > 0 {
				left[r]--
				own[r][1] += 0.4 * usualStep
			}
		}
		return own
	}
}

// biased gives each rank a speed of its own for good.
func biased(deviation float64) func(*rand.Rand, int) func() [][4]float64 {
	return func(rng *rand.Rand, ranks int) func() [][4]float64 {
		speed := make([]float64, ranks)
		for r := range speed {
			speed[r] = deviation * rng.NormFloat64()
		}
		return func() [][4]float64 {
			return relative(func(r, _ int) float64 { return speed[r] + 0.02*rng.NormFloat64() }, ranks)
		}
	}
}

// unequal gives each rank noise of its own size, 0.5 to 8 %.
func unequal(rng *rand.Rand, ranks int) func() [][4]float64 {
	noise := make([]float64, ranks)
	for r := range noise {
		noise[r] = 0.02 * math.Exp(0.7*rng.NormFloat64())
	}
	return func() [][4]float64 {
		return relative(func(r, _ int) float64 { return noise[r] * rng.NormFloat64() }, ranks)
	}
}

func spikes(part float64) func(*rand.Rand) float64 {
	return func(rng *rand.Rand) float64 {
		z := 0.02 * rng.NormFloat64()
		if rng.Float64() < part {
			z += 0.3 * rng.ExpFloat64()
		}
		return z
	}
}

// student returns a value of Student's t with 3 degrees of freedom.
func student(rng *rand.Rand) float64 {
	chi := 0.0
	for range 3 {
		x := rng.NormFloat64()
		chi += x * x
	}
	return rng.NormFloat64() / math.Sqrt(chi/3)
}

var nulls = []null{
	{"independent, normal, 2 %", autoregressive(0, 0, 0.02), nil, 0.025},
	{"AR 0.5, 2 %", autoregressive(0.5, 0.02, 0.02), nil, 0.029},
	{"AR 0.8, 2 %", autoregressive(0.8, 0.02, 0.02), nil, 0.028},
	{"AR 0.9, 2 %", autoregressive(0.9, 0.02, 0.02), nil, 0.028},
	{"AR 0.9, 5 %", autoregressive(0.9, 0.05, 0.02), []float64{0.05, 0.016, 0.009}, 0.037},
	{"lognormal data, σ 0.7, AR 0.9", loading(0.9, 0.7, 0.02), []float64{0.12, 0.06, 0.024}, 0.201},
	{"heavy tails, t with 3", independent(func(rng *rand.Rand) float64 { return 0.02 * student(rng) }), nil, 0.028},
	{"spikes in 2 % of stages", independent(spikes(0.02)), nil, 0.025},
	{"spikes in 10 % of stages", independent(spikes(0.10)), nil, 0.025},
	{"unequal noise of ranks", unequal, []float64{0.05, 0.05, 0.05}, 0.029},
	{"AR 0.98, 8 %", autoregressive(0.98, 0.08, 0.02), []float64{0.18, 0.13, 0.09}, 0.608},
	{"bursts of 8 steps", bursts, []float64{0.30, 0.27, 0.26}, 0.026},
	{"speeds differ by 0.5 %", biased(0.005), nil, 0.026},
	{"speeds differ by 1 %", biased(0.01), nil, 0.028},
	{"speeds differ by 2 %", biased(0.02), nil, 0.033},
}

var levels = []float64{0.05, 0.01, 0.001}

// leastP returns the smallest p of a finding on ranks of a healthy job, whatever its size; 1
// without one.
func leastP(r *delay.Result) float64 {
	p := 1.0
	for _, f := range r.Claims {
		if f.Cause == claim.Late && f.Certainty >= claim.Supported {
			p = min(p, f.P)
		}
	}
	return p
}

// job draws the size of a job and its seed.
func (n *null) job(seed uint64) job {
	g := rand.New(rand.NewPCG(11, seed))
	return job{seed: g.Uint64(), ranks: pick(g, 2, 4, 8, 16, 32), steps: pick(g, 20, 40, 100, 200), work: n.work}
}

// TestNull holds P to what it promises for findings of any size, under each null. The block lengths
// decide there: with one step a block, 804 of 1,000 jobs of lognormal data had a finding at 0.05, with
// lengths from the correlation 98. SFSTAT_CALIBRATE=1 takes 1,000 jobs of each null.
func TestNull(t *testing.T) {
	n := draws.Of(t, 20, 1000)
	var rows strings.Builder
	for _, null := range nulls {
		count := make([]int, len(levels))
		for i := range n {
			run, _ := null.job(uint64(i)).play()
			p := leastP(analyzed(run, delay.Options{Limits: delay.NoLimits}))
			for k, level := range levels {
				if p <= level {
					count[k]++
				}
			}
		}
		fmt.Fprintf(&rows, "\n| %s |", null.name)
		most := null.most
		if most == nil {
			most = levels
		}
		for k, level := range levels {
			rate, err := bootstrap.Binomial(count[k], n, 0.95)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&rows, " %d, at most %.1f %% |", count[k], 100*rate.AtMost)
			if rate.AtLeast > most[k] {
				t.Errorf("%s: %d of %d jobs have a finding with p ≤ %v, a part of at least %.4f; expected at most %v", null.name, count[k], n, level, rate.AtLeast, most[k])
			}
		}
	}
	t.Logf("of %d healthy jobs, those with a finding on a rank at p ≤ 0.05, 0.01 and 0.001, and the one-sided 95 %% bound%s", n, &rows)
}

// finds counts the jobs of a null, of 8 ranks and 100 steps, in which a delay in forward of a part of the
// step is found at p ≤ 0.05 on the rank that has it.
func (n *null) finds(delayed float64, jobs int) (found int) {
	for i := range jobs {
		j := job{seed: uint64(i), ranks: 8, steps: 100, work: n.work}
		run, _ := j.play(fault{ranks: []int{i % 8}, stage: 1, ms: delayed * usualStep})
		for _, f := range analyzed(run, delay.Options{Limits: delay.NoLimits}).Claims {
			if f.Cause == claim.Late && f.P <= 0.05 && slices.Contains(f.Ranks, i%8) && f.Parts[0].Stage == 1 {
				found++
				break
			}
		}
	}
	return found
}

// TestPower: a delay a quarter larger than the documented one is found. SFSTAT_CALIBRATE=1 measures
// the smallest that is found in nine of ten of 100 jobs, to 6 %.
func TestPower(t *testing.T) {
	n := draws.Of(t, 10, 100)
	var rows strings.Builder
	for _, null := range nulls {
		if found := null.finds(1.25*null.found, n); 10*found < 7*n {
			t.Errorf("%s: a delay of %.4f of the step is found in %d of %d jobs", null.name, 1.25*null.found, found, n)
		}
		if n < 100 {
			continue
		}
		const finer = 1.06
		size := sort.Search(120, func(k int) bool { return 10*null.finds(0.001*math.Pow(finer, float64(k)), n) >= 9*n })
		fmt.Fprintf(&rows, "\n| %s | %.1f %% |", null.name, 0.1*math.Pow(finer, float64(size)))
	}
	t.Logf("the smallest delay in forward, of the step, that is found in nine of ten jobs of 8 ranks and 100 steps%s", &rows)
}
