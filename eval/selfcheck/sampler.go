package selfcheck

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/sfstat/sfstat/internal/parallel"
)

// sampler runs the trials of one check.
type sampler struct {
	Options
	use uint64 // number of the check
}

// impossible is what ends a check that cannot be carried out; Run reports it.
type impossible struct{ error }

// must ends the check where there is an error.
func must[T any](x T, err error) T {
	if err != nil {
		panic(impossible{err})
	}
	return x
}

// carriedOut runs part of a check, and gives the error that ended it.
func carriedOut(run func()) (err error) {
	defer func() {
		switch x := recover().(type) {
		case nil:
		case impossible:
			err = x.error
		default:
			panic(x)
		}
	}()
	run()
	return nil
}

// repeat runs n trials in parallel and returns their outcomes in order. Every
// trial has a random stream of its own, so that the outcomes do not depend on
// who runs which. A trial that fails ends the check, and so does n < 1.
func repeat[T any](s *sampler, n int, trial func(*rand.Rand) T) []T {
	if n < 1 {
		panic(impossible{errors.New("no trials, so nothing is shown")})
	}
	return must(parallel.Map(n, func(i int) (out T, err error) {
		rng := rand.New(rand.NewPCG(s.Seed^s.use<<56, uint64(i)))
		if err = carriedOut(func() { out = trial(rng) }); err != nil {
			err = fmt.Errorf("trial %d: %w", i, err)
		}
		return out, err
	}))
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

// held counts the trials that are true.
func held(trials []bool) int { return tally(trials, func(b bool) bool { return b }) }

// outOf writes a count as the suite reports it.
func outOf(n, all int) string {
	return fmt.Sprintf("%d/%d (%.0f %%)", n, all, 100*float64(n)/float64(max(1, all)))
}

// every passes when the statement held in all trials.
func every(trials []bool) finding {
	n := held(trials)
	return finding{outOf(n, len(trials)), n == len(trials)}
}
