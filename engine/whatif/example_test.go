package whatif_test

import (
	"fmt"

	"github.com/sfstat/sfstat/engine/whatif"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/optrace"
)

// Who makes the steps slow, and what would fixing that worker, or its replica's
// backward passes alone, save?
func Example() {
	t, err := optrace.Open("../../fixtures/optrace/trace-slow-worker.csv", ingest.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	m, err := whatif.New(t, whatif.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	r := m.Analyze()
	fmt.Printf("steps take %.0f ms, %.0f ms if all work were even: S = %.2f\n", r.NoDelay.Mean/1e6, r.Ideal.Mean/1e6, r.Slowdown.Overall)
	for _, w := range r.Workers {
		if w.Overall > 1.05 {
			fmt.Printf("rank %d (dp %d, stage %d) alone: %.2f\n", w.Rank, w.DP, w.Stage, w.Overall)
		}
	}
	effects, err := m.Price(
		whatif.Selection{{Ranks: r.TopRanks}},
		whatif.Selection{{DP: []int{1}, Ops: []string{"backward-compute"}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range effects {
		fmt.Printf("saves %.0f ms per step\n", e.Saved/1e6)
	}
	// Output:
	// steps take 505 ms, 442 ms if all work were even: S = 1.14
	// rank 4 (dp 1, stage 1) alone: 1.17
	// saves 79 ms per step
	// saves 44 ms per step
}
