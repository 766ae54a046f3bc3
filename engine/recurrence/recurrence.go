// Package recurrence asks how often a fault strikes and how long it takes when
// it does: 5 s in 20 of 2,000 steps, and not 50 ms in all of them.
//
// What is given is by how much one rank exceeded its peers in one stage, step by
// step, and the noise of the same for ranks that have no fault. Steps are struck
// or not, which is a mixture of two distributions, the one of noise and the one
// of the fault:
//
//   - Where the two lie apart, the largest gap between the sizes, on a scale of
//     logarithms, divides them. Half of all the lost time lies above it, so that
//     spikes of milliseconds are not counted among stalls of seconds, and a fault
//     in every step is not divided.
//   - Where noise covers the fault, no step can be told by itself. The moments of
//     an excess δ in a part π of the steps, with noise of variance σ², are πδ and
//     πδ² + σ², which gives both.
//
// Struck steps fill a stretch of the run, or lie over all of it: the stretch with
// the most struck steps beyond the run's rate is found (Kadane's maximum sum,
// which for events of two rates is the cumulative-sum change point of Page 1954,
// Biometrika 41:100–115), and its likelihood ratio compared with what the best of
// all stretches would have by chance. Several stretches are told by the number
// of runs.
//
// Assumptions: peers that are alike and have no such fault in most steps; steps
// in order. The package is pure. Times are nanoseconds.
package recurrence

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/sfstat/sfstat/engine/bootstrap"
	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/internal/student"
)

// Pattern is how struck steps lie in the run.
type Pattern uint8

const (
	None         Pattern = iota // no step is struck
	Constant                    // (nearly) every step
	Intermittent                // some steps, over the whole run
	Stretch                     // one stretch of the run or a few, and next to none outside
)

// Recurrence is how often and how long.
type Recurrence struct {
	Struck, Of  int     // steps
	First, Last int     // positions of the first and last struck step
	Low, High   float64 // the rate of struck steps, exact 95 % bounds
	Excess      float64 // mean over the struck steps
	ExcessLow   float64 // 95 % bounds of the mean
	ExcessHigh  float64
	Pattern     Pattern
	P           float64 // chance of so clear a stretch if struck steps lay anywhere; 1 for the other patterns
	// Separate: each struck step is told from the others by itself, its excess is
	// above Least. Otherwise Struck and Excess are estimates from all steps together.
	Separate bool
	Least    float64
}

const (
	confidence = 0.95
	// noiseReach is how far noise reaches, in standard deviations: one step in
	// 30,000 of normal noise is beyond.
	noiseReach = 4
	// apart is how far apart fault and noise must lie, in standard deviations,
	// for steps to be told one by one.
	apart = 6
	// gap is the least ratio of sizes across the gap between noise and fault.
	gap = 1.5
	// leastRun is the mean length, in steps, from which on runs are stretches.
	leastRun = 5
	// nearlyAll is the part of steps that a constant fault strikes: it is one unless
	// its rate is surely less.
	nearlyAll = 0.9
)

// ErrNoSteps: nothing to estimate from.
var ErrNoSteps = errors.New("recurrence: no steps")

// Estimate says which part of the steps is struck, by how much, and how they lie.
// excess is of consecutive steps; noise is its standard deviation without a
// fault, 0 or more. O(n log n).
func Estimate(excess []float64, noise float64) (Recurrence, error) {
	if len(excess) == 0 {
		return Recurrence{}, ErrNoSteps
	}
	out := Recurrence{Of: len(excess), P: 1}
	usual, beyond := sizeOfHalf(excess, noiseReach*noise)
	struck := make([]bool, len(excess))
	if beyond > 0 && usual >= apart*noise && beyond >= floats.Sum(excess)/2 {
		out.Separate = true
		out.Least = divide(excess, noiseReach*noise, usual)
		for t, x := range excess {
			struck[t] = x > out.Least
		}
		out.count(excess, struck)
	} else {
		out.moments(excess, noise, struck)
	}
	if out.Struck == 0 {
		return Recurrence{Of: len(excess), P: 1}, nil
	}
	if err := out.bound(); err != nil {
		return Recurrence{}, err
	}
	out.place(struck)
	if out.Pattern == Stretch && out.Separate {
		// What is seen outside, before or after, is something else.
		clear(struck[:out.First])
		clear(struck[out.Last+1:])
		out.count(excess, struck)
	}
	return out, out.bound()
}

