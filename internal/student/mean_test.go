package student

import (
	"math"
	"testing"
)

// The values are R's pt and sd.
func TestAboveAndMeanSD(t *testing.T) {
	for _, c := range []struct{ t, freedom, want float64 }{{0, 5, 0.5}, {2, 5, 0.05096973941492917}, {-2, 5, 0.9490302605850709}} {
		if got := Above(c.t, c.freedom); math.Abs(got-c.want) > 1e-14 {
			t.Errorf("P(T > %v) with %v degrees of freedom is %v, expected %v", c.t, c.freedom, got, c.want)
		}
	}
	if mean, sd := MeanSD([]float64{2, 4, 4, 4, 5, 5, 7, 9}); mean != 5 || math.Abs(sd-math.Sqrt(32.0/7)) > 1e-15 {
		t.Errorf("mean %v, deviation %v", mean, sd)
	}
}
