package arrivals

import (
	"slices"
	"testing"
)

// Every call of every rank is in one point, those of a group come in the order
// of time.
func TestEachPoint(t *testing.T) {
	s := synthetic{seed: 3, ranks: 4, steps: 10, buckets: 2, barrier: true, jitter: 1, perHost: 4, delay: 50, late: []int{2}}
	calls, before := 0, int64(0)
	r := s.job().Analyze(Options{EachPoint: func(p Point) {
		calls += len(p.Enter)
		slices.Sort(p.Ranks)
		if !slices.Equal(p.Ranks, []int{0, 1, 2, 3}) || len(p.Enter) != 4 || p.Absent != nil {
			t.Fatalf("%+v, expected entries of four ranks", p)
		}
		if first := slices.Min(p.Enter); first < before {
			t.Fatalf("a point begins at %d, after one at %d", first, before)
		} else {
			before = first
		}
	}})
	if calls != r.Calls || calls != 4*10*3 {
		t.Errorf("%d entries of %d calls, expected 120", calls, r.Calls)
	}
}
