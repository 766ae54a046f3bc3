package profiler

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// everything reads a stretch.
func everything(t *testing.T, from *io.SectionReader) []byte {
	t.Helper()
	out, err := io.ReadAll(io.NewSectionReader(from, 0, from.Size()))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestSpill: what does not fit into memory goes to a file, and comes back; the
// file is gone afterwards.
func TestSpill(t *testing.T) {
	dir := t.TempDir()
	for name, tt := range map[string]struct {
		store   spill
		spilled int64
	}{
		"all in memory":  {spill{}, 0},
		"two in memory":  {spill{memory: 50, dir: dir}, 80},
		"none in memory": {spill{memory: 1, dir: dir}, 120},
		"no folder":      {spill{memory: 1, dir: filepath.Join(dir, "none")}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := tt.store
			var all []*io.SectionReader
			for i := range byte(6) {
				all = append(all, s.put(bytes.Repeat([]byte{i}, 20)))
			}
			all = append(all, s.put(nil))
			if s.size != tt.spilled {
				t.Errorf("%d bytes in the file, want %d", s.size, tt.spilled)
			}
			for i, from := range all[:6] {
				if got := everything(t, from); !bytes.Equal(got, bytes.Repeat([]byte{byte(i)}, 20)) || from.Size() != 20 {
					t.Errorf("stretch %d: %v", i, got)
				}
			}
			if got := everything(t, all[6]); len(got) > 0 {
				t.Errorf("nothing came back as %v", got)
			}
			s.close()
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// TestSpillLost: a file that cannot be read back is an error that names it.
func TestSpillLost(t *testing.T) {
	s := spill{memory: 1, dir: t.TempDir()}
	at := s.put([]byte("abc"))
	if err := s.file.Truncate(1); err != nil {
		t.Fatal(err)
	}
	if _, err := (&run{at: at}).cursor(s.name()).next(); err == nil || !bytes.Contains([]byte(err.Error()), []byte("sfstat-")) {
		t.Errorf("%v", err)
	}
	s.close()
}

// TestSpillFull: what a file refuses stays in memory, also when it refuses later.
func TestSpillFull(t *testing.T) {
	s := spill{memory: 1, dir: t.TempDir()}
	defer s.close()
	first := s.put([]byte("first"))
	open := s.file
	s.file, _ = os.Open(os.DevNull) // not for writing
	second := s.put([]byte("second"))
	s.file.Close()
	s.file = open
	third := s.put([]byte("third"))
	for want, at := range map[string]*io.SectionReader{"first": first, "second": second, "third": third} {
		if got := everything(t, at); string(got) != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if s.size != 5 {
		t.Errorf("%d bytes in the file", s.size)
	}
}
