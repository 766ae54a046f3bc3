package partitions

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/klauspost/compress/zstd"

	"github.com/sfstat/sfstat/archive"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/packet"
	"github.com/sfstat/sfstat/internal/atomicfile"
	"github.com/sfstat/sfstat/internal/disk"
	"github.com/sfstat/sfstat/trace"
)

// file is one archive of a run and day, and what is to be written into it.
type file struct {
	on     disk.Disk
	path   string
	stages []string
	values int                   // with those that wait
	add    []*trace.Window       // behind what it holds
	put    map[key]*trace.Window // instead of what it holds; nil: nothing
}

// replace puts w in the place of the windows that it says more of.
func (f *file) replace(same []*entry, w *trace.Window) {
	place := func(at key, w *trace.Window) {
		if i := slices.IndexFunc(f.add, func(x *trace.Window) bool { return entryOf(x, nil).key() == at }); i >= 0 {
			f.add = slices.Delete(f.add, i, i+1)
			if w != nil {
				f.add = slices.Insert(f.add, i, w)
			}
			return
		}
		if f.put == nil {
			f.put = make(map[key]*trace.Window)
		}
		for old, waits := range f.put { // itself instead of another
			if waits != nil && entryOf(waits, nil).key() == at {
				at = old
			}
		}
		f.put[at] = w
	}
	place(same[0].key(), w)
	for _, more := range same[1:] {
		place(more.key(), nil)
	}
}

// run returns what the archive holds of a run, read when it is first asked for.
func (a *Archive) run(name string) (*run, error) {
	if r := a.runs[name]; r != nil {
		return r, nil
	}
	r := &run{windows: make(map[int64][]*entry)}
	days, err := a.on.ReadDir(a.dir)
	if err != nil {
		return nil, err
	}
	for _, day := range days {
		folder := filepath.Join(a.dir, day.Name(), "run="+escapeValue(name))
		if ok, _ := filepath.Match("day=*", day.Name()); !ok {
			continue
		}
		if err := atomicfile.RemoveStale(a.on, folder); errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, err
		}
		files, err := a.on.ReadDir(folder)
		if err != nil {
			return nil, err
		}
		for _, d := range files {
			if ok, _ := filepath.Match("windows-*.parquet", d.Name()); !ok {
				continue
			}
			f := &file{on: a.on, path: filepath.Join(folder, d.Name())}
			r.files = append(r.files, f)
			if err := f.eachWindow(func(w *trace.Window) error { r.have(f, w); return nil }); err != nil {
				return nil, err
			}
		}
	}
	a.runs[name] = r
	return r, nil
}

// have notes a window that is in a file.
func (r *run) have(f *file, w *trace.Window) {
	f.stages = w.Schema.Stages
	f.values += valuesOf(w)
	r.windows[w.Index] = append(r.windows[w.Index], entryOf(w, f))
}

// eachWindow reads the windows of a file, with their arrivals, one at a time.
func (f *file) eachWindow(fn func(*trace.Window) error) (err error) {
	a, err := archive.OpenOn(f.on, f.path, ingest.Limits{})
	if err != nil {
		return err
	}
	windows := ingest.WindowReader(a)
	beside := packet.SidecarPath(f.path)
	if src, missing := ingest.OpenOn(f.on, beside, ingest.Limits{}); missing == nil {
		windows = packet.JoinSidecar(a, src, beside, ingest.Limits{})
	} else if !errors.Is(missing, fs.ErrNotExist) {
		return errors.Join(missing, a.Close())
	}
	defer func() { err = errors.Join(err, windows.Close()) }()
	for {
		w, err := windows.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = fn(w)
		}
		if err != nil {
			return err
		}
	}
}

// write writes the file anew if something is to be added or replaced, and tells how
// many windows that were.
func (f *file) write() (written int, err error) {
	if len(f.add) == 0 && len(f.put) == 0 {
		return 0, nil
	}
	folder := filepath.Dir(f.path) // of its run, in that of its day
	for _, dir := range []string{filepath.Dir(folder), folder} {
		if err := f.on.Mkdir(dir, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return 0, err
		}
	}
	t, err := newTable(f.on, f.path)
	if err != nil {
		return 0, err
	}
	defer t.discard()
	if _, missing := f.on.Stat(f.path); missing == nil {
		err = f.eachWindow(func(w *trace.Window) error {
			if now, ok := f.put[entryOf(w, nil).key()]; ok {
				w = now
			}
			if w == nil {
				return nil
			}
			return t.write(w)
		})
	}
	for _, w := range f.add {
		if err == nil {
			err = t.write(w)
		}
	}
	if err == nil {
		err = t.commit()
	}
	if err != nil {
		return 0, err
	}
	for _, w := range f.put {
		if w != nil {
			written++
		}
	}
	written += len(f.add)
	f.add, f.put = nil, nil
	return written, nil
}

// table is a file that is written: the archive, and its arrivals beside.
type table struct {
	on     disk.Disk
	path   string
	rows   *atomicfile.File
	buffer *bufio.Writer
	writer *archive.Writer
	beside *atomicfile.File // nil: there are no arrivals
	packed *zstd.Encoder
	lines  *packet.SidecarWriter
}

func newTable(on disk.Disk, path string) (*table, error) {
	rows, err := atomicfile.CreateOn(on, path)
	if err != nil {
		return nil, err
	}
	buffer := bufio.NewWriterSize(rows, 64<<10)
	return &table{on: on, path: path, rows: rows, buffer: buffer, writer: archive.NewWriter(buffer)}, nil
}

func (t *table) write(w *trace.Window) (err error) {
	if err := t.writer.Write(w); err != nil {
		return fmt.Errorf("run %q, window %d: %w", w.Run, w.Index, err)
	}
	if len(w.Arrivals) == 0 {
		return nil
	}
	if t.beside == nil {
		if t.beside, err = atomicfile.CreateOn(t.on, packet.SidecarPath(t.path)); err != nil {
			return err
		}
		if t.packed, err = zstd.NewWriter(t.beside); err != nil {
			return err
		}
		t.lines = packet.NewSidecarWriter(t.packed)
	}
	return t.lines.Write(w)
}

// commit gives the files their names: the table first, as lines beside without their
// windows are refused, and windows without their lines are not. Who is killed between
// the two finds arrivals missing the next time, and writes them.
func (t *table) commit() error {
	err := t.writer.Close()
	if err == nil { // else Flush would say the same again
		err = t.buffer.Flush()
	}
	if err == nil && t.beside != nil {
		err = t.packed.Close()
	}
	if err == nil {
		err = t.rows.Commit()
	}
	if err == nil && t.beside != nil {
		err = t.beside.Commit()
	}
	return err
}

// discard drops what was not committed.
func (t *table) discard() {
	t.rows.Discard()
	if t.beside != nil {
		t.beside.Discard()
	}
}
