package ingest

import (
	"bytes"
	"io"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// decode drops the mark of UTF-8, and makes a source that begins with the mark of UTF-16, or with ASCII in it, one of
// UTF-8: some shells redirect output so, and some programs save tables. What is no character becomes U+FFFD. A JSON array
// of rows becomes a line for each.
func (s *Source) decode() {
	mark, _ := s.Peek(64)
	order, unmarked := wideASCII(mark)
	switch {
	case unmarked:
		s.readThrough(func(from io.Reader) io.Reader {
			return transform.NewReader(from, unicode.UTF16(order, unicode.IgnoreBOM).NewDecoder())
		})
	case bytes.HasPrefix(mark, []byte("\xEF\xBB\xBF")):
		s.head = s.head[3:]
	case bytes.HasPrefix(mark, []byte("\xFF\xFE")), bytes.HasPrefix(mark, []byte("\xFE\xFF")):
		s.readThrough(func(from io.Reader) io.Reader {
			return transform.NewReader(from, unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder())
		})
	}
	if !opensArray(mark) {
		return
	}
	if head, _ := s.Peek(mostOfRow); isRowArray(head) {
		s.readThrough(newRowArray)
	}
}

// readThrough puts what changes the bytes between a source and whoever reads it.
func (s *Source) readThrough(change func(io.Reader) io.Reader) {
	rest := s.plain
	if s.err != nil {
		rest = ended{s.err}
	}
	s.plain = change(io.MultiReader(bytes.NewReader(s.head), rest))
	s.head, s.err, s.decoded = nil, nil, true
}

// ended is an input that has given all that it has.
type ended struct{ error }

func (e ended) Read([]byte) (int, error) { return 0, e.error }

// fewestWide is how many characters tell text in UTF-16 that has no mark from other bytes.
const fewestWide = 16

// wideASCII reports whether bytes are ASCII in UTF-16, and which byte of a character comes first.
func wideASCII(head []byte) (order unicode.Endianness, ok bool) {
	if len(head) < 2*fewestWide {
		return order, false
	}
	order, at := unicode.LittleEndian, 1
	if head[0] == 0 {
		order, at = unicode.BigEndian, 0
	}
	for i := 0; i+1 < len(head); i += 2 {
		c := head[i+1-at]
		if head[i+at] != 0 || c > 0x7e || c < ' ' && c != '\t' && c != '\r' && c != '\n' {
			return order, false
		}
	}
	return order, true
}
