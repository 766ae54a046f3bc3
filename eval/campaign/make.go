package campaign

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"github.com/sfstat/sfstat/archive"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/ingest/packet"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// Maker makes runs: it carries out what a task asks for and gives back what
// was recorded. Several goroutines may call Make at a time, each with a task
// of its own, up to Execution.Workers.
type Maker interface {
	// Make carries out one run and gives each of its windows to keep, in order
	// and from one goroutine; an error of keep ends it and is returned. It ends
	// soon after ctx does.
	Make(ctx context.Context, t *Task, keep func(*trace.Window) error) error
}

// Preparer is a Maker that is told at the beginning which runs it will be
// asked for, in the order of the plan: to hand them all over at once, to check
// what it needs. It is not called when every run is done. ctx ends with the
// execution.
type Preparer interface {
	Prepare(ctx context.Context, tasks []Task) error
}

// Simulation makes runs with package simulate.
type Simulation struct{}

var _ Maker = Simulation{}

// Make generates the windows of a run. It notices the end of ctx between two
// of them.
func (Simulation) Make(ctx context.Context, t *Task, keep func(*trace.Window) error) error {
	g, err := simulate.New(t.Spec)
	if err != nil {
		return err
	}
	return g.Each(func(w *trace.Window) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return keep(w)
	})
}

// failure is a run that could not be made. The others are made nevertheless.
type failure struct {
	Run string
	Err error
}

func (f *failure) Error() string { return "run " + f.Run + ": " + f.Err.Error() }
func (f *failure) Unwrap() error { return f.Err }

// recorder is where the windows of a run go.
type recorder interface {
	Write(*trace.Window) error
	Close() error
}

// recordTo returns the archive of a run, or its packets.
func recordTo(w io.Writer, t *Task) recorder {
	if t.Spec.Arrivals {
		b := bufio.NewWriterSize(w, 1<<16)
		return packetRecorder{packet.NewWriter(b), b}
	}
	return archive.NewWriter(w)
}

type packetRecorder struct {
	*packet.Writer
	buffer *bufio.Writer
}

func (r packetRecorder) Close() error { return r.buffer.Flush() }

// archiveRun writes the windows of one run. What goes wrong with the run is a
// *Failure; what goes wrong with writing is not.
func archiveRun(ctx context.Context, m Maker, t *Task, w io.Writer) error {
	out := recordTo(w, t)
	var unwritten error
	n := 0
	err := m.Make(ctx, t, func(w *trace.Window) error {
		switch {
		case w.Run != t.ID:
			return fmt.Errorf("a window of run %q came, expected %q", w.Run, t.ID)
		case len(w.Ranks) != t.Spec.Ranks:
			return input.Bad(input.ErrMissing, "window %d has %d ranks, expected %d", w.Index, len(w.Ranks), t.Spec.Ranks)
		}
		n++
		unwritten = out.Write(w)
		return unwritten
	})
	if unwritten != nil {
		return unwritten
	}
	if want := t.Spec.Schedule.Windows; err == nil && n != want {
		err = input.Bad(input.ErrMissing, "%d windows were recorded, expected %d", n, want)
	}
	if err != nil {
		return &failure{t.ID, err}
	}
	return out.Close()
}
