package follow

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/packet"
	"github.com/sfstat/sfstat/internal/disk"
	"github.com/sfstat/sfstat/trace"
)

// ErrRewritten: what is read does not go on from what was read before; read all anew, as after any other error.
var ErrRewritten = errors.New("the files do not go on from what was read of them")

// Tail reads the windows that come into the packets of a plain unit. The zero Tail
// has read nothing.
type Tail struct {
	Open int              // windows that are not handed on yet: some ranks have not written them
	at   map[string]mark  // by path
	ends map[string]int64 // by run, the step after the last window
}

// Clone returns a Tail that reads on from the same position.
func (t *Tail) Clone() Tail {
	return Tail{t.Open, maps.Clone(t.at), maps.Clone(t.ends)}
}

// mark is where in a file what was not handed on begins, and what stands before it.
type mark struct {
	offset int64
	before []byte
}

// marked is how much of what stands before a mark is kept: that it is still there shows
// that the file was not written anew.
const marked = 256

// window is where a packet belongs.
type window struct {
	Run   string `json:"run"`
	Index int64  `json:"window"`
}

// Read hands on each window that is complete or followed by another of its run, once.
// After an error the Tail is of no more use. Time and memory grow with what was
// appended and with what is open.
func (t *Tail) Read(u *Unit, each func(*trace.Window) error) error {
	if t.at == nil {
		t.at, t.ends = make(map[string]mark), make(map[string]int64)
	}
	last := make(map[string]*trace.Window) // of each run
	files, cut, err := t.windows(u, func(w *trace.Window) error {
		err := t.hand(last[w.Run], each)
		last[w.Run] = w
		return err
	})
	defer closeAll(files)
	switch {
	case err != nil:
		return err
	case cut: // where more follows, what is no whole packet is refused
		return ErrRewritten
	}
	open := make(map[window]int) // packets
	for run, w := range last {
		if len(w.Missing()) > 0 {
			open[window{run, w.Index}] = len(w.Ranks)
			continue
		}
		if err := t.hand(w, each); err != nil {
			return err
		}
	}
	t.Open = len(open)
	return t.advance(files, open)
}

// Rest hands on the windows that are open, as they are. They are handed on again when
// they are complete or followed by another.
func (t *Tail) Rest(u *Unit, each func(*trace.Window) error) error {
	files, _, err := t.windows(u, each)
	closeAll(files)
	return err
}

// windows hands on all windows from where reading goes on, and reports whether a file ends inside of a packet. The files
// are open.
func (t *Tail) windows(u *Unit, each func(*trace.Window) error) (files []section, cut bool, err error) {
	streams, files, err := t.streams(u)
	if err != nil || len(streams) == 0 {
		return files, false, err
	}
	r := packet.NewReader(streams, packet.Options{Policy: ingest.FirstError})
	for {
		w, err := r.Next()
		if err == io.EOF {
			return files, slices.ContainsFunc(r.Summaries(), func(s packet.Summary) bool { return s.Cut }), nil
		}
		if err == nil {
			err = each(w)
		}
		if err != nil {
			return files, false, err
		}
	}
}

// hand hands on a window that goes on where the last one of its run ended.
func (t *Tail) hand(w *trace.Window, each func(*trace.Window) error) error {
	if w == nil {
		return nil
	}
	if w.FirstStep < t.ends[w.Run] {
		return ErrRewritten
	}
	t.ends[w.Run] = w.FirstStep + int64(w.Steps())
	return each(w)
}

// section is the whole lines of a file from where reading goes on.
type section struct {
	disk.File
	path     string
	from, to int64
}

func closeAll(files []section) {
	for _, f := range files {
		f.Close()
	}
}

// bytesBefore returns the last bytes before an offset.
func (f section) bytesBefore(at int64) ([]byte, error) {
	if at == 0 {
		return nil, nil
	}
	b := make([]byte, min(at, marked))
	_, err := f.ReadAt(b, at-int64(len(b)))
	return b, err
}

func (t *Tail) streams(u *Unit) (streams []packet.Stream, files []section, err error) {
	for _, f := range u.Files {
		file, err := u.on.Open(f.Path)
		if err != nil {
			return nil, files, err
		}
		s := section{File: file, path: f.Path, from: t.at[f.Path].offset}
		files = append(files, s)
		info, err := file.Stat()
		if err != nil {
			return nil, files, err
		}
		if now, err := s.bytesBefore(s.from); err != nil || !os.SameFile(info, f.info) || !bytes.Equal(now, t.at[f.Path].before) {
			return nil, files, ErrRewritten
		}
		if s.to, err = lastLineEnd(file, s.from, info.Size()); err != nil {
			return nil, files, err
		}
		files[len(files)-1] = s
		if s.to > s.from {
			streams = append(streams, packet.Stream{Name: f.Path, R: io.NewSectionReader(file, s.from, s.to-s.from)})
		}
	}
	return streams, files, nil
}

// block is how much of a file is read at a time from its end.
const block = 256 << 10

// lastLineEnd returns where the last whole line of a part of a file ends.
func lastLineEnd(f io.ReaderAt, from, to int64) (int64, error) {
	buffer := make([]byte, min(block, to-from))
	for to > from {
		part := buffer[:min(int64(len(buffer)), to-from)]
		if _, err := f.ReadAt(part, to-int64(len(part))); err != nil {
			return from, err
		}
		if i := bytes.LastIndexByte(part, '\n'); i >= 0 {
			return to - int64(len(part)) + int64(i) + 1, nil
		}
		to -= int64(len(part))
	}
	return from, nil
}

// advance goes past all lines but those of open windows, which stand at the ends of
// the files. Where they do not, as in a file that is ordered by rank, what is appended cannot be read alone.
func (t *Tail) advance(files []section, open map[window]int) error {
	for _, f := range files {
		at, err := f.openWindowsStart(open)
		if err != nil {
			return err
		}
		before, err := f.bytesBefore(at)
		if err != nil {
			return err
		}
		t.at[f.path] = mark{at, before}
	}
	for _, missing := range open {
		if missing > 0 {
			return ErrRewritten
		}
	}
	return nil
}

// openWindowsStart returns where the packets of open windows at the end of a section begin. It takes
// them off what is to be found.
func (f section) openWindowsStart(open map[window]int) (int64, error) {
	at := f.to
	for at > f.from && len(open) > 0 {
		begin, err := lastLineEnd(f.File, f.from, at-1) // of the last line
		if err != nil {
			return at, err
		}
		line := make([]byte, at-begin)
		if _, err := f.ReadAt(line, begin); err != nil {
			return at, err
		}
		if len(bytes.TrimSpace(line)) == 0 {
			at = begin
			continue
		}
		var w window
		if json.Unmarshal(line, &w) != nil {
			return at, ErrRewritten
		}
		if _, is := open[w]; !is {
			break
		}
		open[w]--
		at = begin
	}
	return at, nil
}
