package delay_test

import (
	"fmt"

	"github.com/sfstat/sfstat/engine/delay"
)

// Rank 3 takes 50 ms longer in every forward pass; the others wait for it in backward.
func ExampleAnalyze() {
	run, _ := job{seed: 1, ranks: 8, steps: 100, noise: 0.02}.play(fault{ranks: []int{3}, stage: 1, ms: 50})
	r, err := delay.Analyze(run, delay.Options{})
	if err != nil {
		panic(err)
	}
	f := r.Claims[0]
	fmt.Printf("ranks %v in %s, steps %d–%d: %d ms a step\n", f.Ranks, run.Stages[f.Parts[0].Stage].Name, f.Steps.First, f.Steps.Last, (f.Size+500_000)/1_000_000)
	fmt.Println("others wait for it:", f.Waited > 0.9)
	// Output:
	// ranks [3] in forward, steps 0–99: 50 ms a step
	// others wait for it: true
}
