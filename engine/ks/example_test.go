package ks_test

import (
	"fmt"

	"github.com/sfstat/sfstat/engine/ks"
)

// Worker 2 completes its three operators 4 ns later than its peers in each of 20 steps.
func ExampleAnalyze() {
	workers := make([]ks.Worker, 5)
	for step := range int64(20) {
		for w := range workers {
			done := []int64{10 + step*int64(w+1)%3, 20 + step*int64(w+2)%3, 30 + step*int64(w+3)%3}
			if w == 2 {
				done[0], done[1], done[2] = done[0]+4, done[1]+4, done[2]+4
			}
			workers[w].Steps = append(workers[w].Steps, ks.Step{Done: done})
		}
	}
	r, err := ks.Analyze(workers, ks.Options{Window: 1})
	if err != nil {
		panic(err)
	}
	s := r.Scores[r.Ranking[0]]
	fmt.Printf("worker %d: S = %.2f, %d ns later than its peers, found: %v\n", s.Worker, s.Mean, s.Later, s.Test.Flagged)
	// Output: worker 2: S = 0.33, 4 ns later than its peers, found: true
}
