// Package parallel does pieces of work on all processors.
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
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				out[i], failed[i] = work(i)
			}
		})
	}
	wait.Wait()
	return out, cmp.Or(failed...)
}
