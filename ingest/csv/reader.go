package csv

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/internal/parquet"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/sums"
)

// Reader reads the windows of one table. It is an ingest.WindowReader.
type Reader struct {
	rows   rows
	names  []string // of the columns of rows
	layout *layout
	lim    ingest.Limits
	close  func() error

	row     row
	pending bool // row was read but belongs to the next window
	group   *group
	ready   []*trace.Window
	notes   []input.Note // of the first window
	made    bool         // is there a window
	unit    Unit         // that the caller said
	ask     bool         // about the unit of its times
	earlier closedWindows
	emptied emptyCells  // since the window before
	read    int         // rows since then
	after   error       // what ended the table behind the rows that were collected; nil: others follow
	tail    tail        // what the last cells of rows look like
	apart   bool        // other files have the other ranks, with which windows are understood
	broken  *brokenRows // that are left out; nil: one is an error
	clocks  clocks      // among the stages
	sums    sums.Rule   // of the stages
	end     error       // what Next returns when ready is empty
}

var _ ingest.WindowReader = (*Reader)(nil)

// rows are the rows of a table. ingest.Table has them for text.
type rows interface {
	Header() ([]string, error)
	Next() ([]string, error) // valid until the next call; io.EOF after the last
	Pos() input.Pos          // of the row that was returned last
	AtEnd() bool             // does the input end inside of it
}

// Options change how tables are read. The zero value means the defaults.
type Options struct {
	Limits ingest.Limits
	Unit   Unit // of times in columns whose name says none
	Ahead  bool // text is split into rows on a thread of its own
}

// A Source is the rows of a table that is open, however they are stored.
type Source struct {
	rows rows
	file string
	lim  ingest.Limits
	in   io.Closer

	small bool // it is not worth a thread of its own
}

// smallText is how many bytes of text, as stored, are not worth a thread of their own.
const smallText = 64 << 10

// NewText returns the rows of a table of text; file stands in errors. Closing them closes r where it is an io.Closer.
func NewText(r io.Reader, file string, lim ingest.Limits) *Source {
	size := ingest.StoredSize(r)
	lim = lim.Scale(size)
	return &Source{rows: ingest.NewTableBehind(r, file, lim, IsHeader), file: file, lim: lim, in: closerOf(r), small: size >= 0 && size <= smallText}
}

// closerOf returns what closes a reader; nil: nothing.
func closerOf(r io.Reader) io.Closer {
	c, _ := r.(io.Closer)
	return c
}

// Close closes what the rows are read from.
func (s *Source) Close() error {
	if s.in == nil {
		return nil
	}
	return s.in.Close()
}

// NewReader opens a table of text.
func NewReader(r io.Reader, file string, o Options) (*Reader, error) {
	return Open(NewText(r, file, o.Limits), o)
}

// Open reads the header of a table; its file names the
// run where the table does not. Closing the reader closes the source.
func Open(in *Source, o Options) (*Reader, error) {
	o.Limits = in.lim
	table, end := in.rows, func() {}
	if _, text := table.(*ingest.Table); text && o.Ahead && !in.small {
		a := newAhead(table)
		table, end = a, a.end
	}
	c, err := newReader(table, in.file, o)
	if err != nil {
		end()
		return nil, err
	}
	c.close = func() error {
		end()
		return in.Close()
	}
	return c, nil
}

func newReader(rows rows, file string, o Options) (*Reader, error) {
	c := &Reader{sums: sums.Rule{Whole: sums.WallTime}, rows: rows, lim: o.Limits.OrDefault(), close: func() error { return nil }}
	names, err := rows.Header()
	if err == io.EOF {
		return nil, input.At(input.Pos{File: file}, input.Bad(input.ErrEmpty, "no header: a table of windows has the columns step, rank and one for each stage"))
	}
	pos := rows.Pos()
	if err == nil {
		err = c.shape(names, o)
	}
	_, ranked := rows.(*rankedRows)
	if ranked {
		names = names[:len(names)-1]
	}
	if err != nil {
		return nil, input.At(pos, err)
	}
	if ranked {
		c.layout.added = 1
	}
	c.notes, c.ask = append(c.notes, c.layout.notes()...), true
	c.row.times = make([]int64, len(c.layout.stages))
	c.row.values = make([]sideCell, len(c.layout.channels))
	c.row.numbers = c.layout.numbers
	c.tail.column = c.layout.timeColumn(names[len(names)-1])
	c.group = newGroup(c.layout, file)
	c.earlier.lately = make(map[windowKey]stretch)
	return c, nil
}

// shape makes a row for each step and rank of the rows of a table, whatever it has a row for, and finds out what its columns hold.
func (c *Reader) shape(names []string, o Options) (err error) {
	c.unit = o.Unit
	in := newSampled(c.rows)
	c.rows = in
	names = trimExtraCells(secondHeader(trimQuotes(names), in), in)
	operators, isTimed := operatorColumns(names)
	ranked, header, hasRanks := ranksInNames(names)
	long, isLong := longColumns(names)
	switch {
	case isTimed:
		c.rows, names, err = serialize(in, names, operators, c, o.Unit)
		c.unit, o.Unit = cmp.Or(operators.units[1], o.Unit), Nanoseconds
	case isLong:
		c.unit = cmp.Or(long.said, o.Unit)
		o.Unit = c.unit
		c.rows, names, err = widen(in, names, long, c.lim.Pending)
	case hasRanks:
		ranked.rows = in
		c.rows, names = &ranked, header
	}
	if err != nil {
		return err
	}
	if in, err = c.renumber(names); err != nil {
		return err
	}
	names = c.names
	if c.layout, err = newLayout(names, o.Unit, in.sample()); err != nil {
		return err
	}
	if isTimed {
		c.layout.unsaid = nil // one column has the times of all operators: none of them has a unit of its own
	}
	return nil
}

