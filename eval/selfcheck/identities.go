package selfcheck

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/trace"
)

// checkTelescoping checks that in every cut the advances are not negative and sum to the makespan, and that the makespan of the step
// cut follows from the durations.
func checkTelescoping(s *sampler) finding {
	errors := repeat(s, func(rng *rand.Rand) int64 {
		w, worst := randomWindow(rng), int64(0)
		for _, by := range []frontier.Cut{frontier.CutStep, frontier.CutCarried, frontier.CutSync, frontier.CutAuto} {
			o := frontier.Options{Cut: by, SyncAfter: w.Schema.Stages[rng.IntN(len(w.Schema.Stages))]}
			worst = max(worst, accountingError(analyze(w, o)))
		}
		w.Wall = nil
		return max(worst, distance(analyzeStep(w).Makespan, longest(w)))
	})
	worst := slices.Max(errors)
	return finding{fmt.Sprintf("%d ns over %d matrices", worst, s.Trials), worst == 0}
}

// accountingError returns what the advances miss of the makespan, or what is negative
// among them.
func accountingError(r *frontier.Result) int64 {
	sum, negative := int64(0), int64(0)
	for _, st := range r.Stages {
		sum += st.Advance
		negative = max(negative, -st.Advance)
	}
	return max(negative, distance(sum, r.Makespan))
}

// longest returns Σ_t max_r Σ_s d.
func longest(w *trace.Window) int64 {
	R, total := len(w.Ranks), int64(0)
	for t := range w.Steps() {
		rank := make([]int64, R)
		for i, d := range w.Step(t) {
			rank[i%R] += d
		}
		total += slices.Max(rank)
	}
	return total
}

func distance(a, b int64) int64 { return max(a-b, b-a) }

// bound is a two-sided statement about one step: low ≤ x ≤ high.
type bound struct{ low, x, high int64 }

func (b bound) isViolated() bool { return b.low > b.x || b.x > b.high }

// checkMaxima checks Proposition 1. Equal ranks are the tight case below; ranks that take turns, one stage each, the tight case
// above.
func checkMaxima(s *sampler) finding {
	return proposition(s, func(w *trace.Window, of sums, f int64) bound {
		return bound{f, of.maxima, int64(min(len(w.Schema.Stages), len(w.Ranks))) * f}
	}, copyFirst, turns)
}

// checkMeans checks Proposition 2, times R to stay in integers. All work on one rank is the tight case below; equal ranks the tight
// case above.
func checkMeans(s *sampler) finding {
	return proposition(s, func(w *trace.Window, of sums, f int64) bound {
		return bound{f, of.all, int64(len(w.Ranks)) * f}
	}, loadFirstRank, copyFirst)
}

// copyFirst makes all ranks do what the first does.
func copyFirst(w *trace.Window) {
	R := len(w.Ranks)
	for i := range w.Durations {
		w.Durations[i] = w.Durations[i/R*R]
	}
}

// loadFirstRank leaves work to the first rank only.
func loadFirstRank(w *trace.Window) {
	for i := range w.Durations {
		if i%len(w.Ranks) > 0 {
			w.Durations[i] = 0
		}
	}
}

// turns gives each stage to a rank of its own, as far as there are both.
func turns(w *trace.Window) {
	R := len(w.Ranks)
	clear(w.Durations)
	for k := range min(len(w.Schema.Stages), R) {
		w.Durations[k*R+k] = millisecond
	}
}

// proposition tries a bound on random steps, and on steps made to reach it
// below and above.
func proposition(s *sampler, of func(*trace.Window, sums, int64) bound, low, high func(*trace.Window)) finding {
	var trials [3][]bound
	violated := 0
	for i, shape := range []func(*trace.Window){func(*trace.Window) {}, low, high} {
		trials[i] = repeat(s, func(rng *rand.Rand) bound {
			w := randomStep(rng)
			shape(w)
			return of(w, sumsOf(w), analyzeStep(w).Makespan)
		})
		violated += tally(trials[i], bound.isViolated)
	}
	below := tally(trials[1], func(b bound) bool { return b.x == b.low })
	above := tally(trials[2], func(b bound) bool { return b.x == b.high })
	return finding{fmt.Sprintf("%d violations of %d, %d, %d", violated, 3*s.Trials, below, above),
		violated == 0 && below == s.Trials && above == s.Trials}
}

// checkClockError checks Proposition 3. Half of the trials move every duration by the full ε, which reaches the bound.
func checkClockError(s *sampler) finding {
	const ε = 1000 // ns
	worst := repeat(s, func(rng *rand.Rand) float64 {
		w := randomStep(rng)
		for i := range w.Durations {
			w.Durations[i] += ε
		}
		measured := *w
		measured.Durations = slices.Clone(w.Durations)
		sign, full := int64(2*rng.IntN(2)-1), rng.IntN(2) == 0
		for i := range measured.Durations {
			e := rng.Int64N(2*ε+1) - ε
			if full {
				e = sign * ε
				if rng.IntN(len(w.Schema.Stages)) == 0 {
					sign = -sign
				}
			}
			measured.Durations[i] += e
		}
		return worstError(analyzeStep(w), analyzeStep(&measured), ε)
	})
	most := slices.Max(worst)
	return finding{fmt.Sprintf("%.3f", most), most <= 1}
}

// worstError returns the largest of |ΔF[s]| ÷ s·ε and |Δa[s]| ÷ (2s−1)·ε, with s from 1.
func worstError(a, b *frontier.Result, ε int64) float64 {
	worst, moved := 0.0, int64(0)
	for i := range a.Stages {
		n := int64(i + 1)
		moved += b.Stages[i].Advance - a.Stages[i].Advance
		worst = max(worst, float64(distance(moved, 0))/float64(n*ε),
			float64(distance(b.Stages[i].Advance, a.Stages[i].Advance))/float64((2*n-1)*ε))
	}
	return worst
}
