package batch

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

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
	whole  sync.Map // numbers of parts that were read to their end
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

// has reports whether a part is there, whole: one that is not is made again.
func (p *parts) has(chunk int) bool {
	if _, known := p.whole.Load(chunk); known {
		return true
	}
	if p.records(chunk, func(byte, []byte) error { return nil }) != nil {
		return false
	}
	p.whole.Store(chunk, true)
	return true
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

// A part is a list of records: their length, one of these bytes, and what it says. The last says
// how many there are before it, and their checksum, so that what a file system lost or changed is
// found.
const (
	rowRecord     = 'r'
	windowRecord  = 'w'
	problemRecord = 'p'
	endRecord     = 'e'
)

// mostRecord bounds what is read of a part that is damaged.
const mostRecord = 64 << 20

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// partWriter writes records.
type partWriter struct {
	to     *bufio.Writer
	record []byte
	n      uint64
	sum    uint32
}

func newPartWriter(w io.Writer) *partWriter {
	return &partWriter{to: bufio.NewWriterSize(w, 64<<10)}
}

func (p *partWriter) row(r findings.Row) error {
	r.Stages = cmp.Or(r.Stages, "{}")
	p.record = flatrow.Append(append(p.record[:0], rowRecord), &r)
	return p.write()
}

func (p *partWriter) window(w findings.Window) error {
	w.Stages = cmp.Or(w.Stages, "{}")
	p.record = flatrow.Append(append(p.record[:0], windowRecord), &w)
	return p.write()
}

func (p *partWriter) problem(x Problem) error {
	p.record = flatrow.Append(append(p.record[:0], problemRecord), &x)
	return p.write()
}

// end writes the last record.
func (p *partWriter) end() error {
	p.record = binary.AppendUvarint(append(p.record[:0], endRecord), p.n)
	p.record = binary.LittleEndian.AppendUint32(p.record, p.sum)
	return errors.Join(p.write(), p.to.Flush())
}

func (p *partWriter) write() error {
	if _, err := p.to.Write(binary.AppendUvarint(nil, uint64(len(p.record)))); err != nil {
		return err
	}
	p.n, p.sum = p.n+1, crc32.Update(p.sum, castagnoli, p.record)
	_, err := p.to.Write(p.record)
	return err
}

// taker is who takes the records of a part; nil: nobody takes those.
type taker struct {
	row     func(*findings.Row) error
	window  func(*findings.Window) error
	problem func(*Problem) error
}

// read hands the records of a part to who takes them.
func (p *parts) read(chunk int, to taker) error {
	var rows flatrow.Reader[findings.Row]
	var windows flatrow.Reader[findings.Window]
	var problems flatrow.Reader[Problem]
	return p.records(chunk, func(kind byte, b []byte) error {
		switch kind {
		case rowRecord:
			return taken(&rows, b, to.row)
		case windowRecord:
			return taken(&windows, b, to.window)
		case problemRecord:
			return taken(&problems, b, to.problem)
		}
		return errRecord
	})
}

func taken[T any](r *flatrow.Reader[T], b []byte, take func(*T) error) error {
	x := new(T)
	if r.Read(b, x) != nil {
		return errRecord
	}
	if take == nil {
		return nil
	}
	return take(x)
}

// records hands the records of a part to each, but for the last, which must fit what was read.
func (p *parts) records(chunk int, each func(kind byte, b []byte) error) error {
	f, err := os.Open(p.path(chunk))
	if err != nil {
		return err
	}
	defer f.Close()
	err = readRecords(bufio.NewReaderSize(f, 64<<10), each)
	if errors.Is(err, errRecord) {
		return fmt.Errorf("%s: %w", f.Name(), err)
	}
	return err
}

func readRecords(in *bufio.Reader, each func(kind byte, b []byte) error) error {
	n, sum := uint64(0), uint32(0)
	for b := []byte(nil); ; {
		var err error
		if b, err = nextRecord(in, b); err != nil {
			return err
		}
		if b[0] == endRecord {
			return ended(in, b[1:], n, sum)
		}
		n, sum = n+1, crc32.Update(sum, castagnoli, b)
		if err := each(b[0], b[1:]); err != nil {
			return err
		}
	}
}

// ended reports an error where the last record does not fit those before it, or more follows.
func ended(in *bufio.Reader, last []byte, n uint64, sum uint32) error {
	wrote, size := binary.Uvarint(last)
	if size <= 0 || len(last) != size+4 || wrote != n || binary.LittleEndian.Uint32(last[size:]) != sum {
		return errRecord
	}
	if _, err := in.ReadByte(); !errors.Is(err, io.EOF) {
		return errRecord
	}
	return nil
}

var errRecord = errors.New("no part of this batch, or not whole: go on with --resume")

// nextRecord reads a record, into b where it has room.
func nextRecord(in *bufio.Reader, b []byte) ([]byte, error) {
	n, err := binary.ReadUvarint(in)
	if err == nil && (n == 0 || n > mostRecord) {
		return nil, errRecord
	}
	if err == nil {
		b = slices.Grow(b[:0], int(n))[:n]
		_, err = io.ReadFull(in, b)
	}
	var place *fs.PathError
	if err != nil && !errors.As(err, &place) { // it ends, or is no number
		return nil, errRecord
	}
	return b, err
}
