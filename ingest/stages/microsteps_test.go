package stages

import (
	"slices"
	"testing"

	"github.com/sfstat/sfstat/ingest/profiler/stagemap"
)

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
