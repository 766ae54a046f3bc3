// Package partitions keeps windows of many runs in a folder of archives that is
// partitioned by day and run, as Hive does it:
//
//	day=2026-05-05/run=job-42/windows-0001.parquet
//
// The day is that of the window's earliest epoch, in UTC. Windows are added in any
// order, again and again: one that is there already is left out, and one of which
// more ranks are known by now replaces what is there.
//
// A file holds one row group. The last file of a run and day takes windows until its
// row group is full: it is written anew with them, under a temporary name, and takes
// its own name by one rename. So there are no small files to bring together, and
// whoever reads while windows are added, or after the writer was killed, finds every
// window that was written once, and none twice. There is no other state than these files.
//
// Memory: the windows of one row group that wait, one more row group while a file is
// written, and about 100 bytes for each window of the runs that windows were added of.
package partitions

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/sfstat/sfstat/internal/disk"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// groupValues is how many values a row group of an archive holds, and so a file, unless one window
// has more: 419,000 rows of five stages.
const groupValues = 4 << 20

// lockName is the file that tells writers of one archive apart; readers skip it.
const lockName = ".lock"

// Archive is a folder that windows are added to. It is not safe for concurrent use.
type Archive struct {
	on      disk.Disk
	dir     string
	group   int // values of a file
	lock    *flock.Flock
	runs    map[string]*run
	waiting int // values that are not written
	written int // windows since Flush was called
}

// Open begins or goes on with the archive in dir, which is made if it is not there.
// Nobody else can write into it until Close.
func Open(dir string) (*Archive, error) { return OpenOn(disk.OS{}, dir) }

