package ingest

import (
	"bufio"
	"bytes"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// wide turns UTF-16 into UTF-8: some shells redirect output so. What is no character becomes
// U+FFFD, and half a unit at the end is dropped.
type wide struct {
	in    *bufio.Reader
	order func([]byte) rune
	left  []byte // turned and not yet read
}

func little(b []byte) rune { return rune(b[0]) | rune(b[1])<<8 }
func big(b []byte) rune    { return rune(b[1]) | rune(b[0])<<8 }

// decode makes a source that begins with the mark of UTF-16 one of UTF-8, and drops the mark of UTF-8.
func (s *Source) decode() {
	mark, _ := s.Peek(3)
	w := &wide{}
	switch {
	case bytes.HasPrefix(mark, []byte("\xEF\xBB\xBF")):
		s.head = s.head[3:]
		return
	case bytes.HasPrefix(mark, []byte("\xFF\xFE")):
		w.order = little
	case bytes.HasPrefix(mark, []byte("\xFE\xFF")):
		w.order = big
	default:
		return
	}
	w.in = bufio.NewReaderSize(&unread{s.head[2:], s.err, s.plain}, 64<<10)
	s.plain, s.head, s.err, s.decoded = w, nil, nil, true
}

func (w *wide) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if len(w.left) == 0 {
			if n > 0 && w.in.Buffered() < 4 { // what is there first
				return n, nil
			}
			if err = w.next(); err != nil {
				return n, err
			}
		}
		k := copy(p[n:], w.left)
		n, w.left = n+k, w.left[k:]
	}
	return n, nil
}

// next turns one character.
func (w *wide) next() error {
	b, err := w.in.Peek(2)
	if len(b) < 2 {
		return err
	}
	r := w.order(b)
	w.in.Discard(2)
	if utf16.IsSurrogate(r) {
		second, _ := w.in.Peek(2)
		pair := utf8.RuneError
		if len(second) == 2 {
			pair = utf16.DecodeRune(r, w.order(second))
		}
		if r = pair; r != utf8.RuneError {
			w.in.Discard(2)
		}
	}
	w.left = utf8.AppendRune(w.left[:0], r)
	return nil
}

// unread is what was peeked and the error that ended it, then the rest.
type unread struct {
	head []byte
	err  error
	rest io.Reader
}

func (u *unread) Read(p []byte) (int, error) {
	if len(u.head) > 0 {
		n := copy(p, u.head)
		u.head = u.head[n:]
		return n, nil
	}
	if u.err != nil {
		return 0, u.err
	}
	return u.rest.Read(p)
}
