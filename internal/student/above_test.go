package student

import (
	"math"
	"testing"
)

// The values are R's pt.
func TestAbove(t *testing.T) {
	for _, c := range []struct{ t, freedom, want float64 }{{0, 5, 0.5}, {2, 5, 0.05096973941492917}, {-2, 5, 0.9490302605850709}} {
		if got := UpperTail(c.t, c.freedom); math.Abs(got-c.want) > 1e-14 {
			t.Errorf("P(T > %v) with %v degrees of freedom is %v, expected %v", c.t, c.freedom, got, c.want)
		}
	}
}
