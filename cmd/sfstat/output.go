package main

import (
	"bufio"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/internal/atomicfile"
	"github.com/sfstat/sfstat/internal/disk"
	"github.com/sfstat/sfstat/report"
)

// outputs keeps the files that are being written, so that an early end can
// remove them.
type outputs struct {
	disk disk.Disk
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
	f, err := atomicfile.CreateOn(o.disk, path)
	if err != nil {
		return nil, badInput(err)
	}
	o.open = append(o.open, f)
	return f, nil
}

// sweep removes what killed programs left of an output.
func (o *outputs) sweep(path string) {
	if path != "" && path != "-" {
		_ = atomicfile.RemoveStaleOf(o.disk, path) // which only tidies up
	}
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
// only when all of it is written.
func (p *program) emit(c *cli.Context, write func(io.Writer) error) error {
	if err := keepRecording(c.String("output")); err != nil {
		return err
	}
	return p.writeTo(c.String("output"), write)
}

// publish emits a result that report writes, in the form of --format and the flags of style.
func (p *program) publish(c *cli.Context, problems []report.Problem, write func(report.Output) error) error {
	return p.emit(c, func(w io.Writer) error {
		return write(report.Output{W: w, Format: format(c), Style: p.style(c), Problems: problems})
	})
}

// output is a file, or standard output: what is written goes through a compressor and a buffer. It gets
// its name when it is committed.
type output struct {
	io.Writer
	name   string
	finish func() error     // writes what is buffered
	file   *atomicfile.File // nil: standard output
}

// begin returns an output that compresses by its extension; "" or "-" is standard output.
func (p *program) begin(name, pack string) (*output, error) {
	o, to := &output{name: name}, p.out
	if name != "" && name != "-" {
		file, err := p.outputs.create(name)
		if err != nil {
			return nil, err
		}
		o.file, to = file, file
	}
	buffer := bufio.NewWriterSize(to, 64<<10)
	var z io.WriteCloser
	switch pack {
	case ".gz":
		z = gzip.NewWriter(buffer)
	case ".zst":
		var err error
		if z, err = zstd.NewWriter(buffer); err != nil {
			return nil, err
		}
	default:
		o.Writer, o.finish = buffer, buffer.Flush
		return o, nil
	}
	o.Writer, o.finish = z, func() error {
		if err := z.Close(); err != nil {
			return err
		}
		return buffer.Flush()
	}
	return o, nil
}

// fill writes all of an output. What was written where that fails goes at the end of the program.
func (o *output) fill(write func(io.Writer) error) error {
	if err := write(o); err != nil {
		return err
	}
	return o.finish()
}

func (o *output) commit() error {
	if o.file == nil {
		return nil
	}
	return o.file.Commit()
}

// plain reports whether the output is, or will be, a plain file.
func (o *output) plain() bool {
	info, err := os.Stat(o.name)
	return errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular()
}

func (p *program) writeTo(path string, write func(io.Writer) error) error {
	p.outputs.sweep(path)
	o, err := p.begin(path, "")
	if err == nil {
		err = o.fill(write)
	}
	if err != nil {
		return err
	}
	return o.commit()
}

// makeFolder makes a folder, unless it is there.
func makeFolder(on disk.Disk, path string) (made bool, err error) {
	err = on.Mkdir(path, 0o777)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	return err == nil, badInput(err)
}

// destination returns the file of --output, to decide the look of text; nil for a file that is not a terminal.
func (p *program) destination(c *cli.Context) any {
	if path := c.String("output"); path != "" && path != "-" {
		return nil
	}
	return p.out
}
