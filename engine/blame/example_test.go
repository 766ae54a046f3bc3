package blame_test

import (
	"fmt"

	"github.com/sfstat/sfstat/engine/blame"
)

// Rank 1 computes 80 µs too long, and rank 0 waits for it in the all-reduce.
func ExampleAnalyze() {
	g := blame.Graph{
		Ops: []blame.Op{
			{ID: 10, Rank: 0, Start: 0, End: 40},
			{ID: 11, Rank: 0, Start: 40, End: 140, Collective: 1},
			{ID: 20, Rank: 1, Start: 0, End: 120, Length: blame.High},
			{ID: 21, Rank: 1, Start: 120, End: 140, Lateness: blame.High, Collective: 1},
		},
		Edges: []blame.Edge{{From: 10, To: 11}, {From: 20, To: 21}},
	}
	r, err := blame.Analyze(g, []int64{11}, blame.Options{})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s %d, along %v\n", r.Causes[0].Kind, r.Causes[0].Op, r.Causes[0].Path)
	// Output: op 20, along [11 21 20]
}