// bound bounds the rate of struck steps.
func (r *Recurrence) bound() error {
	rate, err := bootstrap.Binomial(r.Struck, r.Of, confidence)
	if err != nil {
		return err
	}
	r.Low, r.High = rate.Lower, rate.Upper
	return nil
}

// constant reports whether the fault strikes nearly all steps: most of them, and so
// many that nearly all cannot be excluded.
func (r *Recurrence) constant() bool { return 2*r.Struck > r.Of && r.High >= nearlyAll }

// sizeOfHalf is the excess at and above which half of all excess beyond a floor
// lies, and the sum of all that is.
func sizeOfHalf(excess []float64, floor float64) (size, total float64) {
	var beyond []float64
	for _, x := range excess {
		if x > floor {
			beyond = append(beyond, x)
			total += x
		}
	}
	slices.SortFunc(beyond, func(a, b float64) int { return cmp.Compare(b, a) })
	sum := 0.0
	for _, x := range beyond {
		if sum += x; sum >= total/2 {
			return x, total
		}
	}
	return 0, 0
}

// divide is the size beyond which a step is struck: the lower end of the widest
// gap between sizes from the floor up to the usual one, if it is one at all.
func divide(excess []float64, floor, usual float64) float64 {
	sizes := []float64{floor}
	for _, x := range excess {
		if x > floor && x <= usual {
			sizes = append(sizes, x)
		}
	}
	slices.Sort(sizes)
	at, widest := floor, float64(gap)
	for i := 1; i < len(sizes); i++ {
		if ratio := sizes[i] / max(sizes[i-1], math.SmallestNonzeroFloat64); i > 1 && ratio > widest {
			at, widest = sizes[i-1], ratio
		}
	}
	return at
}

// count takes the steps as they are told one by one.
func (r *Recurrence) count(excess []float64, struck []bool) {
	var sizes []float64
	for t, hit := range struck {
		if hit {
			sizes = append(sizes, excess[t])
		}
	}
	r.Struck = len(sizes)
	mean, sd := stat.MeanStdDev(sizes, nil)
	r.Excess = mean
	r.ExcessLow, r.ExcessHigh = r.Excess, r.Excess
	if n := float64(len(sizes)); n > 1 {
		half := student.Upper(0.5-confidence/2, n-1) * sd / math.Sqrt(n)
		r.ExcessLow, r.ExcessHigh = r.Excess-half, r.Excess+half
	}
}

// moments estimates part and excess together, and marks the steps that are more
// likely struck than not.
func (r *Recurrence) moments(excess []float64, noise float64, struck []bool) {
	n := float64(len(excess))
	first, second := 0.0, 0.0
	middle := robust.Median(slices.Clone(excess))
	for _, x := range excess {
		// A spike is neither noise nor fault.
		x = max(middle-noiseReach*noise, min(x, middle+noiseReach*noise))
		first += x / n
		second += x * x / n
	}
	se := math.Sqrt(max(second-first*first, noise*noise) / n)
	if first <= 3*se {
		return // no more than noise
	}
	// Of one size in a part of the steps, the second moment beyond noise is the
	// first times the size.
	size := max(first, (second-noise*noise)/first)
	r.Struck = max(1, int(math.Round(first/size*n)))
	r.Excess = first * n / float64(r.Struck)
	half := 2 * se * n / float64(r.Struck)
	r.ExcessLow, r.ExcessHigh = r.Excess-half, r.Excess+half
	for t, x := range excess {
		struck[t] = float64(r.Struck) >= nearlyAll*n || x > size/2
	}
}

