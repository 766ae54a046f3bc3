package main

import (
	"math/rand/v2"

	"github.com/sfstat/sfstat/engine/ks"
)

// mostTested is up to how many workers the test is measured; beyond, it takes
// seconds each time.
const mostTested = 512

// completions are the comparison of completion times. A worker has 8 steps of 125 completions
// with 5 % of noise; one is 3 % slow.
var completions = []series{
	{name: "distances and scores", prepare: comparison(ks.Options{})},
	{name: "with the test", most: mostTested, prepare: comparison(ks.DefaultOptions())},
}

func comparison(o ks.Options) func(int) func() error {
	return func(n int) func() error {
		all := workers(n)
		return func() error {
			_, err := ks.Analyze(all, o)
			return err
		}
	}
}

// workers are n peers that all begin a step together.
func workers(n int) []ks.Worker {
	const steps, perStep, length = 8, 125, 10_000_000 // an operator takes 10 ms
	out := make([]ks.Worker, n)
	for w := range out {
		r := rand.New(rand.NewPCG(1, uint64(w)))
		slower := 1.0
		if w == n/2 {
			slower = 1.03
		}
		for s := range steps {
			start := int64(s) * 2 * perStep * length
			step := ks.Step{Start: start}
			at := start
			for range perStep {
				at += int64(length * slower * (1 + 0.05*(2*r.Float64()-1)))
				step.Done = append(step.Done, at)
			}
			out[w].Steps = append(out[w].Steps, step)
		}
	}
	return out
}
