package compare_test

import (
	"fmt"

	"github.com/sfstat/sfstat/engine/compare"
)

// The step times of four runs without a change and of four with it, in milliseconds.
func ExampleCompare() {
	step := compare.Row{Base: []float64{220, 221, 219, 220}, New: []float64{230, 232, 231, 231}} // ms, a run each
	d, err := compare.Compare([]compare.Row{step}, compare.Options{Design: compare.Unpaired})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%+.0f ms (%.1f to %.1f), %v\n", d[0].Change, d[0].Low, d[0].High, d[0].Verdict)
	// Output: +11 ms (9.6 to 12.4), regression
}
