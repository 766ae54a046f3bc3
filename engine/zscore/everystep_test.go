package zscore_test

import (
	"testing"

	"github.com/sfstat/sfstat/engine/zscore"
)

// TestWholeWindow: what is off in the whole window is told apart from every step: a worker that is 40 longer in all of 12 has an
// outlier with a step that no window has.
func TestWholeWindow(t *testing.T) {
	s := zscore.Series{Quantity: zscore.Duration, Workers: []int{0, 1, 2, 3, 4}}
	for step := range int64(12) {
		for w := range int64(5) {
			x := 1000 + (step*3+w*2)%7
			if w == 3 {
				x += 40
			}
			s.X = append(s.X, x)
		}
	}
	r, err := zscore.Analyze([]zscore.Series{s}, zscore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	whole := 0
	for _, o := range r.Outliers {
		if o.Worker != 3 {
			t.Errorf("%+v, want worker 3 alone", o)
		}
		if o.Step == zscore.EveryStep {
			whole++
		} else if o.Step < 0 || o.Step >= 12 {
			t.Errorf("%+v: there is no such step", o)
		}
	}
	if whole != 1 || zscore.EveryStep >= 0 {
		t.Errorf("%d outliers of the whole window, whose step is %d", whole, zscore.EveryStep)
	}
}
