package batch

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gofrs/flock"

	"github.com/sfstat/sfstat/batch/findings"
	"github.com/sfstat/sfstat/internal/atomicfile"
	"github.com/sfstat/sfstat/internal/flatrow"
)

// What lies in the folder of the parts of an output that is not finished.
const (
	partsSuffix = ".parts"
	lockName    = "lock"
	planName    = "plan"
)

// parts is the folder beside an output where its parts lie until all are there.
type parts struct {
	output string
	dir    string
	lock   *flock.Flock
}

// ErrUnfinished: there are parts of an earlier batch, and nobody said whether to go
// on with them.
var ErrUnfinished = errors.New("unfinished")

// openParts makes the folder of the parts of an output, or goes on with one that
// was left by the same plan. Nobody else can until it is released.
func openParts(output, mark string, resume Resume) (*parts, error) {
	p := &parts{output: output, dir: output + partsSuffix}
	switch err := os.Mkdir(p.dir, 0o777); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: %w: create the folder %s, or name another output", output, fs.ErrNotExist, filepath.Dir(output))
	case err != nil && !errors.Is(err, fs.ErrExist):
		return nil, err
	}
	if err := p.take(); err != nil {
		return nil, err
	}
	err := atomicfile.RemoveStaleOf(output) // of one that was killed when all its parts were there
	if err == nil {
		err = p.claim(mark, resume)
	}
	if err != nil {
		p.release()
		return nil, err
	}
	return p, nil
}

// take takes the lock of the folder, which ends with the process.
func (p *parts) take() error {
	path := filepath.Join(p.dir, lockName)
	p.lock = flock.New(path)
	got, err := p.lock.TryLock()
	if err != nil {
		return err
	}
	if got {
		// Who finished meanwhile has removed the file that was locked: then there is
		// another under its name, or none.
		again := flock.New(path)
		if other, err := again.TryLock(); err != nil || other {
			_ = again.Close()
			got = false
		}
	}
	if !got {
		_ = p.lock.Close()
		return fmt.Errorf("another sfstat batch is writing %s: wait for it, or name another output", p.output)
	}
	return nil
}

// claim notes the plan that the parts are of.
func (p *parts) claim(mark string, resume Resume) error {
	path := filepath.Join(p.dir, planName)
	old, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return atomicfile.WriteText(path, mark+"\n")
	case err != nil:
		return err
	case resume == FromStart:
		return fmt.Errorf("%s holds %s of an earlier batch: go on with --resume, or remove that folder (%w)", p.dir, counted(p.done(), "part"), ErrUnfinished)
	case strings.TrimSpace(string(old)) != mark:
		return fmt.Errorf("%s is of other inputs, options or another version: remove that folder to begin anew (%w)", p.dir, ErrUnfinished)
	}
	return nil
}

// isOf is an error where the parts are not of a plan.
func (p *parts) isOf(mark string) error {
	old, err := os.ReadFile(filepath.Join(p.dir, planName))
	if err == nil && strings.TrimSpace(string(old)) != mark {
		err = fmt.Errorf("%s is of other inputs, options or another version than this process sees", p.dir)
	}
	return err
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// done is how many parts are there.
func (p *parts) done() int {
	list, _ := filepath.Glob(filepath.Join(escaped(p.dir), "*.part"))
	return len(list)
}

// escaped is a path in which a pattern means nothing.
func escaped(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

func (p *parts) path(chunk int) string { return filepath.Join(p.dir, fmt.Sprintf("%06d.part", chunk)) }

func (p *parts) has(chunk int) bool {
	_, err := os.Stat(p.path(chunk))
	return err == nil
}

// release gives the folder free for others.
func (p *parts) release() { _ = p.lock.Close() }

// remove takes the folder away; the lock goes last.
func (p *parts) remove() {
	entries, _ := os.ReadDir(p.dir)
	for _, e := range entries {
		if e.Name() != lockName {
			_ = os.RemoveAll(filepath.Join(p.dir, e.Name()))
		}
	}
	_ = os.Remove(filepath.Join(p.dir, lockName))
	_ = p.lock.Close()
	_ = os.Remove(p.dir)
}

// A part is a list of records: their length, one of these bytes, and what it says.
const (
	rowRecord     = 'r'
	problemRecord = 'p'
)

// mostRecord bounds what is read of a part that is damaged.
const mostRecord = 64 << 20

// partWriter writes records.
type partWriter struct {
	to     *bufio.Writer
	record []byte
}

func newPartWriter(w io.Writer) *partWriter {
	return &partWriter{to: bufio.NewWriterSize(w, 64<<10)}
}

func (p *partWriter) row(r findings.Row) error {
	r.Stages = cmp.Or(r.Stages, "{}")
	p.record = flatrow.Append(append(p.record[:0], rowRecord), &r)
	return p.write()
}

func (p *partWriter) problem(x Problem) error {
	p.record = flatrow.Append(append(p.record[:0], problemRecord), &x)
	return p.write()
}

func (p *partWriter) write() error {
	if _, err := p.to.Write(binary.AppendUvarint(nil, uint64(len(p.record)))); err != nil {
		return err
	}
	_, err := p.to.Write(p.record)
	return err
}

// read hands the rows and problems of a part to each, one of which is nil.
func (p *parts) read(chunk int, each func(*findings.Row, *Problem) error) error {
	f, err := os.Open(p.path(chunk))
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 64<<10)
	var rows flatrow.Reader[findings.Row]
	var problems flatrow.Reader[Problem]
	for b := []byte(nil); ; {
		if b, err = nextRecord(in, b); errors.Is(err, io.EOF) {
			return nil
		}
		var row *findings.Row
		var problem *Problem
		switch {
		case err != nil:
		case b[0] == rowRecord:
			row = new(findings.Row)
			err = rows.Read(b[1:], row)
		case b[0] == problemRecord:
			problem = new(Problem)
			err = problems.Read(b[1:], problem)
		default:
			err = errRecord
		}
		if err != nil {
			return fmt.Errorf("%s: %w: remove that file and go on with --resume", f.Name(), err)
		}
		if err := each(row, problem); err != nil {
			return err
		}
	}
}

var errRecord = errors.New("no part of this batch")

// nextRecord reads a record, into b where it has room.
func nextRecord(in *bufio.Reader, b []byte) ([]byte, error) {
	n, err := binary.ReadUvarint(in)
	if err != nil {
		return nil, err
	}
	if n == 0 || n > mostRecord {
		return nil, errRecord
	}
	b = slices.Grow(b[:0], int(n))[:n]
	if _, err := io.ReadFull(in, b); err != nil {
		return nil, io.ErrUnexpectedEOF
	}
	return b, nil
}
