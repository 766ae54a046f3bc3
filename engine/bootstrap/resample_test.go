package bootstrap

import (
	"sync"
	"testing"
)

// TestEveryReplicate: each resample is drawn once, with as many blocks as there are, whatever their number.
func TestEveryReplicate(t *testing.T) {
	s := newSample([]Pair{{Block: 1, Base: 10, With: 11}, {Block: 2, Base: 10, With: 12}, {Block: 2, Base: 10, With: 13}})
	for _, n := range []int{1, 99, 100, 101, 250} {
		var mu sync.Mutex
		drawn := make(map[int]int)
		s.resample(Options{Replicates: n}.Defaults(), func(replicate int, index []int32, blocks int) {
			mu.Lock()
			defer mu.Unlock()
			if drawn[replicate]++; len(index) != 2 || blocks != 2 {
				t.Errorf("%d of %d blocks, want 2 of 2", len(index), blocks)
			}
			index[0], index[1] = 0, 1
		})
		for i := range n {
			if drawn[i] != 1 {
				t.Errorf("%d resamples: number %d is drawn %d times", n, i, drawn[i])
			}
		}
		if len(drawn) != n {
			t.Errorf("%d resamples drawn of %d", len(drawn), n)
		}
	}
}
