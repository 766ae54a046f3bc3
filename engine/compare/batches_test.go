package compare

import (
	"math"
	"slices"
	"testing"
)

// However many values come, batches are few, of one length, and keep the mean.
func TestBatches(t *testing.T) {
	for _, c := range []struct{ values, want int }{{0, 0}, {3, 0}, {7, 1}, {8, 2}, {63, 15}, {64, 16}, {1000, 16}, {100_003, 16}} {
		var b Batches
		sum := 0.0
		for i := range c.values {
			b.Add(float64(i))
			sum += float64(i)
		}
		means := b.Means()
		if len(means) != c.want || len(b.sums) > mostCells {
			t.Errorf("%d values: %d batches of %d cells, want %d", c.values, len(means), len(b.sums), c.want)
			continue
		}
		if !slices.IsSorted(means) {
			t.Errorf("%d values: batches out of order: %v", c.values, means)
		}
		all := 0.0
		for _, m := range means {
			all += m / float64(len(means))
		}
		if c.want > 0 && math.Abs(all-sum/float64(c.values)) > 0.02*sum/float64(c.values) {
			t.Errorf("%d values: mean %v of batches, want %v", c.values, all, sum/float64(c.values))
		}
	}
}

// TestDrop: the first values are gone, with those that are in one sum with them.
func TestDrop(t *testing.T) {
	for _, c := range []struct{ values, drop, first int }{{40, 5, 5}, {40, 0, 0}, {1000, 5, 8}, {8, 8, 0}} {
		var b, want Batches
		for i := range c.values {
			b.Add(float64(i))
			if i >= c.first && c.drop < c.values {
				want.Add(float64(i))
			}
		}
		b.Drop(c.drop)
		if got, want := b.Means(), want.Means(); len(got) != len(want) || len(got) > 0 && math.Abs(got[0]-want[0]) > 4 {
			t.Errorf("%d of %d values: %v, want %v", c.drop, c.values, got, want)
		}
	}
}
