package profile

import (
	"slices"
	"testing"

	"github.com/sfstat/sfstat/ingest/profile/stagemap"
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
		var s Step
		for i, stage := range tt.stages {
			s.Spans = append(s.Spans, Span{stage, int64(10 * i), int64(10*i + 10)})
		}
		s.split(backward, optimizer)
		if !slices.Equal(s.Microsteps, tt.want) {
			t.Errorf("%s: microsteps begin at %v, want %v", name, s.Microsteps, tt.want)
		}
		if at := len(tt.want); at > 0 && (s.microstep(tt.want[0]) != 1 || s.microstep(tt.want[0]-1) != 0) {
			t.Errorf("%s: the boundary is in microstep %d", name, s.microstep(tt.want[0]))
		}
	}
}

// TestMicrostepAccount: what runs on the device belongs to the microstep that
// launched it, whenever it runs.
func TestMicrostepAccount(t *testing.T) {
	r := newFeed().on(1, "ProfilerStep#0", 0, 100).
		on(1, "forward", 0, 10).on(1, "backward", 10, 20).on(1, "forward", 20, 30).on(1, "backward", 30, 40).
		kernel("A", 1, 2, 5, 25).kernel("B", 1, 12, 25, 50).kernel("A", 1, 22, 50, 60).kernel("B", 1, 32, 60, 95).finish()
	fwd, bwd := slices.Index(r.Stages, stagemap.Forward), slices.Index(r.Stages, stagemap.Backward)
	S := len(r.Stages)
	d := r.Steps[0].Device
	if len(d.Own) != 2*S {
		t.Fatalf("%d accounts", len(d.Own))
	}
	got := []int64{d.Own[fwd], d.Own[bwd], d.Own[S+fwd], d.Own[S+bwd]}
	if want := []int64{25 * us, 25 * us, 10 * us, 35 * us}; !slices.Equal(got, want) {
		t.Errorf("own times %v, want %v", got, want)
	}
}
