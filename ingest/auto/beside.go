package auto

import (
	"os"
	"strings"

	"github.com/sfstat/sfstat/archive"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/packet"
	"github.com/sfstat/sfstat/trace/input"
)

// isBeside reports whether c lies beside a table of windows, with which it is
// read, and then says so in its input.
func isBeside(c candidate, in *Input) bool {
	table, ok := strings.CutSuffix(c.path, packet.SidecarSuffix)
	if !ok || c.err != nil || !exists(table) {
		return false
	}
	in.Format, in.MetaOf = Arrivals, table
	if info, err := os.Stat(c.path); err == nil {
		in.Bytes = info.Size()
	}
	return true
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// tableOf hands on the windows of a table, with what lies beside it if anything does, and closes it.
func (u *unit) tableOf(windows ingest.WindowReader, give func(part) bool) error {
	r, path := u.r, packet.SidecarPath(u.inputs[0].Path)
	a, isArchive := windows.(*archive.Reader)
	if isArchive {
		a.SetThreads(r.o.Threads)
	}
	if exists(path) {
		src, err := ingest.OpenOn(r.o.Disk, path, r.o.Limits)
		if err != nil {
			windows.Close()
			return err
		}
		return u.windows(ingest.NewOnce(packet.JoinSidecar(windows, src, path, r.o.Limits)), give)
	}
	if isArchive && a.HasArrivals() {
		if err := r.noteMissingArrivals(path); err != nil {
			windows.Close()
			return err
		}
	}
	if !isArchive || !a.Ascends() {
		windows = ingest.NewOnce(windows)
	}
	return u.windows(windows, give)
}

// noteMissingArrivals notes as a problem that nothing is at path beside an archive which says
// that its windows have arrivals. Under ingest.FirstError that is an error.
func (r *Reader) noteMissingArrivals(path string) error {
	err := input.At(input.Pos{File: path}, input.Bad(input.ErrMissing,
		"the arrivals of the archive are not there: move the two together, or convert the packets again"))
	if r.o.Strict == ingest.FirstError {
		return err
	}
	r.problems = append(r.problems, Problem{path, err})
	return nil
}
