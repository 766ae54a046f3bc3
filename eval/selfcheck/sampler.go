package selfcheck

import (
	"fmt"
	"math/rand/v2"

	"github.com/sfstat/sfstat/internal/parallel"
)

// sampler runs the trials of one check.
type sampler struct {
	Options
	use uint64 // number of the check
}

// repeat runs the trials of a check in parallel and returns their outcomes in order. Every
// trial has a random stream of its own, so that the outcomes do not depend on who runs which.
func repeat[T any](s *sampler, trial func(*rand.Rand) T) []T {
	out := make([]T, s.Trials)
	parallel.Do(s.Trials, 0, func(i int) { out[i] = trial(rand.New(rand.NewPCG(s.Seed^s.use<<56, uint64(i)))) })
	return out
}

// tally counts the trials for which holds is true.
func tally[T any](trials []T, holds func(T) bool) int {
	n := 0
	for _, t := range trials {
		if holds(t) {
			n++
		}
	}
	return n
}

// formatCount writes a count as the suite reports it.
func formatCount(n, all int) string {
	return fmt.Sprintf("%d/%d (%.0f %%)", n, all, 100*float64(n)/float64(all))
}

// checkTrials passes when the statement holds in all trials.
func checkTrials(s *sampler, trial func(*rand.Rand) bool) finding {
	n := tally(repeat(s, trial), func(held bool) bool { return held })
	return finding{formatCount(n, s.Trials), n == s.Trials}
}
