package packet

import (
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/ingesttest"
	"github.com/sfstat/sfstat/trace"
)

// opened is how many inputs of a test are open, and were at most.
type opened struct{ now, most int }

type counting struct {
	io.Reader
	of *opened
}

func (c counting) Close() error { c.of.now--; return nil }

func (o *opened) open(text string) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) {
		o.now++
		o.most = max(o.most, o.now)
		return counting{strings.NewReader(text), o}, nil
	}
}

// TestDue: of runs whose first one is known, the files of one are open at a time, and the windows are
// those of files that are all open. A file may go on with another run.
func TestDue(t *testing.T) {
	const runs, files = 20, 3
	var all, later []Stream
	var o opened
	for i := range runs {
		windows := ingesttest.Windows(uint64(i), 3, ingesttest.Shape{Ranks: files, Steps: 2, Stages: 2})
		texts := make([]string, files)
		for _, l := range linesOf(windows, 1) {
			texts[l.rank] += l.text
		}
		if i%4 == 0 { // goes on with two runs: one that comes later, and one that no file begins with
			for k, seed := range []uint64{uint64(i + 1), uint64(100 + i)} {
				more := ingesttest.Windows(seed, 5, ingesttest.Shape{Ranks: files, Steps: 2, Stages: 2})[3+k:]
				for _, l := range linesOf(more, 1) {
					texts[l.rank] += l.text
				}
			}
		}
		for rank, text := range texts {
			name := fmt.Sprintf("%02d-%d", (7*i)%runs, rank)
			all = append(all, Stream{Name: name, R: strings.NewReader(text)})
			later = append(later, Stream{Name: name, Run: windows[0].Run, Open: o.open(text)})
		}
	}
	read := func(streams []Stream) (windows []*trace.Window) {
		t.Helper()
		windows, err := ingesttest.ReadAll(NewReader(streams, Options{}))
		if err != nil {
			t.Fatal(err)
		}
		return windows
	}
	want := read(all)
	if got := read(later); gocmp.Diff(want, got) != "" {
		t.Errorf("%d windows, %d where all are open, or others:\n%s", len(got), len(want), gocmp.Diff(want, got))
	}
	if o.now != 0 || o.most > 8*files { // those that wait with another run stay open
		t.Errorf("%d inputs were open at a time, and %d are left", o.most, o.now)
	}
}

// TestNoMoreFiles: where no more files can be open, nothing is left out, and the error says how many
// files the run has. A file that is gone is refused alone.
func TestNoMoreFiles(t *testing.T) {
	line := linesOf(ingesttest.Windows(1, 1, ingesttest.Shape{Ranks: 1, Steps: 2, Stages: 2}), 1)[0].text
	var o opened
	streams := []Stream{{Name: "a", Run: "a", Open: o.open(strings.ReplaceAll(line, "run-1", "a"))}, {Name: "b", Run: "b"}, {Name: "c", Run: "b", Open: o.open(line)}}
	for _, c := range []struct {
		err     error
		windows int
		want    string
	}{
		{syscall.EMFILE, 1, "too many open files: run b has 2 files, and 0 of them are open: raise the limit (ulimit -n 68), or convert the run to an archive first"},
		{os.ErrNotExist, 2, ""},
	} {
		streams[1].Open = func() (io.ReadCloser, error) { return nil, c.err }
		r := NewReader(streams, Options{})
		n := 0
		_, err := r.Next()
		for ; err == nil; _, err = r.Next() {
			n++
		}
		if n != c.windows || c.want == "" && err != io.EOF || c.want != "" && (!ingest.Shortage(err) || err.Error() != c.want) {
			t.Errorf("%d windows and %v, expected %d and %q", n, err, c.windows, c.want)
		}
		if s := r.Summaries()[1]; c.want == "" && s.Err != c.err {
			t.Errorf("%+v, expected it to be refused", s)
		}
	}
}
