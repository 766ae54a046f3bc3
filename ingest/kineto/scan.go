package kineto

import (
	"errors"
	"io"

	"github.com/sfstat/sfstat/trace/input"
)

// bufferSize is how much is read at a time. maxEvent is how long one event, or
// one piece of metadata that is kept, may be; maxDepth how deep it may nest.
const (
	bufferSize = 1 << 20
	maxEvent   = 64 << 20
	maxDepth   = 1000
)

// scanner is a window over the input: buf[i:] is unread.
type scanner struct {
	r    io.Reader
	name string
	buf  []byte
	i    int
	off  int64 // in the input, of buf[0]
	err  error // what ended the input, io.EOF at its clean end
	full bool  // more would exceed maxEvent
}

func newScanner(r io.Reader, name string) *scanner {
	return &scanner{r: r, name: name, buf: make([]byte, 0, bufferSize)}
}

// pos returns the position of the next byte.
func (s *scanner) pos() input.Pos { return input.Pos{File: s.name, Offset: s.off + int64(s.i)} }

// fail returns an error at the next byte.
func (s *scanner) fail(kind error, format string, args ...any) error {
	return input.At(s.pos(), input.Bad(kind, format, args...))
}

// fill reads on; what is unread stays. It reports whether there is more, and
// grows the buffer when the unread part fills it, up to maxEvent.
func (s *scanner) fill() bool {
	if s.err != nil {
		return false
	}
	unread := len(s.buf) - s.i
	if s.full = unread >= maxEvent; s.full {
		return false
	}
	if s.i > 0 {
		copy(s.buf[:unread], s.buf[s.i:])
	} else if unread == cap(s.buf) {
		grown := make([]byte, unread, 2*cap(s.buf))
		copy(grown, s.buf)
		s.buf = grown
	}
	s.off += int64(s.i)
	s.buf, s.i = s.buf[:unread], 0
	for range 100 {
		n, err := s.r.Read(s.buf[unread:cap(s.buf)])
		s.buf, s.err = s.buf[:unread+n], err
		if n > 0 || err != nil {
			return n > 0
		}
	}
	s.err = input.At(s.pos(), io.ErrNoProgress)
	return false
}

// double reads on until there is twice as much unread as before, so that what
// is looked through again and again grows faster than the input.
func (s *scanner) double() bool {
	want := 2 * (len(s.buf) - s.i)
	grew := false
	for len(s.buf)-s.i < want && s.fill() {
		grew = true
	}
	return grew
}

// endCause returns how the input ended: cut reports that it did before its structure
// was complete; err is anything else than its end.
func (s *scanner) endCause() (cut bool, err error) {
	if s.err == nil || s.err == io.EOF || errors.Is(s.err, input.ErrTruncated) {
		return true, nil
	}
	return false, s.err
}

// peek returns the next byte that is no white space, without reading it; 0 at the
// end of the input.
func (s *scanner) peek() byte {
	for {
		for s.i < len(s.buf) {
			if c := s.buf[s.i]; c > ' ' {
				return c
			}
			s.i++
		}
		if !s.fill() {
			return 0
		}
	}
}

// endsInEscape reports whether what follows text is escaped: an odd number of
// backslashes ends it.
func endsInEscape(text []byte) bool {
	n := len(text)
	for n > 0 && text[n-1] == '\\' {
		n--
	}
	return (len(text)-n)%2 == 1
}

// skip reads over a value of any length, holding no more than the buffer. It
// reports whether the value was complete; an error is of its depth.
func (s *scanner) skip() (complete bool, err error) {
	depth, inString, escape := 0, false, false
	for {
		for s.i < len(s.buf) {
			c := s.buf[s.i]
			switch {
			case inString:
				if escape {
					escape = false
				} else if c == '\\' {
					escape = true
				} else if c == '"' {
					inString = false
				}
			case c == '"':
				inString = true
			case c == '{' || c == '[':
				if depth++; depth > maxDepth {
					return false, s.fail(input.ErrFormat, "values nested more than %d deep: is the file a profiler trace?", maxDepth)
				}
			case c == '}' || c == ']':
				if depth == 0 {
					return true, nil // ends what the value is in
				}
				if depth--; depth == 0 {
					s.i++
					return true, nil
				}
			case c == ',' && depth == 0:
				return true, nil
			}
			s.i++
		}
		if !s.fill() {
			return false, nil
		}
	}
}

// capture reads a value and returns its bytes, valid until the next read; nil
// when it is not complete, longer than the limit and what is buffered, or too
// large to be held, which full says.
func (s *scanner) capture(limit int) ([]byte, error) {
	for {
		n, st := valueEnd(s.buf[s.i:])
		switch st {
		case whole:
			text := s.buf[s.i : s.i+n]
			s.i += n
			return text, nil
		case damaged:
			return nil, s.fail(input.ErrFormat, "values nested more than %d deep: is the file a profiler trace?", maxDepth)
		}
		if len(s.buf)-s.i > limit || !s.double() {
			return nil, nil
		}
	}
}
