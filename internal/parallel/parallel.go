// Package parallel does pieces of work on several processors.
package parallel

import (
	"cmp"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/sfstat/sfstat/internal/bug"
)

// Group is a [sync.WaitGroup] that hands panics on: where a piece of its work panics, Wait
// does when all have ended, in the goroutine that waits. The zero Group is usable.
type Group struct {
	wait sync.WaitGroup
	once sync.Once
	bug  error // the first
}

// Go carries out a piece of work in a goroutine.
func (g *Group) Go(work func()) {
	g.wait.Go(func() {
		if err := bug.Guard("", work); err != nil {
			g.once.Do(func() { g.bug = err })
		}
	})
}

// Wait waits for all pieces.
func (g *Group) Wait() {
	if g.wait.Wait(); g.bug != nil {
		panic(g.bug)
	}
}

// Do carries out n pieces of work on so many threads; 0 is as many as Go uses cores.
func Do(n, threads int, work func(i int)) {
	Each(n, threads, func() func(int) { return work })
}

// Each does pieces in parallel as Do does, with memory for each thread: begin makes the function that a thread calls with its
// pieces.
func Each(n, threads int, begin func() (work func(i int))) {
	var next atomic.Int64
	var group Group
	for range min(n, cmp.Or(threads, runtime.GOMAXPROCS(0))) {
		group.Go(func() {
			defer next.Add(int64(n)) // a panic leaves nothing to the other threads
			work := begin()
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				work(i)
			}
		})
	}
	group.Wait()
}
