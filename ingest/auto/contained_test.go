package auto

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/packet"
	"github.com/sfstat/sfstat/internal/bug"
	"github.com/sfstat/sfstat/internal/disk"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/profile"
)

// What panics in these tests is put into the table of formats, or into what its functions made.

// changed gives a format another row until the test ends.
func changed(t *testing.T, f Format, change func(*row)) {
	t.Helper()
	before := *f.row()
	change(f.row())
	t.Cleanup(func() { *f.row() = before })
}

// victim is the content of a file that no format knows, and that is taken for any of them.
const victim = "this file meets a bug\n"

func isVictim(b beginning) bool { return string(b.all) == victim }

// boom is what panics. It takes an argument, so that it is in the stack.
func boom(what string) { panic(what) }

// panicking is an input that panics wherever it is read.
type panicking struct{}

func (panicking) Read([]byte) (int, error) { boom("reading"); return 0, nil }
func (panicking) Close() error             { return nil }

// panics is a recorder that does.
func panics(ingest.Limits) recorder {
	return recorder{func(*ingest.Source, string) error { boom("reading"); return nil }, func() []*comms.Record { return nil }}
}

// badFile is a file of the format: by its content where that is looked into before it is opened.
func badFile(t *testing.T, f Format) string {
	switch f {
	case SQLite:
		b, err := os.ReadFile("../../fixtures/sources/nsight/node0.sqlite")
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	case Archive:
		return parquetOf(t, some(2))
	}
	changed(t, f, func(r *row) { r.sniff = isVictim })
	return victim
}

// goodAlone reads a folder with a good recording and a file that meets a bug. The windows are those
// of the good one, and the bug is an error of the other file.
func goodAlone(t *testing.T, bad string) {
	t.Helper()
	good := some(1)
	dir := folderOf(t, map[string]string{"good.jsonl": packets(t, good), "victim": bad})
	r, err := Open([]string{dir}, Options{Joined: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var got []*trace.Window
	for {
		item, err := r.Next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				t.Fatalf("the reading ends with %v", err)
			}
			break
		}
		got = append(got, item.Windows...)
	}
	if d := cmp.Diff(good, got); d != "" {
		t.Errorf("the windows of the good file are others (-want +got):\n%s", d)
	}
	expectBug(t, r.Problems(), filepath.Join(dir, "victim"))
}

// expectBug expects one problem, a bug that names a file and has the stack of what panicked.
func expectBug(t *testing.T, all []Problem, path string) {
	t.Helper()
	if len(all) != 1 || bug.PanicOf(all[0].Err) == nil {
		t.Fatalf("problems %v, expected a bug in reading %s", all, path)
	}
	if p := all[0]; !strings.HasPrefix(p.Err.Error(), path+": this is a bug in sfstat") || p.Path != path || !strings.Contains(string(bug.PanicOf(p.Err).Stack), "auto.boom") {
		t.Errorf("%q of %s with this stack, expected a bug in reading %s:\n%s", p.Err, p.Path, path, bug.PanicOf(p.Err).Stack)
	}
}

// TestRecognitionPanics: each format whose recognition panics leaves the other files alone.
func TestRecognitionPanics(t *testing.T) {
	for f := Unknown; f <= Empty; f++ {
		if f.row().sniff == nil {
			continue
		}
		t.Run(f.String(), func(t *testing.T) {
			sniff := f.row().sniff
			changed(t, f, func(r *row) {
				r.sniff = func(b beginning) bool {
					if isVictim(b) {
						boom("recognition")
					}
					return sniff(b)
				}
			})
			goodAlone(t, victim)
			path := filepath.Join(folderOf(t, map[string]string{"victim": victim}), "victim")
			if h := Peek(disk.OS{}, path, ingest.Limits{}); h.Windows || h.More || h.Readings {
				t.Errorf("it holds %+v, expected nothing", h)
			}
			c, err := readComm(path)
			if c != nil || bug.PanicOf(err) == nil {
				t.Errorf("%+v, %v, expected a bug", c, err)
			}
		})
	}
}

