// Package parallel does pieces of work on several processors.
package parallel

import (
	"cmp"
	"runtime"
	"sync"
	"sync/atomic"
)

// Map carries out n pieces of work, each by its number alone, and returns their outcomes
// in order, with the error of the first that failed.
func Map[T any](n int, work func(i int) (T, error)) ([]T, error) {
	out, failed := make([]T, n), make([]error, n)
	Do(n, 0, func(i int) { out[i], failed[i] = work(i) })
	return out, cmp.Or(failed...)
}

// Do carries out n pieces of work on so many threads; 0 is as many as Go uses cores.
func Do(n, threads int, work func(i int)) {
	Each(n, threads, func() func(int) { return work })
}

// Each is Do with memory for each thread: begin gives what a thread does with the pieces
// that it takes.
func Each(n, threads int, begin func() (work func(i int))) {
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(n, cmp.Or(threads, runtime.GOMAXPROCS(0))) {
		wait.Go(func() {
			work := begin()
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				work(i)
			}
		})
	}
	wait.Wait()
}
