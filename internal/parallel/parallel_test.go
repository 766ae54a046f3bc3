package parallel

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sfstat/sfstat/internal/bug"
)

func TestMap(t *testing.T) {
	out, err := Map(1000, func(i int) (int, error) { return i * i, nil })
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range out {
		if x != i*i {
			t.Fatalf("piece %d: %d", i, x)
		}
	}
	if _, err := Map(0, func(int) (int, error) { return 0, errors.New("none was asked for") }); err != nil {
		t.Error(err)
	}
	_, err = Map(100, func(i int) (int, error) {
		if i > 6 {
			return 0, fmt.Errorf("piece %d", i)
		}
		return i, nil
	})
	if err == nil || err.Error() != "piece 7" {
		t.Error(err)
	}
}

// TestPanic: a panic in a piece of work is one of who asked for it, with the stack of the
// piece, and ends the work.
func TestPanic(t *testing.T) {
	var done atomic.Int64
	err := bug.Contained("", func() {
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
	if err := bug.Contained("", func() { Each(3, 2, func() func(int) { panic("before the first piece") }) }); err == nil {
		t.Error("a panic of begin is lost")
	}
}

func boom(i int) {
	if i == 10 {
		panic("boom")
	}
}
