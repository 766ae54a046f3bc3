package batch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"syscall"

	"github.com/sfstat/sfstat/batch/findings"
	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/internal/atomicfile"
	"github.com/sfstat/sfstat/internal/disk"
	"github.com/sfstat/sfstat/internal/flatrow"
	"github.com/sfstat/sfstat/internal/objectstore"
	"github.com/sfstat/sfstat/internal/parallel"
	"github.com/sfstat/sfstat/internal/table"
)

// Resume is what to do with parts that an earlier batch left.
type Resume uint8

const (
	FromStart Resume = iota // refuse them
	GoOn                    // go on from them
)

// Shard is the part of the chunks that one of several processes takes: those whose
// number is Index modulo Of. The zero Shard is all of them.
type Shard struct{ Index, Of int }

func (s Shard) has(chunk int) bool { return s.Of == 0 || chunk%s.Of == s.Index }

// Options of a batch. The zero value is usable.
type Options struct {
	Diagnose diagnose.Options // but for its engines
	Settings string           // what else decides on the rows, as text: another makes parts of no use
	Output   Output
	Windows  Output // of the table of windows; the zero Output: it is not made
	Resume   Resume
	Strict   bool // no output where an input is left out or not whole
	Shard    Shard
	Threads  int                                         // 0: as many as Go uses cores
	Disk     disk.Disk                                   // where inputs and outputs are; nil: that of this machine
	Create   func(path string) (*atomicfile.File, error) // begins a file; nil: atomicfile.CreateOn the disk
	Objects  *objectstore.Client                         // fetches inputs such as s3://bucket/prefix; nil: they are refused
	Progress func(done Progress)                         // called from one goroutine at a time; nil: nobody asks
}

// Progress is how far the work is.
type Progress struct {
	Bytes, Total int64 // of the files
	Windows      int64 // judged now, without those of parts that were there
}

// ErrNothing: no input has a window. There is a summary, which says why, and no
// output.
var ErrNothing = errors.New("nothing in any input")

// ErrNotWhole: an input is left out or not whole, and Options.Strict asks for all of them.
// There is a summary, which names them.
var ErrNotWhole = errors.New("not whole")

// Run judges all recordings below paths and writes the output. Problems of single inputs are in the summary. An error is
// one of the output, of all inputs, or of ctx.
func Run(ctx context.Context, paths []string, o Options) (*findings.Summary, error) {
	o.setDefaults()
	base, clean, err := partsOf(o.Output)
	if err != nil {
		return nil, err
	}
	defer clean()
	p, err := newPlan(ctx, paths, &o, base, base+partsSuffix)
	if err != nil {
		return nil, err
	}
	to, err := openParts(o.Disk, base, p.mark(), o.Resume)
	if err != nil {
		return nil, err
	}
	b := newWork(p, &o, to)
	return b.finish(b.makeMissing(ctx))
}

func (o *Options) setDefaults() {
	o.Disk = disk.Or(o.Disk)
	if o.Create == nil {
		o.Create = func(path string) (*atomicfile.File, error) { return atomicfile.CreateOn(o.Disk, path) }
	}
}

func newWork(p *plan, o *Options, to *parts) *work {
	b := &work{plan: p, o: o, parts: to}
	for i := range p.chunks {
		if o.Shard.has(i) {
			b.total += p.chunks[i].bytes
		}
	}
	return b
}

// finish puts the parts together, unless making them failed, and clears up.
func (b *work) finish(err error) (*findings.Summary, error) {
	var s *findings.Summary
	if err == nil {
		s, err = b.join()
	}
	if err != nil && !errors.Is(err, ErrNothing) {
		b.parts.release()
		if remedy := remedyFor(err); remedy != "" && b.o.Output.hasPath() {
			err = fmt.Errorf("%w: %s and go on with --resume, finished parts are kept in %s", err, remedy, b.parts.dir)
		}
		return s, err
	}
	b.parts.remove()
	return s, err
}

// remedyFor returns the remedy where this machine lacks something that the error names; "": the cause is another.
func remedyFor(err error) string {
	switch {
	case noRoom(err):
		return "make room"
	case errors.Is(err, ErrNotWhole):
		return "for the rows of what could be read leave it out"
	case ingest.Shortage(err):
		return "let a program have more files open (ulimit -n)"
	}
	return ""
}

