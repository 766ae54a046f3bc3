package ingest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"syscall"

	"github.com/sfstat/sfstat/internal/disk"
	"github.com/sfstat/sfstat/trace/input"
)

// Stdin is the path that means standard input.
const Stdin = "-"

// UnknownSize is the size of an input that cannot tell it, such as a pipe.
const UnknownSize = -1

// Source is one opened input as plain bytes: decompressed, without a byte-order
// mark, and UTF-16 that has one as UTF-8. Its errors carry the position; an input that ends too early
// (a gzip file without its trailer) ends in an error of kind input.ErrTruncated
// after everything that could be decompressed.
type Source struct {
	name  string
	size  int64
	comp  Compression
	raw   *counted
	plain io.Reader // decompressed
	head  []byte    // peeked from plain, not yet read
	err   error     // met while peeking, due after head
	stop  func()    // ends the decompressing goroutine, if there is one
	file  io.Closer

	decoded bool // from UTF-16
	last    byte // that was read
	ended   bool // all was
}

// Open opens the file at path. The caller closes the source.
func Open(path string, lim Limits) (*Source, error) { return OpenOn(disk.OS{}, path, lim) }

// OpenOn opens a file as [Open] does, on a disk.
func OpenOn(on disk.Disk, path string, lim Limits) (*Source, error) {
	f, err := on.Open(path)
	if err != nil {
		return nil, Unreadable(path, err)
	}
	size := int64(UnknownSize)
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		size = info.Size()
	}
	s, err := newSource(f, path, lim, size)
	if err != nil {
		f.Close()
		return nil, err
	}
	s.file = f
	return s, nil
}

// NewSource reads plain bytes out of r, which may be compressed. name stands
// in errors. Closing the source does not close r, and a read of r that is
// under way may outlast it.
func NewSource(r io.Reader, name string, lim Limits) (*Source, error) {
	return newSource(r, name, lim, UnknownSize)
}

// newSource returns the source of an input of so many bytes as stored.
func newSource(r io.Reader, name string, lim Limits, size int64) (*Source, error) {
	s := &Source{name: name, size: size, raw: &counted{r: r}}
	buffer := int64(lineBuffer)
	if size >= 0 {
		buffer = min(size+1, buffer)
	}
	in := bufio.NewReaderSize(s.raw, int(buffer))
	magic, err := in.Peek(4)
	if err != nil && err != io.EOF {
		return nil, input.At(input.Pos{File: name}, cause(err))
	}
	s.comp = compressionOf(magic)
	if s.plain, err = s.decompress(in, lim.OrDefault()); err != nil {
		return nil, err
	}
	s.decode()
	return s, nil
}

// Read reads decompressed bytes.
func (s *Source) Read(p []byte) (int, error) {
	if len(s.head) > 0 {
		n := copy(p, s.head)
		s.head = s.head[n:]
		return s.noteEnd(p[:n], nil)
	}
	if s.err != nil {
		return s.noteEnd(nil, s.err)
	}
	n, err := s.plain.Read(p)
	return s.noteEnd(p[:n], s.place(err))
}

// noteEnd keeps what a read shows of the end.
func (s *Source) noteEnd(b []byte, err error) (int, error) {
	if len(b) > 0 {
		s.last = b[len(b)-1]
	}
	s.ended = s.ended || err == io.EOF
	return len(b), err
}

// EndsMidLine reports whether all was read and the last line has no end.
func (s *Source) EndsMidLine() bool {
	return s.ended && s.last != 0 && s.last != '\n' && s.last != '\r'
}

// Peek returns the next n decompressed bytes without reading them. Fewer come
// with the error that ended the input, io.EOF for its clean end. The slice is
// valid until the next Peek.
func (s *Source) Peek(n int) ([]byte, error) {
	if size := s.size + 1; s.IsUncompressed() && s.size >= 0 && size < int64(n) {
		s.look(int(size)) // which is all, unless it grew
	}
	s.look(n)
	if len(s.head) < n {
		return s.head, s.err
	}
	return s.head[:n], nil
}

// look reads ahead until there are n bytes, or the input ends.
func (s *Source) look(n int) {
	if len(s.head) >= n || s.err != nil {
		return
	}
	head := make([]byte, n)
	have := copy(head, s.head)
	more, err := readFull(s.plain, head[have:])
	s.head, s.err = head[:have+more], s.place(err)
}

// Name returns the path as the user gave it.
func (s *Source) Name() string { return s.name }

// Size returns the length of the input as stored, UnknownSize for a pipe.
func (s *Source) Size() int64 { return s.size }

// Compression returns the compression of the input as stored.
func (s *Source) Compression() Compression { return s.comp }

// IsUncompressed reports whether what is read are the bytes of the file.
func (s *Source) IsUncompressed() bool { return s.comp == Plain && !s.decoded }

// StoredBytes counts the bytes read so far of the input as stored, compressed. It
// may run ahead of Read by what is buffered.
func (s *Source) StoredBytes() int64 { return s.raw.n.Load() }

// Close stops the decompressor and closes the file. Closing again does
// nothing.
func (s *Source) Close() error {
	if s.stop != nil {
		s.stop()
	}
	var err error
	if s.file != nil {
		err = s.file.Close()
	}
	s.stop, s.file, s.head, s.err = nil, nil, nil, os.ErrClosed
	return err
}

// place gives an error of the stored input, such as a failing disk, the name
// of the file. io.EOF stays bare.
func (s *Source) place(err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	return input.At(input.Pos{File: s.name}, cause(err))
}

// Unreadable returns an error: the file system refused path with err.
func Unreadable(path string, err error) error {
	return input.At(input.Pos{File: path}, cause(err))
}

// Shortage reports whether an error is one of this machine, which has no more files open at a time,
// and not one of the file.
func Shortage(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// Fails reports whether an error is one of the file system or the device, as when a disk
// or a network fails for a while, and not one of the file.
func Fails(err error) bool {
	var e syscall.Errno
	return errors.As(err, &e)
}

// cause drops "open PATH:" from a file error: the position says it already.
func cause(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return fmt.Errorf("cannot be read: %w", p.Err)
	}
	return err
}

// counted counts the bytes that leave r, and keeps the error that ended them.
// Another goroutine may look at n.
type counted struct {
	r   io.Reader
	n   atomic.Int64
	err error
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	c.err = err
	return n, err
}