// place says where the struck steps lie.
func (r *Recurrence) place(struck []bool) {
	r.First, r.Last = slices.Index(struck, true), 0
	for t, hit := range struck {
		if hit {
			r.Last = t
		}
	}
	r.First = max(0, r.First)
	if r.constant() {
		r.Pattern = Constant
		return
	}
	r.Pattern = Intermittent
	from, to := densest(struck)
	inside := 0
	for _, hit := range struck[from : to+1] {
		if hit {
			inside++
		}
	}
	hits := 0
	for _, hit := range struck {
		if hit {
			hits++
		}
	}
	// Any of the stretches could have been the densest one.
	stretches := float64(r.Of) * float64(r.Of+1) / 2
	p := min(1, stretches*math.Exp(-likelihood(inside, to-from+1, hits, len(struck))))
	outside := float64(hits-inside) / max(1, float64(len(struck)-(to-from+1)))
	if p <= gates.Strong && outside <= 0.1*float64(inside)/float64(to-from+1) {
		r.Pattern, r.P, r.First, r.Last = Stretch, p, from, to
	} else if p, long := runs(struck); p <= gates.Strong && long {
		r.Pattern, r.P = Stretch, p
	}
}

// runs is the chance of so few runs of struck steps if they lay anywhere (Wald
// and Wolfowitz 1940, Annals of Mathematical Statistics 11:147–162, the normal
// approximation), and whether the runs are long.
func runs(struck []bool) (p float64, long bool) {
	n, hits, found := len(struck), 0, 0
	for t, hit := range struck {
		if hit {
			hits++
			if t == 0 || !struck[t-1] {
				found++
			}
		}
	}
	// Runs of struck steps, given how many are struck: hypergeometric in mean
	// and variance.
	a, b := float64(hits), float64(n-hits)
	mean := a * (b + 1) / (a + b)
	sd := math.Sqrt(a * b * (a - 1) * (b + 1) / ((a + b) * (a + b) * (a + b - 1)))
	if !(sd > 0) {
		return 1, false
	}
	return math.Erfc((mean-float64(found)-0.5)/(sd*math.Sqrt2)) / 2, hits >= leastRun*found
}

// densest is the stretch with the most struck steps beyond the run's rate.
func densest(struck []bool) (from, to int) {
	hits := 0
	for _, hit := range struck {
		if hit {
			hits++
		}
	}
	rate := float64(hits) / float64(len(struck))
	best, sum, start := 0.0, 0.0, 0
	for t, hit := range struck {
		if sum <= 0 {
			sum, start = 0, t
		}
		sum -= rate
		if hit {
			sum++
		}
		if sum > best {
			best, from, to = sum, start, t
		}
	}
	return from, to
}

// likelihood is the log-likelihood ratio of k of n inside and the rest outside
// being of two rates, against one rate.
func likelihood(k, n, hits, of int) float64 {
	term := func(k, n int) float64 {
		if k == 0 || k == n {
			return 0
		}
		q := float64(k) / float64(n)
		return float64(k)*math.Log(q) + float64(n-k)*math.Log1p(-q)
	}
	return term(k, n) + term(hits-k, of-n) - term(hits, of)
}

// ChanceApart is the chance that no two of some stretches of a run overlap if each
// begins at any of its steps, the run taken as a circle: of so many steps, the
// m labelled arcs of lengths L can lie apart in n·(m−1)!·C(n − ΣL + m − 1, m − 1)
// ways, of nᵐ. Faults that are one at a time, next to each other, are one cause that
// moves.
func ChanceApart(lengths []int, steps int) float64 {
	m, free := len(lengths), steps
	for _, l := range lengths {
		free -= l
	}
	if free < 0 {
		return 0
	}
	log := 0.0
	for i := 1; i < m; i++ { // (free + i) ÷ i of the binomial, i of the factorial
		log += math.Log(float64(free+i)) - math.Log(float64(steps))
	}
	return min(1, math.Exp(log))
}
