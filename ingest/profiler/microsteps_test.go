package profiler

import (
	"slices"
	"testing"

	"github.com/sfstat/sfstat/trace/profile"
)

// TestSplit: a microstep begins with what follows a backward pass and has one
// itself; an optimizer in between makes steps of their own of them.
func TestSplit(t *testing.T) {
	const data, forward, backward, callbacks, optimizer = 0, 1, 2, 3, 4
	for name, tt := range map[string]struct {
		stages []int // one every 10 ns
		want   []int64
	}{
		"one":                           {[]int{data, forward, backward, optimizer}, nil},
		"two":                           {[]int{data, forward, backward, data, forward, backward, optimizer}, []int64{30}},
		"one batch for both":            {[]int{data, forward, backward, forward, backward, optimizer}, []int64{30}},
		"gradients cleared first":       {[]int{optimizer, forward, backward, forward, backward, optimizer}, []int64{30}},
		"backward in pieces":            {[]int{forward, backward, backward, forward, backward}, []int64{30}},
		"the loss is logged afterwards": {[]int{forward, backward, optimizer, forward, callbacks}, nil},
		"two optimizers":                {[]int{forward, backward, optimizer, forward, backward, optimizer}, nil},
		"two optimizers, three passes":  {[]int{forward, backward, forward, backward, optimizer, forward, backward, optimizer}, nil},
		"all forward, then backward":    {[]int{forward, forward, backward, backward, optimizer}, nil},
		"nothing":                       {nil, nil},
	} {
		var s profile.Step
		for i, stage := range tt.stages {
			s.Spans = append(s.Spans, profile.Span{Stage: stage, Start: int64(10 * i), End: int64(10*i + 10)})
		}
		split(&s, backward, optimizer)
		if !slices.Equal(s.Microsteps, tt.want) {
			t.Errorf("%s: microsteps begin at %v, want %v", name, s.Microsteps, tt.want)
		}
		if at := len(tt.want); at > 0 && (s.MicrostepAt(tt.want[0]) != 1 || s.MicrostepAt(tt.want[0]-1) != 0) {
			t.Errorf("%s: the boundary is in microstep %d", name, s.MicrostepAt(tt.want[0]))
		}
	}
}
