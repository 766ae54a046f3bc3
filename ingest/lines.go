package ingest

import (
	"bytes"
	"io"

	"github.com/sfstat/sfstat/trace/input"
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
	start int64 // of the line that was returned last, bytes from the beginning
	end   int64 // … of what comes behind it
	err   error // what ended the input, due after buf

	terminal bool // what steers one is left out of lines
}

// NewLines reads lines from r; file stands in errors. Lines longer than
// lim.Line are refused, and where r knows its Size, than lim.Scale allows. spill may be nil.
func NewLines(r io.Reader, file string, lim Limits, spill *Spill) *Lines {
	if spill == nil {
		spill = &Spill{}
	}
	return &Lines{r: r, file: file, limit: lim.Scale(StoredSize(r)).Line, spill: spill}
}

// Pos returns the position of the line that Next returned last.
func (l *Lines) Pos() input.Pos { return input.Pos{File: l.file, Line: l.line} }

// Next returns the next line without its end, "\n" or "\r\n"; it is valid
// until the next call of any Lines with the same spill. After the last line
// comes the error that ended the input, io.EOF for its clean end. A last line
// without an end counts. A line longer than the limit ends the input.
func (l *Lines) Next() ([]byte, error) {
	line, whole, err := l.next()
	if err == nil && !whole {
		return nil, l.failTooLong()
	}
	return line, err
}

// NextCut returns the next line as Next does, of a line longer than the limit the beginning, and continues after it. Size is
// the bytes of the whole line.
func (l *Lines) NextCut() (line []byte, size int64, err error) {
	line, whole, err := l.next()
	size = int64(len(line))
	if err != nil || whole {
		return line, size, err
	}
	l.line++
	l.start = l.end
	rest, end := l.pass()
	size += rest
	l.end += size + end
	return line[:min(len(line), lineBuffer)], size, nil
}

// Offset returns where the last returned line begins, bytes from the beginning of the decompressed input.
func (l *Lines) Offset() int64 { return l.start }

// next returns the next line; one that is longer than the limit as far as it was read, and
// leaves its rest, with its end, unread.
func (l *Lines) next() (line []byte, whole bool, err error) {
	seen, long := 0, l.spill.buf[:0]
	for {
		if i := bytes.IndexByte(l.buf[seen:], '\n'); i >= 0 {
			line := l.buf[:seen+i]
			l.buf = l.buf[seen+i:]
			if line, whole = l.take(long, line); whole {
				l.buf = l.buf[1:]
				l.end++
			}
			return line, whole, nil
		}
		seen = len(l.buf)
		if l.err != nil {
			if len(long)+seen == 0 {
				return nil, false, l.err
			}
			line := l.buf
			l.buf = nil
			line, whole = l.take(long, line)
			return line, whole, nil
		}
		if seen == lineBuffer {
			long = append(long, l.buf...)
			l.spill.buf, l.buf, seen = long, nil, 0
			if int64(len(long)) > l.limit {
				return long, false, nil
			}
		}
		l.fill()
	}
}

// pass drops what comes before the next end of a line, and that too. It counts both.
func (l *Lines) pass() (n, end int64) {
	for {
		if i := bytes.IndexByte(l.buf, '\n'); i >= 0 {
			l.buf = l.buf[i+1:]
			return n + int64(i), 1
		}
		n += int64(len(l.buf))
		l.buf = nil
		if l.err != nil {
			return n, 0
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
		l.err = input.At(input.Pos{File: l.file}, io.ErrNoProgress)
	}
	if l.err != nil && l.err != io.EOF {
		l.err = input.At(input.Pos{File: l.file, Line: l.line + 1}, l.err)
	}
}

// take puts a line together; false if it is longer than the limit.
func (l *Lines) take(long, line []byte) ([]byte, bool) {
	if len(long) > 0 {
		line = append(long, line...)
		l.spill.buf = line
	}
	if int64(len(line)) > l.limit {
		return line, false
	}
	l.line++
	l.start = l.end
	l.end += int64(len(line))
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	if l.terminal {
		line = plain(line)
	}
	return line, true
}

// failTooLong ends the input.
func (l *Lines) failTooLong() error {
	l.err = input.At(input.Pos{File: l.file, Line: l.line + 1}, input.Bad(input.ErrTooLarge,
		"a line of more than %d bytes, the most that is read: is the file what its name says?", l.limit))
	l.buf = nil
	return l.err
}
