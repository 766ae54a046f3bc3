package profiler

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
)

// run is packed device work by start.
type run struct {
	first int64 // when the first begins
	order int   // in which it was written
	at    *io.SectionReader
}

// mostPacked is how many bytes a piece of work takes at most: six numbers.
// Ten or eleven are usual.
const mostPacked = 6 * binary.MaxVarintLen64

// pack appends a piece of work to a run whose last one began at a time. Times
// are differences, which are exact whatever they are: they wrap.
func (w *work) pack(to []byte, after int64) []byte {
	to = binary.AppendUvarint(to, uint64(w.start)-uint64(after))
	to = binary.AppendUvarint(to, uint64(w.end)-uint64(w.start))
	if w.unresolved {
		to = binary.AppendVarint(to, w.launch)
	} else {
		to = binary.AppendVarint(to, w.start-w.launch)
	}
	to = binary.AppendUvarint(to, uint64(w.name))
	to = binary.AppendUvarint(to, uint64(w.collective+1))
	what := uint64(w.thread+1)<<19 | uint64(w.lane)<<3 | uint64(w.kind)<<1
	if w.unresolved {
		what |= 1
	}
	return binary.AppendUvarint(to, what)
}

// unpack reads a piece of work of a run whose last one began at a time, and how
// many bytes it took.
func (w *work) unpack(b []byte, after int64) int {
	at := 0
	next := func() uint64 {
		x, n := binary.Uvarint(b[at:])
		at += max(1, n)
		return x
	}
	w.start = int64(uint64(after) + next())
	w.end = int64(uint64(w.start) + next())
	launch := next()
	w.launch = int64(launch>>1) ^ -int64(launch&1)
	w.name = int32(next())
	w.collective = int32(next()) - 1
	what := next()
	w.thread, w.lane, w.kind, w.unresolved = uint16(what>>19)-1, uint16(what>>3), Kind(what>>1&3), what&1 != 0
	if !w.unresolved {
		w.launch = w.start - w.launch
	}
	return at
}

// cursor reads a run.
type cursor struct {
	now   work
	order int // of the run
	left  int64
	r     *bufio.Reader
	file  string
}

// cursorBuffer is how much of a run is read at a time.
const cursorBuffer = 8 << 10

// cursor returns a place before the first piece of work of a run; file is where it may be, for errors.
func (r *run) cursor(file string) *cursor {
	return &cursor{order: r.order, left: r.at.Size(), file: file, r: bufio.NewReaderSize(io.NewSectionReader(r.at, 0, r.at.Size()), cursorBuffer)}
}

// next unpacks the next piece of work. ok is false at the end.
func (c *cursor) next() (ok bool, err error) {
	if c.left == 0 {
		return false, nil
	}
	b, err := c.r.Peek(int(min(c.left, mostPacked)))
	if err != nil {
		return false, fmt.Errorf("the temporary file %s cannot be read back: %w", c.file, err)
	}
	n := c.now.unpack(b, c.now.start)
	c.left -= int64(n)
	_, err = c.r.Discard(n)
	return true, err
}