// renumber numbers the ranks and steps of rows, and samples what comes of it.
func (c *Reader) renumber(names []string) (in *sampledRows, err error) {
	in, ok := c.rows.(*sampledRows)
	if !ok {
		in = newSampled(c.rows)
	}
	rows, header, said, err := renumberRows(in, unitRow(names, in), c.lim.Pending)
	if err != nil {
		return nil, err
	}
	if said != "" {
		c.notes = append(c.notes, input.Note{Kind: input.NoteRanksNumbered, Text: said})
	}
	if in, ok = rows.(*sampledRows); !ok {
		in = newSampled(rows)
	}
	c.rows, c.names = in, header
	return in, nil
}

// Close ends the reading. Closing again does nothing.
func (c *Reader) Close() error {
	end := c.close
	c.close = func() error { return nil }
	return end()
}

// Next reads the next window.
func (c *Reader) Next() (*trace.Window, error) {
	for len(c.ready) == 0 {
		if c.end != nil {
			return nil, c.end
		}
		if err := c.fill(); err != nil {
			c.end = err
			return nil, err
		}
	}
	w := c.ready[0]
	c.ready = c.ready[1:]
	return w, nil
}

// fill makes the next windows: of the rows of one window, or a stretch of them, or the several windows that they are.
func (c *Reader) fill() error {
	if !c.group.hasShelved() {
		end, err := c.collect()
		if err != nil {
			return err
		}
		c.after = end
		if c.group.empty() {
			if c.emptied.rows > 0 && end == io.EOF && !c.made {
				return c.errNoCompleteRow()
			}
			return end
		}
		c.made = true
		if err := c.group.finish(&c.earlier, c.lim.Pending); err != nil {
			return err
		}
	}
	windows, err := c.group.windows(c.lim.Pending)
	if err != nil {
		return err
	}
	if c.after != nil && !c.group.hasShelved() {
		c.end = io.EOF
		if c.after != io.EOF {
			last := windows[len(windows)-1]
			last.Notes = append(last.Notes, input.Note{Kind: input.NoteTruncated, Text: c.after.Error()})
		}
	}
	if windows, err = c.plausible(windows); err != nil || len(windows) == 0 {
		return err
	}
	c.noteReading(windows[0])
	c.ready = windows
	return nil
}

// collect reads the rows of one window. end is what ended the table behind them, nil where rows of another window follow.
func (c *Reader) collect() (end, err error) {
	for {
		if !c.pending {
			if end = c.parse(); end != nil {
				break
			}
		}
		if c.pending = !c.group.accepts(&c.row); c.pending {
			break
		}
		if err := c.group.add(&c.row, c.lim); err != nil {
			return nil, c.place(err.err, err.column)
		}
	}
	if end == io.EOF && c.tail.isCut() && c.rows.AtEnd() && c.group.dropLast() {
		end = c.place(c.tail.err(), c.tail.column)
	}
	if end != nil && end != io.EOF && !errors.Is(end, input.ErrTruncated) {
		return nil, end
	}
	return end, nil
}

// plausible returns windows without running totals and sums of other stages; times of ranks in several units are refused.
func (c *Reader) plausible(windows []*trace.Window) ([]*trace.Window, error) {
	if c.apart {
		return windows, nil
	}
	if c.layout.own {
		c.sums.Apply(windows)
		return windows, nil
	}
	if windows = c.clocks.apply(windows); len(windows) == 0 {
		return nil, nil
	}
	c.sums.Apply(windows)
	if c.unit == Unsaid {
		if err := mixedUnits(windows); err != nil {
			return nil, input.At(input.Pos{File: c.rows.Pos().File}, err)
		}
	}
	return windows, nil
}

// noteReading notes on the first window how the table was read.
func (c *Reader) noteReading(w *trace.Window) {
	w.Notes = append(w.Notes, c.notes...)
	if c.ask {
		w.Notes = append(w.Notes, c.layout.doubts(w, c.unit)...)
	}
	c.notes, c.ask = nil, false
	if c.emptied.rows > 0 {
		w.Notes = append(w.Notes, input.Note{Kind: input.NoteRowsEmpty, Text: c.emptied.text(c.layout, c.read)})
		c.emptied = emptyCells{}
	}
	c.read = 0
}

// text names which cells of so many rows have no value.
func (e *emptyCells) text(l *layout, rows int) string {
	name, _ := splitUnit(l.names[e.first.empty])
	cell := fmt.Sprintf("step %d, rank %d, %s", e.first.step, e.first.rank, strings.TrimPrefix(name, prefixStage))
	all := thousands(rows * len(l.stages))
	if e.cells == 1 {
		return fmt.Sprintf("1 of %s cells is empty: %s; its row is left out", all, cell)
	}
	return fmt.Sprintf("%s of %s cells are empty, the first at %s (line %d); the rows are left out", thousands(e.cells), all, cell, e.first.line)
}

// thousands writes a number with commas between its thousands.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// errNoCompleteRow returns the error of a table in which every row lacks a value.
func (c *Reader) errNoCompleteRow() error {
	pos := c.rows.Pos()
	pos.Line, pos.Inside = c.emptied.first.line, "column "+parquet.Printable(c.layout.names[c.emptied.first.empty])
	return input.At(pos, input.Bad(input.ErrMissing, "no row has a value in every stage, this one has none here: a number is expected, in a column of its own"))
}

// place puts an error at a column of the current row.
func (c *Reader) place(err error, column int) error {
	pos := c.rows.Pos()
	if column >= 0 && column < len(c.layout.names) {
		pos.Inside = "column " + parquet.Printable(c.layout.names[column])
	}
	return input.At(pos, err)
}
