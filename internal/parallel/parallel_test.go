package parallel

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sfstat/sfstat/internal/bug"
)

// TestDo: each piece is done once, however many threads there are.
func TestDo(t *testing.T) {
	for _, threads := range []int{0, 1, 2, 64} {
		var done [1000]atomic.Int32
		Do(len(done), threads, func(i int) { done[i].Add(1) })
		for i := range done {
			if n := done[i].Load(); n != 1 {
				t.Fatalf("%d threads do piece %d %d times", threads, i, n)
			}
		}
	}
	Do(0, 0, func(int) { t.Error("no piece was asked for") })
}

// TestPanic: a panic in a piece of work is one of who asked for it, with the stack of the
// piece, and ends the work.
func TestPanic(t *testing.T) {
	var done atomic.Int64
	err := bug.Guard("", func() {
		Do(1_000_000, 4, func(i int) {
			done.Add(1)
			boom(i)
		})
	})
	var b *bug.Error
	if !errors.As(err, &b) || !strings.Contains(string(b.Stack), "parallel.boom") || b.What != "boom" {
		t.Fatalf("%v, expected a bug with the stack of the piece that panicked", err)
	}
	if done.Load() == 1_000_000 {
		t.Error("all pieces were begun though one of the first panicked")
	}
	if err := bug.Guard("", func() { Each(3, 2, func() func(int) { panic("before the first piece") }) }); err == nil {
		t.Error("a panic of begin is lost")
	}
}

func boom(i int) {
	if i == 10 {
		panic("boom")
	}
}
