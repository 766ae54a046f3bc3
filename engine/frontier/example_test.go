package frontier_test

import (
	"fmt"

	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/trace"
)

// Three ranks in four steps of 100 ms: rank 2 loads 30 ms longer, and the others wait
// for it in backward.
func Example() {
	const ms = 1_000_000
	w := &trace.Window{Run: "job", WorldSize: 3, Schema: trace.Schema{Stages: []string{"data", "backward"}}}
	for rank := range 3 {
		w.Ranks = append(w.Ranks, trace.Rank{ID: rank})
	}
	for range 4 {
		w.Durations = append(w.Durations, 10*ms, 10*ms, 40*ms, 90*ms, 90*ms, 60*ms)
	}
	a, err := frontier.Analyze(w, frontier.Options{Cut: frontier.CutStep})
	if err != nil {
		panic(err)
	}
	for _, s := range a.Main.Stages {
		fmt.Printf("%s: %d ms of %d ms\n", s.Name, s.Advance/ms, a.Main.Makespan/ms)
	}
	// Output:
	// data: 160 ms of 400 ms
	// backward: 240 ms of 400 ms
}
