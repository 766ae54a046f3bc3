package ingest

import (
	"bytes"
	"io"

	"github.com/sfstat/sfstat/trace"
)

// lineBuffer is what every open input holds, so it is small: a folder may have
// a thousand of them.
const lineBuffer = 64 << 10

// Spill is memory for lines that are longer than the buffer of their Lines.
// The Lines that share one must not be read at the same time.
type Spill struct{ buf []byte }

// Lines cuts an input into lines, holding one buffer and one line at most.
type Lines struct {
	r     io.Reader
	file  string
	limit int64
	spill *Spill
	buf   []byte // unread input, a window of
	base  []byte // … this
	line  int64
	err   error // what ended the input, due after buf
}

// NewLines reads lines from r; file stands in errors. Lines longer than
// lim.Line are refused. spill may be nil.
func NewLines(r io.Reader, file string, lim Limits, spill *Spill) *Lines {
	if spill == nil {
		spill = &Spill{}
	}
	return &Lines{r: r, file: file, limit: lim.OrDefault().Line, spill: spill}
}

// Pos is the position of the line that Next returned last.
func (l *Lines) Pos() trace.Pos { return trace.Pos{File: l.file, Line: l.line} }

// Next returns the next line without its end, "\n" or "\r\n"; it is valid
// until the next call of any Lines with the same spill. After the last line
// comes the error that ended the input, io.EOF for its clean end. A last line
// without an end counts.
func (l *Lines) Next() ([]byte, error) {
	seen, long := 0, l.spill.buf[:0]
	for {
		if i := bytes.IndexByte(l.buf[seen:], '\n'); i >= 0 {
			line := l.buf[:seen+i]
			l.buf = l.buf[seen+i+1:]
			return l.take(long, line)
		}
		seen = len(l.buf)
		if l.err != nil {
			if len(long)+seen == 0 {
				return nil, l.err
			}
			line := l.buf
			l.buf = nil
			return l.take(long, line)
		}
		if seen == lineBuffer {
			long = append(long, l.buf...)
			l.spill.buf, l.buf, seen = long, nil, 0
			if int64(len(long)) > l.limit {
				return nil, l.tooLong()
			}
		}
		l.fill()
	}
}

// fill moves what is unread to the front of the buffer and reads behind it.
func (l *Lines) fill() {
	if l.base == nil {
		l.base = make([]byte, lineBuffer)
	}
	have := copy(l.base, l.buf)
	for range 100 {
		var n int
		n, l.err = l.r.Read(l.base[have:])
		l.buf = l.base[:have+n]
		if n > 0 || l.err != nil {
			break
		}
	}
	if len(l.buf) == have && l.err == nil {
		l.err = trace.At(trace.Pos{File: l.file}, io.ErrNoProgress)
	}
	if l.err != nil && l.err != io.EOF {
		l.err = trace.At(trace.Pos{File: l.file, Line: l.line + 1}, l.err)
	}
}

func (l *Lines) take(long, line []byte) ([]byte, error) {
	if len(long) > 0 {
		line = append(long, line...)
		l.spill.buf = line
	}
	l.line++
	if int64(len(line)) > l.limit {
		l.line--
		return nil, l.tooLong()
	}
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return line, nil
}

// tooLong ends the input.
func (l *Lines) tooLong() error {
	l.err = trace.At(trace.Pos{File: l.file, Line: l.line + 1}, trace.Bad(trace.ErrTooLarge,
		"a line of more than %d bytes, the most that is read: is the file what its name says?", l.limit))
	l.buf = nil
	return l.err
}
