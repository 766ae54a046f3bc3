package profiler

import "testing"

// TestChunks: elements come back in order, whatever their number.
func TestChunks(t *testing.T) {
	for _, n := range []int{0, 1, chunkLength - 1, chunkLength, chunkLength + 1, 3 * chunkLength} {
		var c chunks[int]
		for i := range n {
			c.add(i)
		}
		if c.len() != n {
			t.Errorf("%d of %d", c.len(), n)
		}
		all := c.take()
		for i := range n {
			if all[i] != i {
				t.Errorf("%d at %d of %d", all[i], i, n)
			}
		}
		if len(all) != n || c.len() != 0 {
			t.Errorf("%d were taken of %d, %d are left", len(all), n, c.len())
		}
	}
}
