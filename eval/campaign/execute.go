package campaign

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/sfstat/sfstat/internal/atomicfile"
	"github.com/sfstat/sfstat/internal/bug"
	"github.com/sfstat/sfstat/internal/disk"
	"github.com/sfstat/sfstat/internal/parallel"
	"github.com/sfstat/sfstat/internal/table"
)

// Execution is how a campaign is carried out. The zero value is usable.
type Execution struct {
	Version string    // of this program, noted in every row
	Maker   Maker     // of the runs; nil: Simulation
	Workers int       // runs that are made at the same time; 0: as many as Go uses cores
	Disk    disk.Disk // where the folder is; nil: that of this machine
	// Create begins an output; nil: atomicfile.Create. Whoever can be
	// interrupted keeps what is open, to discard it. It is called from several
	// goroutines.
	Create func(path string) (*atomicfile.File, error)
	// Progress is told how many runs are made, without those that stood: after
	// each of them, and every second, from one goroutine at a time.
	Progress func(done, total int)
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
	if e.Maker == nil {
		e.Maker = Simulation{}
	}
	f, release, err := prepare(dir, s, &e)
	if err != nil {
		return o, err
	}
	defer release()
	wanting, err := f.remainingTasks(&e, &o)
	if err != nil {
		return o, err
	}
	ctx, stop := context.WithCancel(ctx) // what a Preparer began ends with this execution
	defer stop()
	if p, ok := e.Maker.(Preparer); ok && len(wanting) > 0 {
		if err := p.Prepare(ctx, wanting); err != nil {
			return o, err
		}
	}
	return o, f.makeAll(ctx, wanting, &e, &o)
}

// remainingTasks returns the runs that are not done, in the order of the plan.
func (f *Folder) remainingTasks(e *Execution, o *Outcome) ([]Task, error) {
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
	working, stop := context.WithCancelCause(ctx)
	var counted sync.Mutex
	tell := func() {
		if e.Progress != nil {
			e.Progress(o.Made, len(tasks))
		}
	}
	var clock sync.WaitGroup
	clock.Go(func() {
		second := time.NewTicker(time.Second)
		defer second.Stop()
		for {
			select {
			case <-working.Done():
				return
			case <-second.C:
				counted.Lock()
				tell()
				counted.Unlock()
			}
		}
	})
	failed := make([]*failure, len(tasks))
	parallel.Do(len(tasks), e.Workers, func(i int) {
		err := f.carryOut(working, &tasks[i], e)
		counted.Lock()
		defer counted.Unlock()
		switch {
		case err == nil:
			o.Made++
			o.Wanting--
			tell()
		case working.Err() != nil: // it was told to end
		case !errors.As(err, &failed[i]):
			stop(fmt.Errorf("run %s: %w", tasks[i].ID, err))
		}
	})
	for _, failure := range failed {
		if failure != nil {
			o.Failed = append(o.Failed, failure)
		}
	}
	err := context.Cause(working)
	stop(nil)
	clock.Wait()
	return cmp.Or(ctx.Err(), err)
}

// carryOut makes one run, its archive and its row.
func (f *Folder) carryOut(ctx context.Context, t *Task, e *Execution) (err error) {
	defer bug.Contain("run "+t.ID, &err)
	if err := ctx.Err(); err != nil {
		return err
	}
	if t.Trace != nil {
		err = f.makeTrace(t, e)
	} else {
		err = e.write(f.Archive(t), func(w io.Writer) error { return archiveRun(ctx, e.Maker, t, w) })
	}
	if err != nil {
		return err
	}
	p, err := f.provenance(t, e.Version)
	if err != nil {
		return err
	}
	return e.write(f.Row(t), func(w io.Writer) error { return table.WriteCSV(w, ProvenanceHead, [][]string{p.Cells()}) })
}
