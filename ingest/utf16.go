package ingest

import (
	"bytes"
	"io"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// decode drops the mark of UTF-8, and makes a source that begins with the mark of UTF-16 one of
// UTF-8: some shells redirect output so. What is no character becomes U+FFFD.
func (s *Source) decode() {
	mark, _ := s.Peek(3)
	switch {
	case bytes.HasPrefix(mark, []byte("\xEF\xBB\xBF")):
		s.head = s.head[3:]
	case bytes.HasPrefix(mark, []byte("\xFF\xFE")), bytes.HasPrefix(mark, []byte("\xFE\xFF")):
		rest := s.plain
		if s.err != nil {
			rest = ended{s.err}
		}
		s.plain = transform.NewReader(io.MultiReader(bytes.NewReader(s.head), rest), unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder())
		s.head, s.err, s.decoded = nil, nil, true
	}
}

// ended is an input that has given all that it has.
type ended struct{ error }

func (e ended) Read([]byte) (int, error) { return 0, e.error }
