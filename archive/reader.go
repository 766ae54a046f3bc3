package archive

import (
	"cmp"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/internal/disk"
	"github.com/sfstat/sfstat/internal/parquet"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// Reader reads the windows of an archive. It is not safe for concurrent use.
type Reader struct {
	file    *parquet.File
	size    int64
	close   func() error
	name    string
	lim     ingest.Limits
	meta    *meta
	columns columns
	next    int          // position in meta.Windows
	taken   int          // steps of it that were read
	row     int64        // of the file, where the next of them begins
	beside  int          // columns that are read at a time; 0: one
	ahead   readAhead    // windows that were read and not given
	ranks   []trace.Rank // of the cohort
	cohort  int          // that was asked for last
	found   channelSamples
}

var _ ingest.WindowReader = (*Reader)(nil)

// columns are the cursors of an archive.
type columns struct {
	run, window, step, rank *parquet.Cursor
	stages                  []*parquet.Cursor
	wall                    *parquet.Cursor
	values, ready           []*parquet.Cursor // by channel
	epochs                  *parquet.Cursor   // nil: there are none
}

// Bounds on what is read: footers (which are in memory as long as the reader)
// and the part of a file's decompressed size that its compressed size does not
// have to earn.
const (
	maxFooter   = 64 << 20
	freeOfRatio = 64 << 20
)

// A window of more than windowFree bytes of times, and more than windowFold times those of the file, is read in
// parts, each with a windowParts-th of that: with few bytes a file may claim any number of steps.
const (
	windowFree  = 16 << 20
	windowFold  = 8
	windowParts = 8
)

// Open opens an archive. Close must be called.
func Open(path string, lim ingest.Limits) (*Reader, error) { return OpenOn(disk.OS{}, path, lim) }

// OpenOn opens a file as [Open] does, on a disk.
func OpenOn(on disk.Disk, path string, lim ingest.Limits) (*Reader, error) {
	f, err := on.Open(path)
	if err != nil {
		return nil, ingest.Unreadable(path, err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = input.At(input.Pos{File: path}, input.Bad(input.ErrType, "not a regular file: Parquet is read from its end, save it to a file first"))
	}
	if err == nil {
		var r *Reader
		if r, err = NewReader(f, info.Size(), path, lim); err == nil {
			r.close = f.Close
			return r, nil
		}
	}
	f.Close()
	return nil, err
}

// NewReader reads an archive of the given size; file names it in errors. The
// error is ErrNotArchive when the bytes are something else.
func NewReader(r io.ReaderAt, size int64, file string, lim ingest.Limits) (*Reader, error) {
	lim = lim.Scale(size)
	f, err := parquet.Open(parquet.Input{R: r, Size: size, Name: file}, parquet.Limits{Footer: min(lim.Line, maxFooter), Window: lim.Window, Held: lim.Pending})
	if errors.Is(err, parquet.ErrNotParquet) {
		return nil, input.At(input.Pos{File: file}, input.Bad(ErrNotArchive, "%v", errors.Unwrap(err)))
	}
	if err != nil {
		return nil, err
	}
	a := &Reader{file: f, size: size, close: func() error { return nil }, name: file, lim: lim}
	if err := a.open(); err != nil {
		return nil, a.place(err)
	}
	return a, nil
}

// place places an error in the file, unless it has a place.
func (a *Reader) place(err error) error { return input.At(input.Pos{File: a.name}, err) }

// open reads the metadata and finds the columns.
func (a *Reader) open() error {
	text, ok := a.file.Meta(Key)
	if !ok {
		return input.Bad(ErrNotArchive, "%s", foreign(a.file.Names()))
	}
	sum, _ := a.file.Meta(sumKey)
	m, err := parseMeta(text, sum)
	if err != nil {
		return err
	}
	if err := a.file.Check((freeOfRatio + a.lim.Ratio*a.size) / 8 / int64(len(a.file.Columns()))); err != nil {
		return err
	}
	a.meta = m
	if len(m.Windows) > 0 {
		if err := (trace.Schema{Stages: m.Stages}).Validate(); err != nil {
			return err
		}
	}
	if err := a.countRows(); err != nil {
		return err
	}
	return a.findColumns()
}

// foreign names what a Parquet file without our metadata is.
func foreign(columns []string) string {
	var names []string
	for _, name := range columns[:min(len(columns), 12)] {
		names = append(names, parquet.Printable(name))
	}
	has := func(name string) bool { return slices.Contains(columns, name) }
	say := "this Parquet file is not a window archive: it has no " + Key + " metadata"
	switch {
	case has("optype") || has("dp_rank") && has("start_ts"):
		return say + ", it looks like an operator trace (columns " + strings.Join(names, ", ") + ")"
	case has("window") && has("step") && has("rank"):
		return say + ", though the columns of one; a program that rewrote it has dropped them: convert it again from the packets"
	}
	return say + " (and no operator trace: no columns optype, start_ts), its columns are " + strings.Join(names, ", ")
}

// countRows refuses a table that has not the rows of its windows.
func (a *Reader) countRows() error {
	rows := a.file.Rows()
	for i, p := range a.meta.Windows {
		f := a.meta.Forms[p[0]]
		n := int64(len(a.meta.Cohorts[f.Cohort].Ranks))
		if int64(f.Steps) > rows/n {
			return input.Bad(input.ErrMissing, "the table has %d rows, too few for window %d of its metadata: rows were removed, convert it again", a.file.Rows(), i)
		}
		rows -= int64(f.Steps) * n
	}
	if rows != 0 {
		return input.Bad(input.ErrDuplicate, "the table has %d rows, %d more than its windows: rows were added, convert it again", a.file.Rows(), rows)
	}
	return nil
}

// findColumns finds the columns by the names that the writer gave them.
func (a *Reader) findColumns() error {
	have := a.file.Columns()
	var missing error
	find := func(c column) *parquet.Cursor {
		i := slices.IndexFunc(have, func(h parquet.Leaf) bool { return h.Name == c.name })
		var cursor *parquet.Cursor
		var err error
		switch {
		case i < 0:
			err = input.Bad(input.ErrMissing, "no column %q, which the metadata promise", c.name)
		case have[i].Type != c.typ:
			err = input.Bad(input.ErrType, "column %q is %s, expected %s", c.name, have[i].Type, c.typ)
		default:
			cursor, err = a.file.Cursor(i)
		}
		missing = cmp.Or(missing, err)
		return cursor
	}
	want, names := stageColumns(a.meta.Stages)
	cursors := make([]*parquet.Cursor, len(want))
	for i, c := range want {
		cursors[i] = find(c)
	}
	a.columns = columns{run: cursors[colRun], window: cursors[colWindow], step: cursors[colStep], rank: cursors[colRank],
		stages: cursors[firstStage : len(want)-1], wall: cursors[len(want)-1]}
	for _, name := range a.meta.Channels {
		value, ready := channelColumns(names, name)
		a.columns.values = append(a.columns.values, find(value))
		a.columns.ready = append(a.columns.ready, find(ready))
	}
	if a.meta.Epochs {
		a.columns.epochs = find(epochsOf(names))
	}
	return missing
}

// SetThreads makes Next read the columns of a few windows side by side, on so many threads at most.
func (a *Reader) SetThreads(threads int) {
	if threads > 1 {
		a.beside = threads
	}
}

// Next reads the next window. An error is the end: the next call has it again.
func (a *Reader) Next() (*trace.Window, error) {
	if len(a.ahead.windows) == 0 && a.ahead.err == nil {
		a.ahead = a.readNext()
	}
	if len(a.ahead.windows) > 0 {
		w := a.ahead.windows[0]
		a.ahead.windows = a.ahead.windows[1:]
		return w, nil
	}
	return nil, a.ahead.err
}

// HasArrivals reports whether windows that were written had arrivals, which an
// archive does not hold: they are in a file beside.
func (a *Reader) HasArrivals() bool { return a.meta.Arrivals }

// Ascends reports whether every window of a run begins behind the one before it: no step
// is there twice.
func (a *Reader) Ascends() bool {
	end := make(map[string]int64)
	for _, p := range a.meta.Windows {
		f := a.meta.Forms[p[0]]
		run := a.meta.Runs[f.Run]
		if p[2] < end[run] {
			return false
		}
		end[run] = p[2] + int64(f.Steps)
	}
	return true
}

// Close ends the reading. Closing again does nothing.
func (a *Reader) Close() error {
	end := a.close
	a.close = func() error { return nil }
	return end()
}
