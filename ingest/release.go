package ingest

import (
	"math/bits"
	"sync"

	"github.com/sfstat/sfstat/trace"
)

// released are lists that nothing refers to any more, by the binary order of their length.
type released[T any] [bits.UintSize + 1]sync.Pool

func (of *released[T]) take(n int) []T {
	if old, ok := of[bits.Len(uint(n))].Get().(*[]T); ok && cap(*old) >= n {
		return (*old)[:n]
	}
	return make([]T, n)
}

// put takes a list out of where it lies.
func (of *released[T]) put(list *[]T) {
	if old := *list; len(old) > 0 {
		of[bits.Len(uint(len(old)))].Put(&old)
		*list = nil
	}
}

var (
	times   released[int64]
	samples released[trace.Sample]
)

// Times returns n durations of any value, for a reader to fill.
func Times(n int) []int64 { return times.take(n) }

// Samples returns an empty list of samples with room for n.
func Samples(n int) []trace.Sample { return samples.take(n)[:0] }

// Release gives the times and samples of a window back, to which nothing may refer any
// more: those of a window that is read later take their place.
func Release(w *trace.Window) {
	times.put(&w.Durations)
	times.put(&w.Wall)
	for i := range w.Side {
		samples.put(&w.Side[i].Samples)
	}
}
