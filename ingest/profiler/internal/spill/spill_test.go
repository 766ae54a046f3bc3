package spill

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// everything reads a stretch, a few bytes at a time.
func everything(t *testing.T, s *Store, from Stretch) []byte {
	t.Helper()
	var out []byte
	for buf := make([]byte, 7); ; {
		b, err := s.Read(from, len(out), buf)
		if err != nil {
			t.Fatal(err)
		}
		if len(b) == 0 {
			return out
		}
		out = append(out, b...)
	}
}

// TestStore: what does not fit into memory goes to a file, and comes back; the
// file is gone afterwards.
func TestStore(t *testing.T) {
	dir := t.TempDir()
	for name, tt := range map[string]struct {
		store   Store
		spilled int64
	}{
		"all in memory":  {Store{}, 0},
		"two in memory":  {Store{Memory: 50, Dir: dir}, 80},
		"none in memory": {Store{Memory: 1, Dir: dir}, 120},
		"no folder":      {Store{Memory: 1, Dir: filepath.Join(dir, "none")}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := tt.store
			var all []Stretch
			for i := range byte(6) {
				all = append(all, s.Put(bytes.Repeat([]byte{i}, 20)))
			}
			all = append(all, s.Put(nil))
			if s.size != tt.spilled {
				t.Errorf("%d bytes in the file, want %d", s.size, tt.spilled)
			}
			for i, from := range all[:6] {
				if got := everything(t, &s, from); !bytes.Equal(got, bytes.Repeat([]byte{byte(i)}, 20)) || from.Len() != 20 {
					t.Errorf("stretch %d: %v", i, got)
				}
			}
			if got := everything(t, &s, all[6]); len(got) > 0 {
				t.Errorf("nothing came back as %v", got)
			}
			s.Close()
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// TestLostFile: a file that cannot be read back is an error that names it.
func TestLostFile(t *testing.T) {
	s := Store{Memory: 1, Dir: t.TempDir()}
	at := s.Put([]byte("abc"))
	if err := s.file.Truncate(1); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read(at, 0, make([]byte, 3)); err == nil || !bytes.Contains([]byte(err.Error()), []byte("sfstat-")) {
		t.Errorf("%v", err)
	}
	s.Close()
}

// TestFull: what a file refuses stays in memory, also when it refuses later.
func TestFull(t *testing.T) {
	s := Store{Memory: 1, Dir: t.TempDir()}
	defer s.Close()
	first := s.Put([]byte("first"))
	open := s.file
	s.file, _ = os.Open(os.DevNull) // not for writing
	second := s.Put([]byte("second"))
	s.file.Close()
	s.file = open
	third := s.Put([]byte("third"))
	for want, at := range map[string]Stretch{"first": first, "second": second, "third": third} {
		if got := everything(t, &s, at); string(got) != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if s.size != 5 {
		t.Errorf("%d bytes in the file", s.size)
	}
}
