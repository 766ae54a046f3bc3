package profiler

import (
	"bytes"
	"io"
	"os"
)

// spill keeps bytes that are written once, in stretches, and read back later: the first
// of them in memory, the rest in a temporary file. Where no file can be made or
// written, all stay in memory, as in the zero value.
type spill struct {
	memory int    // bytes that are kept in memory before a file is made
	dir    string // of the file, "": the system's for temporary ones

	held    int
	file    *os.File
	size    int64
	refused bool // no file can be had
}

// put keeps a copy of bytes.
func (s *spill) put(b []byte) *io.SectionReader {
	if s.memory > 0 && s.held+len(b) > s.memory && s.write(b) {
		return io.NewSectionReader(s.file, s.size-int64(len(b)), int64(len(b)))
	}
	s.held += len(b)
	return io.NewSectionReader(bytes.NewReader(bytes.Clone(b)), 0, int64(len(b)))
}

// write appends to the file. It reports whether that succeeded; after a
// failure the file is not written again.
func (s *spill) write(b []byte) bool {
	if s.refused {
		return false
	}
	if s.file == nil {
		f, err := os.CreateTemp(s.dir, "sfstat-*.tmp")
		if err != nil {
			s.refused = true
			return false
		}
		os.Remove(f.Name()) // where a file that is open can be removed it needs no cleaning up
		s.file = f
	}
	if _, err := s.file.WriteAt(b, s.size); err != nil {
		s.refused = true
		return false
	}
	s.size += int64(len(b))
	return true
}

// name returns the file's, "": there is none.
func (s *spill) name() string {
	if s.file == nil {
		return ""
	}
	return s.file.Name()
}

// close removes the file. The spill must not be used again.
func (s *spill) close() {
	if s.file != nil {
		s.file.Close()
		os.Remove(s.file.Name())
		s.file = nil
	}
}
