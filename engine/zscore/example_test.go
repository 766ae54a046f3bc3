package zscore_test

import (
	"fmt"

	"github.com/sfstat/sfstat/engine/zscore"
)

// How long one operator took on four workers in eight steps, in nanoseconds: worker 3 takes
// 30 longer in step 5.
func ExampleAnalyze() {
	s := zscore.Series{Quantity: zscore.Duration, Workers: []int{0, 1, 2, 3}, X: []int64{
		100, 101, 99, 100,
		101, 100, 100, 99,
		99, 100, 101, 100,
		100, 99, 100, 101,
		100, 101, 99, 100,
		101, 100, 99, 130,
		99, 101, 100, 100,
		100, 100, 101, 99,
	}}
	r, err := zscore.Analyze([]zscore.Series{s}, zscore.Options{})
	if err != nil {
		panic(err)
	}
	for _, o := range r.Outliers {
		fmt.Printf("worker %d, step %d: %+d ns, %.0f spreads\n", o.Worker, o.Step, o.Effect, o.Score)
	}
	// Output: worker 3, step 5: +30 ns, 33 spreads
}
