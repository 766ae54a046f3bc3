package diagnose

import (
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/internal/parallel"
	"github.com/sfstat/sfstat/trace"
)

// Beside has sessions work on the windows of a run side by side, and on its stretches: what they
// find does not depend on it. Several sessions may share one.
type Beside struct {
	room    chan struct{} // stretches that are looked at
	release func(*trace.Window)
	memory  memory
}

// memory is that of stretches which were looked at. The collector would free it, to be allocated
// again for the next.
type memory struct {
	times     spare[times]
	divisions spare[points.Memory]
}

func newMemory(n int) memory { return memory{make(spare[times], n+1), make(spare[points.Memory], n)} }

// spare are a few values that are not used.
type spare[T any] chan *T

func (s spare[T]) take() *T {
	select {
	case x := <-s:
		return x
	default:
		return new(T)
	}
}

func (s spare[T]) put(x *T) {
	select {
	case s <- x:
	default:
	}
}

// NewBeside bounds how many stretches are looked at at a time, each of which takes some tens of
// megabytes. A window that was added is left alone until it comes back by release.
func NewBeside(stretches int, release func(*trace.Window)) *Beside {
	stretches = max(1, stretches)
	return &Beside{make(chan struct{}, stretches), release, newMemory(stretches)}
}

// mostAwaited is how many durations the windows of a run have whose accounts are being made; of a
// larger window it is made beside the reading of the next.
const mostAwaited = 1 << 18

// awaited is a window whose account is being made.
type awaited struct {
	w       *trace.Window
	account *frontier.Analysis
	busy    parallel.Group
}

// accountBeside is account while the caller goes on.
func (s *Session) accountBeside(r *run, w *trace.Window) error {
	account, err := r.next(w, s.o)
	if err != nil {
		return err
	}
	of := &awaited{w: w}
	of.busy.Go(func() { of.account = account() })
	r.record(w, s)
	r.between.add(w)
	r.awaited, r.durations = append(r.awaited, of), r.durations+len(w.Durations)
	for len(r.awaited) > 1 && r.durations > mostAwaited {
		r.await(s.o)
	}
	return nil
}

// await takes the oldest account that is being made.
func (r *run) await(o Options) {
	of := r.awaited[0]
	r.awaited, r.durations = r.awaited[1:], r.durations-len(of.w.Durations)
	of.busy.Wait()
	r.keep(of.w, of.account)
	o.Beside.release(of.w)
}

// awaitAll takes them all.
func (r *run) awaitAll(o Options) {
	for len(r.awaited) > 0 {
		r.await(o)
	}
}
