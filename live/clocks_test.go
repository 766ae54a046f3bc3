package live

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sfstat/sfstat/ingest/auto/follow"
	"github.com/sfstat/sfstat/internal/disk"
	"github.com/sfstat/sfstat/internal/disk/disktest"
)

// counted counts the looks at a folder.
type counted struct {
	*disktest.Clocked
	looks int
}

func (c *counted) ReadDir(name string) ([]fs.DirEntry, error) {
	c.looks++
	return c.Clocked.ReadDir(name)
}

var _ disk.Disk = (*counted)(nil)

// TestWrongClocks: what is followed is judged once, and following ends after as many looks as by a clock that is right, whatever
// the clock does.
func TestWrongClocks(t *testing.T) {
	for name, clock := range disktest.WrongClocks() {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "job.jsonl"), []byte(packet), 0o600); err != nil {
				t.Fatal(err)
			}
			on := &counted{Clocked: clock}
			f := New(Options{Disk: on, Paths: []string{dir}, Read: func(u *follow.Unit, each Each) (Inputs, error) {
				return Inputs{}, errors.New("not asked for")
			}})
			judged := 0
			const every, idle = 2 * time.Millisecond, 100 * time.Millisecond
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := f.Follow(ctx, every, idle, func(Change) error { judged++; return nil }); err != nil {
				t.Fatal(err)
			}
			if least := int(idle / every / mostPauses); judged != 1 || on.looks < least || on.looks > 2*int(idle/every) {
				t.Errorf("judged %d times in %d looks, expected once in %d to %d", judged, on.looks, least, 2*int(idle/every))
			}
		})
	}
}
