package campaign

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/sfstat/sfstat/internal/atomicfile"
	"github.com/sfstat/sfstat/internal/bug"
	"github.com/sfstat/sfstat/internal/table"
)

// Execution is how a campaign is carried out. The zero value is usable.
type Execution struct {
	Version string // of this program, noted in every row
	Maker   Maker  // of the runs; nil: Simulation
	Workers int    // runs that are made at the same time; 0: as many as Go uses cores
	// Create begins an output; nil: atomicfile.Create. Whoever can be
	// interrupted keeps what is open, to discard it. It is called from several
	// goroutines.
	Create func(path string) (*atomicfile.File, error)
	// Progress is told how many runs are made, without those that stood: after
	// each of them, and every second.
	Progress func(done, total int)
}

func (e *Execution) maker() Maker {
	if e.Maker == nil {
		return Simulation{}
	}
	return e.Maker
}

func (e *Execution) workers() int {
	if e.Workers == 0 {
		return runtime.GOMAXPROCS(0)
	}
	return e.Workers
}

func (e *Execution) tell(done, total int) {
	if e.Progress != nil {
		e.Progress(done, total)
	}
}

func (e *Execution) write(path string, write func(io.Writer) error) error {
	create := e.Create
	if create == nil {
		create = atomicfile.Create
	}
	out, err := create(path)
	if err != nil {
		return err
	}
	return out.Fill(write)
}

// Outcome counts the runs of an execution.
type Outcome struct {
	Made    int // of them
	Changed int // were there with another specification, version or content
	Stood   int // were done before
	Wanting int // are not done
	// Failed are those of the wanting that were tried, in the order of the
	// plan.
	Failed []*failure
}

// Execute makes the runs of a campaign that are not done yet, in the folder
// dir: an archive and a row for each, under their names only when they are
// complete, the archive first. So an execution that was killed is taken up by
// another. A run is done when its row tells of this specification and this
// version, and of the archive that is there.
//
// A run that cannot be made is noted in the outcome and is no error; the
// others are made. What lies in the folder at the end does not depend on the
// number of workers. When ctx ends, so does Execute, with the error of ctx and
// an outcome that is true.
func Execute(ctx context.Context, dir string, s *Spec, e Execution) (Outcome, error) {
	var o Outcome
	f, release, err := prepare(dir, s, &e)
	if err != nil {
		return o, err
	}
	defer release()
	wanting, err := f.wanting(&e, &o)
	if err != nil {
		return o, err
	}
	ctx, stop := context.WithCancel(ctx) // what a Preparer began ends with this execution
	defer stop()
	if p, ok := e.maker().(Preparer); ok && len(wanting) > 0 {
		if err := p.Prepare(ctx, wanting); err != nil {
			return o, err
		}
	}
	return o, f.makeAll(ctx, wanting, &e, &o)
}

// wanting are the runs that are not done, in the order of the plan.
func (f *Folder) wanting(e *Execution, o *Outcome) ([]Task, error) {
	var out []Task
	for i := range f.Tasks {
		switch state, err := f.state(&f.Tasks[i], e.Version); {
		case err != nil:
			return nil, err
		case state == standing:
			o.Stood++
			continue
		case state == changed:
			o.Changed++
		}
		out = append(out, f.Tasks[i])
	}
	o.Wanting = len(out)
	return out, nil
}

// makeAll makes runs, several at a time, and counts what becomes of them. The
// first error that is not a run's own ends it.
func (f *Folder) makeAll(ctx context.Context, tasks []Task, e *Execution, o *Outcome) error {
	working, stop := context.WithCancel(ctx)
	defer stop()
	var first error
	take := func(r result) {
		var failed *failure
		switch {
		case r.err == nil:
			o.Made++
			o.Wanting--
			e.tell(o.Made, len(tasks))
		case working.Err() != nil: // it was told to end
		case errors.As(r.err, &failed):
			o.Failed = append(o.Failed, failed)
		default:
			first = fmt.Errorf("run %s: %w", tasks[r.task].ID, r.err)
			stop()
		}
	}
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for results := f.results(working, tasks, e); results != nil; {
		select {
		case <-second.C:
			e.tell(o.Made, len(tasks))
		case r, ok := <-results:
			if !ok {
				results = nil
				break
			}
			take(r)
		}
	}
	place := func(f *failure) int { return slices.IndexFunc(tasks, func(t Task) bool { return t.ID == f.Run }) }
	slices.SortFunc(o.Failed, func(a, b *failure) int { return cmp.Compare(place(a), place(b)) })
	if err := ctx.Err(); err != nil {
		return err
	}
	return first
}

// result is what became of one run.
type result struct {
	task int
	err  error
}

// results makes runs with the workers of the execution, in order, and yields
// each as it ends. The channel is closed when no worker is at work.
func (f *Folder) results(ctx context.Context, tasks []Task, e *Execution) <-chan result {
	next, results := make(chan int), make(chan result)
	var workers sync.WaitGroup
	for range min(e.workers(), len(tasks)) {
		workers.Go(func() {
			for i := range next {
				results <- result{i, f.carryOut(ctx, &tasks[i], e)}
			}
		})
	}
	go func() {
		defer close(results)
		defer workers.Wait()
		defer close(next)
		for i := range tasks {
			select {
			case next <- i:
			case <-ctx.Done():
				return
			}
		}
	}()
	return results
}

// carryOut makes one run, its archive and its row.
func (f *Folder) carryOut(ctx context.Context, t *Task, e *Execution) (err error) {
	defer bug.Contain("run "+t.ID, &err)
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := e.write(f.Archive(t), func(w io.Writer) error { return archiveRun(ctx, e.maker(), t, w) }); err != nil {
		return err
	}
	p, err := f.made(t, e.Version)
	if err != nil {
		return err
	}
	return e.write(f.Row(t), func(w io.Writer) error { return table.WriteCSV(w, ProvenanceHead, [][]string{p.Cells()}) })
}
