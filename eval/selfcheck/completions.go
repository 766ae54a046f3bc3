package selfcheck

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/sfstat/sfstat/engine/bootstrap"
	"github.com/sfstat/sfstat/engine/ks"
	"github.com/sfstat/sfstat/engine/zscore"
)

// certain is the confidence of bounds that decide whether a row passes where a
// rate is checked: a right build fails one row of this kind in thousands.
const certain = 0.9999

// distances: D(A,B) is what its definition says of the two lists of times, the
// same from either side, and in [0, 1].
func distances(s *sampler) finding {
	return noneOf(repeat(s, s.Trials, func(rng *rand.Rand) bool {
		a, b := times(rng), times(rng)
		one := must(ks.Compare(a, b))
		other := must(ks.Compare(b, a))
		d := steps(a, b)
		return math.Abs(one.D-d) > 1e-12 || one.D != other.D || one.D < 0 || one.D > 1
	}))
}

// times are a few completion times with ties.
func times(rng *rand.Rand) []int64 {
	out := make([]int64, 1+rng.IntN(20))
	for i := range out {
		out[i] = rng.Int64N(30)
	}
	return out
}

// steps is max_k |F_A(k) − F_B(k)| counted out, at every time that occurs.
func steps(a, b []int64) float64 {
	part := func(of []int64, upTo int64) float64 {
		n := 0
		for _, t := range of {
			if t <= upTo {
				n++
			}
		}
		return float64(n) / float64(len(of))
	}
	worst := 0.0
	for _, t := range slices.Concat(a, b) {
		worst = max(worst, math.Abs(part(a, t)-part(b, t)))
	}
	return worst
}

// completions are workers that complete ten operators in each of eight steps, all
// ranks synchronising at the end of a step. One of them may be slower by a factor.
func completions(rng *rand.Rand, slow int, factor float64) []ks.Worker {
	const workers, count, ops = 6, 8, 10
	out := make([]ks.Worker, workers)
	start := int64(0)
	for range count {
		end := start
		for w := range out {
			now, step := start, ks.Step{Start: start}
			for range ops {
				d := millisecond * max(0.1, 1+0.1*rng.NormFloat64())
				if w == slow {
					d *= factor
				}
				now += int64(d)
				step.Done = append(step.Done, now)
			}
			end = max(end, now)
			out[w].Steps = append(out[w].Steps, step)
		}
		start = end
	}
	return out
}

// completionsNull: of healthy workers a share of at most 5 % has P ≤ 0.05, with six
// workers and eight steps.
func completionsNull(s *sampler) finding {
	const alpha = 0.05
	below := repeat(s, s.Healthy, func(rng *rand.Rand) bool {
		o := ks.DefaultOptions()
		o.Seed, o.Threads = rng.Uint64(), 1
		r := must(ks.Analyze(completions(rng, -1, 1), o))
		test := r.Scores[rng.IntN(len(r.Scores))].Test
		return test != nil && test.P <= alpha
	})
	return notAbove(below, alpha)
}

// notAbove passes when a rate is not shown to be above what is promised.
func notAbove(trials []bool, promised float64) finding {
	k := held(trials)
	rate := must(bootstrap.Binomial(k, len(trials), certain))
	return finding{fmt.Sprintf("%d/%d (%.1f %%)", k, len(trials), 100*float64(k)/float64(len(trials))), rate.AtLeast <= promised}
}

// completionsCulprit: a worker that is 10 % slower has the largest mean distance.
func completionsCulprit(s *sampler) finding {
	trials := repeat(s, s.Simulated, func(rng *rand.Rand) bool {
		o := ks.DefaultOptions()
		o.Replicates, o.Threads = 0, 1
		slow := rng.IntN(6)
		return must(ks.Analyze(completions(rng, slow, 1.1), o)).Ranking[0] == slow
	})
	return every(trials)
}

// every passes when the statement held in all trials.
func every(trials []bool) finding {
	n := held(trials)
	return finding{outOf(n, len(trials)), n == len(trials)}
}

// ceiling: no score of N values is beyond √(N−1) population deviations, nor
// (N−1)/√N of the sample's; one value apart from all others reaches it.
func ceiling(s *sampler) finding {
	worst := repeat(s, s.Trials, func(rng *rand.Rand) float64 {
		x := make([]int64, 2+rng.IntN(31))
		x[rng.IntN(len(x))] = 1 + rng.Int64N(millisecond)
		reached := ofCeiling(x)
		for i := range x {
			x[i] = randomDuration(rng)
		}
		other := ofCeiling(x)
		if reached < 1-1e-6 { // a bound that is not reached fails as one that is passed
			return math.Inf(1)
		}
		return max(reached, other)
	})
	most := slices.Max(worst)
	return finding{fmt.Sprintf("%.3f", most), most <= 1+1e-9}
}

// ofCeiling is the largest score of the values, in parts of what it can be.
func ofCeiling(x []int64) float64 {
	most, n := 0.0, float64(len(x))
	for m, bound := range map[zscore.Method]float64{zscore.Population: math.Sqrt(n - 1), zscore.SampleSD: (n - 1) / math.Sqrt(n)} {
		scores := must(zscore.Scores(m, x))
		for _, z := range scores {
			most = max(most, math.Abs(z)/bound)
		}
	}
	return most
}

// lateOfFew: one of four to ten workers is late in every step of a window. Three
// population deviations cannot see it, for √(N−1) ≤ 3; the default does, and
// flags another one in no more windows than its error rate allows.
func lateOfFew(s *sampler) finding {
	type outcome struct{ found, sigma, other bool }
	options := zscore.DefaultOptions()
	options.Threads = 1
	trials := repeat(s, s.Simulated, func(rng *rand.Rand) (o outcome) {
		series, late := lateStarts(rng)
		o.sigma = beyondThree(series)
		r := must(zscore.Analyze([]zscore.Series{series}, options))
		for _, x := range r.Outliers {
			o.found = o.found || x.Sure && x.Worker == late
			o.other = o.other || x.Sure && x.Worker != late
		}
		return o
	})
	n := len(trials)
	found := tally(trials, func(o outcome) bool { return o.found })
	sigma := tally(trials, func(o outcome) bool { return o.sigma })
	other := tally(trials, func(o outcome) bool { return o.other })
	rate := must(bootstrap.Binomial(other, n, certain))
	return finding{fmt.Sprintf("%s, %s, %d/%d", outOf(found, n), outOf(sigma, n), other, n),
		found == n && sigma == 0 && rate.AtLeast <= options.Alpha}
}

// lateStarts are twelve steps of workers of which one starts 2 ms late, the
// others with a deviation of 0.1 ms.
func lateStarts(rng *rand.Rand) (series zscore.Series, late int) {
	const count = 12
	n := 4 + rng.IntN(7)
	late = rng.IntN(n)
	series = zscore.Series{Quantity: zscore.Start, X: make([]int64, n*count)}
	for i := range n {
		series.Workers = append(series.Workers, i)
	}
	for i := range series.X {
		series.X[i] = int64(100 * millisecond * (1 + 0.001*rng.NormFloat64()))
		if i%n == late {
			series.X[i] += 2 * millisecond
		}
	}
	return series, late
}

// beyondThree reports whether any value of a step is more than three population
// deviations from the mean.
func beyondThree(series zscore.Series) bool {
	n := len(series.Workers)
	for t := 0; t < len(series.X); t += n {
		scores := must(zscore.Scores(zscore.Population, series.X[t:t+n]))
		if slices.ContainsFunc(scores, func(z float64) bool { return math.Abs(z) > 3 }) {
			return true
		}
	}
	return false
}
