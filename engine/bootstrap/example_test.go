package bootstrap_test

import (
	"fmt"

	"github.com/sfstat/sfstat/engine/bootstrap"
)

// Twenty runs with and without a recorder, which costs 1 %.
func Example() {
	var pairs []bootstrap.Pair
	for run := range 20 {
		base := 200 + float64(run%5)
		pairs = append(pairs, bootstrap.Pair{Block: run, Base: base, With: base * (1.008 + 0.001*float64(run%5))})
	}
	r, err := bootstrap.Analyze(pairs, bootstrap.Options{})
	if err != nil {
		panic(err)
	}
	mean := r.EstimateOf(bootstrap.Mean)
	fmt.Printf("%.2f %%, with 95 %% confidence between %.2f and %.2f %%\n",
		100*mean.Value, 100*mean.Intervals[0].Lower, 100*mean.Intervals[0].Upper)
	// Output: 1.00 %, with 95 % confidence between 0.93 and 1.07 %
}
