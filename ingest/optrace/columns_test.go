package optrace

import (
	"math"
	"testing"
)

func TestToNanoseconds(t *testing.T) {
	for _, c := range []struct {
		x    float64
		ns   int64
		fits bool
	}{{0.1, 100000000, true}, {1e9 + 0.5, 1000000000500000000, true}, {-0.25, -250000000, true}, {46.12345678, 46123456780, true},
		{9.3e9, 0, false}, {math.MaxFloat64, 0, false}, {2.5e-9, 3, true}} {
		if ns, ok := toNanoseconds(c.x, 1e9); ns != c.ns || ok != c.fits {
			t.Errorf("%v s is %d ns (%v), expected %d", c.x, ns, ok, c.ns)
		}
	}
}