// OpenOn opens an archive as [Open] does, on a disk.
func OpenOn(on disk.Disk, dir string) (*Archive, error) {
	if err := on.Mkdir(dir, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	lock := flock.New(filepath.Join(dir, lockName))
	if got, err := lock.TryLock(); err != nil || !got {
		_ = lock.Close()
		if err == nil {
			err = fmt.Errorf("another process is writing into %s: wait for it, or name another folder", dir)
		}
		return nil, err
	}
	return &Archive{on: on, dir: dir, group: groupValues, lock: lock, runs: make(map[string]*run)}, nil
}

// Close gives the archive free. What was not flushed is dropped.
func (a *Archive) Close() error { return a.lock.Close() }

// run is what is known of the windows of one run.
type run struct {
	windows map[int64][]*entry // by number
	files   []*file            // by path
}

// entry is a window that is in a file, or waits to be written into one.
type entry struct {
	index, first, end int64 // steps from first to before end
	rank              int   // the first whose epoch is known
	epoch             int64 // 0: none is
	rows, arrivals    int
	cut               bool // a packet of it may have been cut off
	at                *file
}

func entryOf(w *trace.Window, at *file) *entry {
	e := &entry{index: w.Index, first: w.FirstStep, end: w.FirstStep + int64(w.Steps()), rows: w.Steps() * len(w.Ranks), arrivals: len(w.Arrivals), at: at}
	e.cut = slices.ContainsFunc(w.Notes, func(n input.Note) bool { return n.Kind == input.NoteTruncated })
	for r := range w.Epochs {
		if e.epoch == 0 {
			e.rank, e.epoch = w.Ranks[r].ID, w.Epochs[r]
		}
	}
	return e
}

// key tells the windows of a run in one file apart.
type key struct{ index, first, epoch int64 }

func (e *entry) key() key { return key{e.index, e.first, e.epoch} }

// isOfRecording reports whether e is of the same recording as w, as far as known: steps of
// one number overlap, and no rank began at another time.
func (e *entry) isOfRecording(w *trace.Window) bool {
	if e.end <= w.FirstStep || w.FirstStep+int64(w.Steps()) <= e.first {
		return false
	}
	for r := range w.Epochs {
		if w.Ranks[r].ID == e.rank && e.epoch != 0 && w.Epochs[r] != 0 {
			return w.Epochs[r] == e.epoch
		}
	}
	return true
}

// better reports whether e says more of a window than other.
func (e *entry) better(other *entry) bool {
	switch {
	case e.rows != other.rows:
		return e.rows > other.rows
	case e.arrivals != other.arrivals:
		return e.arrivals > other.arrivals
	}
	return !e.cut && other.cut
}

// Add takes a window, which is the archive's from now on. It is on disk after the next
// Flush, which comes by itself when a row group waits.
func (a *Archive) Add(w *trace.Window) error {
	r, err := a.run(w.Run)
	if err != nil {
		return err
	}
	e := entryOf(w, nil)
	var same []*entry
	for _, have := range r.windows[w.Index] {
		if have.isOfRecording(w) {
			same = append(same, have)
		}
	}
	for _, have := range same {
		// One rename replaces windows of one file.
		if !e.better(have) || have.at != same[0].at {
			return nil
		}
	}
	if len(same) > 0 {
		e.at = same[0].at
		e.at.replace(same, w)
		r.windows[w.Index] = slices.DeleteFunc(r.windows[w.Index], func(have *entry) bool { return slices.Contains(same, have) })
	} else {
		e.at = a.fileFor(r, w)
		e.at.add = append(e.at.add, w)
		e.at.values += valuesOf(w)
	}
	r.windows[w.Index] = append(r.windows[w.Index], e)
	if a.waiting += valuesOf(w); a.waiting >= a.group {
		err = a.flush()
	}
	return err
}

// Flush writes what waits and tells how many windows were written since it was called
// last. After an error the windows of that run that are not on disk are forgotten: they
// can be added again.
func (a *Archive) Flush() (written int, err error) {
	err = a.flush()
	written, a.written = a.written, 0
	return written, err
}

func (a *Archive) flush() (err error) {
	a.waiting = 0
	for name, r := range a.runs {
		for _, f := range r.files {
			n, failed := f.write()
			if failed != nil {
				delete(a.runs, name)
				err = errors.Join(err, failed)
				break
			}
			a.written += n
		}
	}
	return err
}

// Forget drops what is kept of runs that are not of use: it is read again when a window
// of theirs is added. What is dropped was flushed.
func (a *Archive) Forget(useless func(run string) bool) {
	maps.DeleteFunc(a.runs, func(name string, _ *run) bool { return useless(name) })
}

// fileFor returns the file that takes a window: the last one of its day and stages, or a
// new one when that is full.
func (a *Archive) fileFor(r *run, w *trace.Window) *file {
	folder := filepath.Join(a.dir, "day="+dayOf(w), "run="+escapeValue(w.Run))
	var last *file
	for _, f := range r.files {
		if filepath.Dir(f.path) == folder && slices.Equal(f.stages, w.Schema.Stages) {
			last = f
		}
	}
	if last != nil && last.values+valuesOf(w) <= a.group {
		return last
	}
	for n := 1; ; n++ {
		path := filepath.Join(folder, fmt.Sprintf("windows-%04d.parquet", n))
		if !slices.ContainsFunc(r.files, func(f *file) bool { return f.path == path }) {
			last = &file{on: a.on, path: path, stages: slices.Clone(w.Schema.Stages)}
			r.files = append(r.files, last)
			return last
		}
	}
}

// valuesOf returns how many values the rows of a window have, as archive.Writer counts them.
func valuesOf(w *trace.Window) int {
	return w.Steps() * len(w.Ranks) * (5 + len(w.Schema.Stages) + 2*len(w.Side))
}

// null is how Hive writes that a partition has no value.
const null = "__HIVE_DEFAULT_PARTITION__"

// dayOf returns when the window began on the first of its ranks.
func dayOf(w *trace.Window) string {
	began := int64(0)
	for _, e := range w.Epochs {
		if e != 0 && (began == 0 || e < began) {
			began = e
		}
	}
	if began == 0 {
		return null
	}
	return time.Unix(0, began).UTC().Format(time.DateOnly)
}

// escapeValue returns a value in the name of a folder: bytes that mean something there are
// written as %XX, which DuckDB, Spark and pyarrow read back.
func escapeValue(value string) string {
	if value == "" {
		return null
	}
	var b strings.Builder
	for _, c := range []byte(value) {
		if c <= ' ' || c == 0x7f || strings.IndexByte("\"#%'*/:=?\\{}[]^", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
