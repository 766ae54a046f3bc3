package points

import (
	"math"
	"testing"
)

// TestLikePoint: a stage of the role of a point may be one too where its slope is not known, or may be -1; not a stage of another role, nor one
// whose slope is 0.
func TestLikePoint(t *testing.T) {
	c := &Steps{Stages: []Stage{{Role: Forward}, {Role: Backward}, {Role: Forward}, {Role: Backward}}}
	found := Found{Points: []Point{{Stage: 1, Evidence: Shown}}}
	nan := math.NaN()
	for name, tc := range map[string]struct {
		p    Point
		want bool
	}{
		"not known":    {Point{Stage: 3, Slope: nan, Low: nan, High: nan}, true},
		"may be":       {Point{Stage: 3, Slope: -0.7, Low: -1.4, High: 0.2}, true},
		"is none":      {Point{Stage: 3, Slope: 0, Low: -0.1, High: 0.1}, false},
		"another role": {Point{Stage: 2, Slope: nan, Low: nan, High: nan}, false},
		"that point":   {Point{Stage: 1, Slope: nan, Low: nan, High: nan}, false},
	} {
		if got := found.isLikePoint(c, &tc.p, Gates{Slope: -0.5, Confidence: 0.99}); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}
