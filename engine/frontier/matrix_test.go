package frontier_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/trace/input"
)

// Three stages of four ranks, in seconds: rank 2 loads for three seconds longer.
func ExampleAccount() {
	a, err := frontier.Account([]string{"data", "forward", "backward"}, [][]int64{{1, 1, 4, 1}, {3, 3, 3, 3}, {8, 8, 5, 8}})
	if err != nil {
		panic(err)
	}
	for _, s := range a.Stages {
		fmt.Println(s.Name, s.Advance, "of", a.Makespan)
	}
	// Output:
	// data 4 of 12
	// forward 3 of 12
	// backward 5 of 12
}

// The advances are those of the definition, and add up to the exposed time.
func TestAccount(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		S, R, T := 1+rng.IntN(6), 1+rng.IntN(9), 1+rng.IntN(5)
		stages := make([]string, S)
		for k := range stages {
			stages[k] = fmt.Sprint("s", k)
		}
		want, whole := make([]int64, S), int64(0)
		var steps [][][]int64
		for range T {
			step, done, before := make([][]int64, S), make([]int64, R), int64(0)
			for k := range step {
				step[k] = make([]int64, R)
				for r := range step[k] {
					step[k][r] = rng.Int64N(1000)
					done[r] += step[k][r]
				}
				want[k] += slices.Max(done) - before
				before = slices.Max(done)
			}
			whole += before
			steps = append(steps, step)
		}
		a, err := frontier.Account(stages, steps...)
		if err != nil {
			t.Fatal(err)
		}
		sum := int64(0)
		for k, s := range a.Stages {
			if sum += s.Advance; s.Advance != want[k] {
				t.Errorf("%d×%d×%d: stage %d advances %d, expected %d", T, S, R, k, s.Advance, want[k])
			}
		}
		if a.Makespan != whole || sum != whole {
			t.Errorf("exposed %d, advances %d, expected %d", a.Makespan, sum, whole)
		}
	}
}

// What is no matrix of durations is refused.
func TestAccountRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		steps [][][]int64
		err   error
	}{
		"a row is missing": {[][][]int64{{{1, 2}}}, input.ErrRagged},
		"rows differ":      {[][][]int64{{{1, 2}, {1}}}, input.ErrRagged},
		"negative":         {[][][]int64{{{1, 2}, {1, -2}}}, input.ErrNegative},
		"no step":          {nil, input.ErrEmpty},
	} {
		if _, err := frontier.Account([]string{"a", "b"}, c.steps...); !errors.Is(err, c.err) {
			t.Errorf("%s: %v, expected %v", name, err, c.err)
		}
	}
}
