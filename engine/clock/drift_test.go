package clock_test

import (
	"math"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/clock"
)

// exchange returns n messages each way, a millisecond apart, with a clock that gains a part of the time and shows 1 µs less to
// 1 µs more at its bounds. Of those given in wrong each breaks the bounds by a second and more, on either side.
func exchange(n int, drift float64, wrong ...int) (out []clock.Message) {
	for i := range n {
		at := int64(i) * ms
		shows, off := at+int64(math.Round(drift*float64(at))), int64(us)
		if slices.Contains(wrong, i) {
			off = -int64(1000*ms + i*i*us)
		}
		out = append(out, clock.Message{From: 0, To: 1, Sent: at, Received: shows + off}, clock.Message{From: 1, To: 0, Sent: shows - off, Received: at})
	}
	return out
}

// TestDriftBound: a clock that gains 450 ppm keeps its bounds. One that gains 550 ppm does not: none gains more than 500.
func TestDriftBound(t *testing.T) {
	for _, sign := range []float64{1, -1} {
		for drift, kept := range map[float64]bool{450e-6: true, 550e-6: false} {
			p := clock.Align(2, clock.Events{Messages: exchange(100, sign*drift)})[1]
			if (p.Contradicted == 0) != kept || kept && math.Abs(p.Drift-sign*drift) > 1e-7 || math.Abs(p.Drift) > 500e-6 {
				t.Errorf("gains %v: %+v, want its bounds kept: %v", sign*drift, p, kept)
			}
		}
	}
}

// TestWrongBounds: of twenty bounds on either side one may be wrong, and of any number 64.
func TestWrongBounds(t *testing.T) {
	for _, c := range []struct {
		n, wrong int
		left     bool // out, so that the others place the clock
	}{{17, 1, false}, {19, 1, false}, {20, 1, true}, {22, 1, true}, {39, 2, false}, {40, 2, true}, {1500, 55, true}, {1500, 64, true}, {1500, 65, false}, {1500, 70, false}} {
		var wrong []int
		for i := range c.wrong {
			wrong = append(wrong, 5+7*i)
		}
		p := clock.Align(2, clock.Events{Messages: exchange(c.n, 0, wrong...)})[1]
		if left := p.HalfWidth < ms; left != c.left {
			t.Errorf("%d of %d bounds are wrong: %+v, want them left out: %v", c.wrong, c.n, p, c.left)
		}
	}
}

// TestReadTwice: what ended once and was read twice ended in the middle of the readings.
func TestReadTwice(t *testing.T) {
	end := []clock.Reading{{Clock: 0, At: 1000}, {Clock: 1, At: 3100}, {Clock: 1, At: 3200}, {Clock: 1, At: 3600}}
	if p := clock.Align(2, clock.Events{Ends: [][]clock.Reading{end}})[1]; p.Offset != 2300 {
		t.Errorf("%+v, want 2300 ahead", p)
	}
}
