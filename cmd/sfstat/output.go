package main

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/internal/atomicfile"
	"github.com/sfstat/sfstat/report"
)

// outputs keeps the files that are being written, so that an early end can
// remove them.
type outputs struct {
	mu   sync.Mutex
	open []*atomicfile.File
	over bool // no more files: the program is ending

	inputs  []string // files that are read, which no output may replace
	inPlace bool     // unless that was asked for
}

func (o *outputs) create(path string) (*atomicfile.File, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.over {
		return nil, io.ErrClosedPipe
	}
	if err := o.refuse(path); err != nil {
		return nil, err
	}
	f, err := atomicfile.Create(path)
	if err != nil {
		return nil, badInput(err)
	}
	o.open = append(o.open, f)
	return f, nil
}

// discard removes what has not been committed.
func (o *outputs) discard() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.over = true
	for _, f := range o.open {
		f.Discard()
	}
}

// emit sends a report, which write writes, to where --output says. A file gets its name
// only when all of it is written; a reader of standard output that goes away
// is not an error.
func (p *program) emit(c *cli.Context, write func(io.Writer) error) error {
	if err := keepRecording(c.String("output")); err != nil {
		return err
	}
	err := p.writeTo(c.String("output"), write)
	if closedPipe(err) {
		return nil
	}
	return err
}

// publish is emit for a result that report writes, as --format and the flags of
// style say.
func (p *program) publish(c *cli.Context, problems []report.Problem, write func(report.Output) error) error {
	return p.emit(c, func(w io.Writer) error {
		return write(report.Output{W: w, Format: format(c), Style: p.style(c), Problems: problems})
	})
}

func (p *program) writeTo(path string, write func(io.Writer) error) error {
	if path == "" || path == "-" {
		return buffered(p.out, write)
	}
	f, err := p.outputs.create(path)
	if err != nil {
		return err
	}
	if err := buffered(f, write); err != nil {
		return err // what was written goes at the end of the program
	}
	return f.Commit()
}

// makeFolder makes a folder, unless it is there.
func makeFolder(path string) (made bool, err error) {
	err = os.Mkdir(path, 0o777)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	return err == nil, badInput(err)
}

func buffered(w io.Writer, write func(io.Writer) error) error {
	b := bufio.NewWriterSize(w, 64<<10)
	if err := write(b); err != nil {
		return err
	}
	return b.Flush()
}

// destination is what --output names, for deciding how text looks there; nil
// for a file.
func (p *program) destination(c *cli.Context) any {
	if path := c.String("output"); path != "" && path != "-" {
		return nil
	}
	return p.out
}