// noRoom reports whether a file could not grow.
func noRoom(err error) bool {
	return slices.ContainsFunc([]syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG}, func(e syscall.Errno) bool { return errors.Is(err, e) })
}

// work is a batch under way.
type work struct {
	*plan
	o     *Options
	parts *parts
	total int64
	judge chan struct{} // who judges has a place in it; others fetch, or wait for the disk
	// beside is how the stretches of one run are judged side by side.
	beside *diagnose.Beside
	reads  int // threads of one file, where there are fewer chunks than threads

	mu   sync.Mutex
	done Progress
}

// makeMissing makes the parts that are not there, with several threads. The first error
// ends it.
func (b *work) makeMissing(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	threads := cmp.Or(b.o.Threads, runtime.GOMAXPROCS(0))
	b.judge = make(chan struct{}, threads)
	b.beside = diagnose.NewBeside(threads, ingest.Release)
	b.reads = threads / max(1, min(threads, len(b.chunks)))
	// Half of them fetch what the others judge next, or see a part to the disk.
	parallel.Do(len(b.chunks), 2*threads, func(i int) {
		if ctx.Err() != nil || !b.o.Shard.has(i) {
			return
		}
		if err := b.chunk(ctx, i); err != nil {
			stop(err)
		}
		b.tell(b.chunks[i].bytes, 0)
	})
	return context.Cause(ctx)
}

// chunk makes one part.
func (b *work) chunk(ctx context.Context, i int) error {
	if b.parts.has(i) {
		return nil
	}
	local, err := b.fetch(ctx, b.chunks[i].units)
	defer local.remove()
	if err != nil {
		return err
	}
	f, err := b.o.Create(b.parts.path(i))
	if err != nil {
		return err
	}
	return f.Fill(func(w io.Writer) error {
		b.judge <- struct{}{}
		defer func() { <-b.judge }()
		return writePart(w, func(found func(entry) error) error {
			j := &judge{disk: b.o.Disk, o: b.o.Diagnose, beside: b.beside, reads: b.reads, found: found, windowed: b.o.Windows.Format != flatrow.Nowhere, of: local,
				tell: func(n int) { b.tell(0, int64(n)) }}
			for _, u := range b.chunks[i].units {
				if err := j.unit(ctx, u); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

func (b *work) tell(bytes, windows int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done.Total = b.total
	b.done.Bytes += bytes
	b.done.Windows += windows
	if b.o.Progress != nil {
		b.o.Progress(b.done)
	}
}

// requireWhole returns the error where not everything is in a summary, and must be.
func (o *Options) requireWhole(s *findings.Summary) error {
	if n := len(s.Refused); o.Strict && n > 0 {
		return fmt.Errorf("%s left out or %w (--strict)", table.Counted(n, "input"), ErrNotWhole)
	}
	return nil
}

// join puts the parts together.
func (b *work) join() (*findings.Summary, error) {
	s := findings.NewSummary()
	for _, p := range b.refused {
		s.Refuse(p)
	}
	err := write(&b.o.Output, findingsMark, b.o.Create, func(to flatrow.Writer[findings.Row]) error {
		err := visitEntries(b, func(r struct {
			Row     *findings.Row     `json:"row"`
			Refused *findings.Refused `json:"refused"`
		}) error {
			switch {
			case r.Refused != nil:
				s.Refuse(*r.Refused)
			case r.Row != nil:
				s.Add(r.Row)
				return to.Write(r.Row)
			}
			return nil
		})
		if err == nil && s.Empty() && b.o.Shard.Of <= 1 {
			err = ErrNothing
		}
		return cmp.Or(err, b.o.requireWhole(s))
	})
	if err == nil && b.o.Windows.Format != flatrow.Nowhere {
		err = write(&b.o.Windows, windowsMark, b.o.Create, func(to flatrow.Writer[findings.Window]) error {
			return visitEntries(b, func(r struct {
				Window *findings.Window `json:"window"`
			}) error {
				if r.Window == nil {
					return nil
				}
				return to.Write(r.Window)
			})
		})
	}
	return s, err
}

// visitEntries calls to with the entries of all parts, in order, with the fields that T has.
func visitEntries[T any](b *work, to func(T) error) error {
	for i := range b.chunks {
		if !b.o.Shard.has(i) {
			continue
		}
		if err := readPart(b.parts.on, b.parts.path(i), to); err != nil {
			return err
		}
	}
	return nil
}
