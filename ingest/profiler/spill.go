package profiler

import (
	"fmt"
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

// spilled is a stretch of bytes.
type spilled struct {
	held []byte // all of it, nil: in the file
	at   int64
	n    int
}

// put keeps a copy of bytes.
func (s *spill) put(b []byte) spilled {
	if s.memory > 0 && s.held+len(b) > s.memory && s.write(b) {
		return spilled{at: s.size - int64(len(b)), n: len(b)}
	}
	s.held += len(b)
	kept := make([]byte, len(b))
	copy(kept, b)
	return spilled{held: kept, n: len(b)}
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

// read returns bytes of a stretch from an offset on: all that are left where it
// is in memory, which must not be changed, else up to len(buf) of them, in buf.
// None are left at its end.
func (s *spill) read(from spilled, offset int, buf []byte) ([]byte, error) {
	if from.held != nil || offset >= from.n {
		return from.held[min(offset, len(from.held)):], nil
	}
	buf = buf[:min(len(buf), from.n-offset)]
	if _, err := s.file.ReadAt(buf, from.at+int64(offset)); err != nil {
		return nil, fmt.Errorf("the temporary file %s cannot be read back: %w", s.file.Name(), err)
	}
	return buf, nil
}

// close removes the file. The spill must not be used again.
func (s *spill) close() {
	if s.file != nil {
		s.file.Close()
		os.Remove(s.file.Name())
		s.file = nil
	}
}
