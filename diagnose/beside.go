package diagnose

import (
	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/trace"
)

// Beside has sessions work on the stretches of a run side by side, with the accounts of the windows in
// them: what they find does not depend on it. Several sessions may share one.
type Beside struct {
	room    chan struct{} // stretches that are looked at
	release func(*trace.Window)
	memory  memory
}

// memory is that of a few stretches which were looked at. The collector would free it, to be allocated
// again for the next.
type memory chan *points.Memory

func (m memory) take() *points.Memory {
	select {
	case x := <-m:
		return x
	default:
		return new(points.Memory)
	}
}

func (m memory) put(x *points.Memory) {
	select {
	case m <- x:
	default:
	}
}

// NewBeside bounds how many stretches are looked at at a time, each of which takes some tens of
// megabytes. A window that was added is lent: it is left alone until it comes back by release,
// which is called by several goroutines.
func NewBeside(stretches int, release func(*trace.Window)) *Beside {
	stretches = max(1, stretches)
	return &Beside{make(chan struct{}, stretches), release, make(memory, stretches)}
}

// enter waits until one stretch more may be looked at; a nil Beside bounds nothing.
func (b *Beside) enter() {
	if b != nil {
		b.room <- struct{}{}
	}
}

func (b *Beside) leave() {
	if b != nil {
		<-b.room
	}
}