// TestEnteringPanics: the same of what says with which others a file is read.
func TestEnteringPanics(t *testing.T) {
	for f := Unknown; f <= Empty; f++ {
		together := f.row().together
		if together == nil {
			continue
		}
		t.Run(f.String(), func(t *testing.T) {
			bad := badFile(t, f)
			changed(t, f, func(r *row) {
				r.together = func(r *Reader, in *Input) string {
					if filepath.Base(in.Path) == "victim" {
						boom("entering")
					}
					return together(r, in)
				}
			})
			goodAlone(t, bad)
		})
	}
}

// TestReadingPanics: the same of each reader, when its turn comes.
func TestReadingPanics(t *testing.T) {
	for f := Unknown; f <= Empty; f++ {
		if f.row().read == nil {
			continue
		}
		t.Run(f.String(), func(t *testing.T) {
			bad := badFile(t, f)
			switch {
			case f.row().profile != nil: // in a goroutine
				changed(t, f, func(r *row) {
					r.profile = func(*unit, *Input) (*profile.Rank, error) { boom("reading"); return nil, nil }
				})
			case f == TrainLog:
				t.Skip("it is not read beside packets")
			case f.row().record != nil && f != SQLite:
				changed(t, f, func(r *row) { r.record = panics })
			default:
				read := f.row().read
				changed(t, f, func(r *row) {
					r.read = func(u *unit, give func(part) bool) error {
						if len(u.inputs) > 0 && filepath.Base(u.inputs[0].Path) == "victim" {
							boom("reading")
						}
						for i := range u.group.files {
							if filepath.Base(u.group.files[i].Name) == "victim" {
								u.group.files[i].Stream = packet.Stream{Name: u.group.files[i].Name, R: panicking{}}
							}
						}
						return read(u, give)
					}
				})
			}
			goodAlone(t, bad)
		})
	}
}

// TestCommunicationPanics: a log, dump or export that meets a bug leaves the other files alone.
func TestCommunicationPanics(t *testing.T) {
	for f := Unknown; f <= Empty; f++ {
		record := f.row().record
		if record == nil {
			continue
		}
		t.Run(f.String(), func(t *testing.T) {
			bad := badFile(t, f)
			changed(t, f, func(r *row) { r.record = func(lim ingest.Limits) recorder { return oneOf(record(lim)) } })
			path := filepath.Join(folderOf(t, map[string]string{"victim": bad}), "victim")
			c, err := readComm(run, "../../fixtures/comm/inspector", path)
			if err != nil || len(c.Comm.Sources) < 2 {
				t.Fatalf("%+v, %v", c, err)
			}
			expectBug(t, c.Problems, path)
		})
	}
}

// oneOf is a recorder that panics at one file.
func oneOf(of recorder) recorder {
	return recorder{func(src *ingest.Source, name string) error {
		if name == "victim" {
			boom("reading")
		}
		return of.read(src, name)
	}, of.comms}
}

// TestJoiningPanics: what panics behind the readers is an error of what is read together, and
// nothing is read of it any more.
func TestJoiningPanics(t *testing.T) {
	dir := folderOf(t, map[string]string{"good.jsonl": packets(t, some(1)), "table.csv": table(some(3))})
	r, err := Open([]string{dir}, Options{Joined: true})
	if err != nil {
		t.Fatal(err)
	}
	joined := *r.units[0].row
	joined.read = func(u *unit, give func(part) bool) error { return u.windows(joining{}, give) }
	r.units[0].row = &joined
	n := 0
	for _, err = r.Next(); err == nil; _, err = r.Next() {
		n++
	}
	if n != 4 || err != io.EOF {
		t.Errorf("%d windows and %v, expected the 4 of the table", n, err)
	}
	expectBug(t, r.Problems(), filepath.Join(dir, "good.jsonl"))
}

type joining struct{ packet.Reader }

func (joining) Next() (*trace.Window, error) { boom("joining"); return nil, nil }
func (joining) Close() error                 { boom("closing"); return nil }
