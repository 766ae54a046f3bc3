package ingest

import (
	"math/bits"
	"sync"

	"github.com/sfstat/sfstat/trace"
)

// spare holds the times of windows that were released, by the binary order of their number.
var spare [bits.UintSize + 1]sync.Pool

// Times is n durations, whatever they are, for a reader to fill.
func Times(n int) []int64 {
	if old, ok := spare[bits.Len(uint(n))].Get().(*[]int64); ok && cap(*old) >= n {
		return (*old)[:n]
	}
	return make([]int64, n)
}

// Release gives the times of a window back, to which nothing may refer any more: those
// of a window that is read later take their place.
func Release(w *trace.Window) {
	for _, times := range []*[]int64{&w.Durations, &w.Wall} {
		if old := *times; len(old) > 0 {
			spare[bits.Len(uint(len(old)))].Put(&old)
			*times = nil
		}
	}
}
