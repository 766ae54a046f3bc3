package align

import (
	"math"
	"testing"

	"github.com/sfstat/sfstat/trace/comms"
)

// TestLaunchedWithin: both ends count, and times at the ends of what a number holds are times as others.
func TestLaunchedWithin(t *testing.T) {
	var kernels []*comms.Kernel
	for _, launch := range []int64{math.MinInt64, -5, 0, 5, 6, math.MaxInt64} {
		kernels = append(kernels, &comms.Kernel{Launch: launch})
	}
	for _, c := range []struct {
		at   int64
		want int
	}{{0, 3}, {1, 3}, {100, 0}, {math.MaxInt64, 1}, {math.MaxInt64 - 5, 1}, {math.MaxInt64 - 6, 0}, {math.MinInt64, 1}} {
		if got := launchedWithin(kernels, c.at, 5); len(got) != c.want {
			t.Errorf("%d kernels near %d, want %d", len(got), c.at, c.want)
		}
	}
}
