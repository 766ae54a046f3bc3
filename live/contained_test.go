package live

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/archive/partitions"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/ingest/auto/follow"
	"github.com/sfstat/sfstat/internal/bug"
	"github.com/sfstat/sfstat/trace"
)

// three is a folder of three runs, and what reads them. What is read of b is for the test to say.
func three(t *testing.T, b func(*trace.Window)) Options {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		if err := os.WriteFile(filepath.Join(dir, name+".jsonl"), []byte(strings.ReplaceAll(packet, "job", name)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Options{Paths: []string{dir}, Read: func(u *follow.Unit, each Each) (Inputs, error) {
		r, err := auto.Open(u.Paths(), auto.Options{})
		if err != nil {
			return Inputs{}, err
		}
		defer r.Close()
		item, err := r.Next()
		if err != nil {
			return Inputs{}, err
		}
		if item.Windows[0].Run == "b" {
			b(item.Windows[0])
		}
		return Inputs{Read: r.Inputs()}, each(item, item.Windows[0])
	}}
}

// TestFollowerPanics: a unit that panics while it is read is one that cannot be judged, and a run
// on which an engine panics is a problem. The others are judged, and the following goes on.
func TestFollowerPanics(t *testing.T) {
	for name, b := range map[string]func(*trace.Window){
		"reading": func(*trace.Window) { panic("boom") },
		"engine":  func(w *trace.Window) { w.Ranks = nil; w.Wall = []int64{} },
	} {
		t.Run(name, func(t *testing.T) {
			f := New(three(t, b))
			var judged []string
			var met error
			n, err := f.Look(t.Context(), func(x Change) error {
				if x.Verdict != nil {
					for _, r := range x.Verdict.Runs {
						judged = append(judged, r.Run)
					}
				}
				met = errors.Join(met, x.Err)
				for _, p := range x.Refused {
					met = errors.Join(met, p.Err)
				}
				return nil
			})
			if n != 3 || err != nil || !slices.Equal(judged, []string{"a", "c"}) {
				t.Errorf("%d units, %q judged, %v: expected a and c of 3", n, judged, err)
			}
			if bug.PanicOf(met) == nil || !strings.Contains(met.Error(), "b") || len(f.Inputs().Problems) != 1 {
				t.Errorf("%v and problems %v, expected a bug in b", met, f.Inputs().Problems)
			}
			if n, err := f.Look(t.Context(), func(Change) error { return nil }); n != 0 || err != nil {
				t.Errorf("the next look finds %d changes, %v", n, err)
			}
		})
	}
}

// TestArchiverPanics: the same where runs are archived.
func TestArchiverPanics(t *testing.T) {
	a, err := partitions.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	o := three(t, func(*trace.Window) { panic("boom") })
	f := NewArchiver(o, a)
	f.o.Select.Runs = nil
	for _, u := range f.files.Look() {
		f.units[u.Key] = &archivedUnit{whole: true}
		written, joined, err := f.archiveUnit(&archivedUnit{whole: true}, u, All)
		if (written == 1) != (err == nil) || joined {
			t.Errorf("%d windows of %s, %v", written, u.Key, err)
		}
	}
}
