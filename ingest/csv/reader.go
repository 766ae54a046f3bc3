package csv

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/internal/parquet"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/sums"
)

// Reader reads the windows of one table. It is an ingest.WindowReader.
type Reader struct {
	rows   rows
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
	earlier earlier
	emptied emptied   // since the window before
	sums    sums.Rule // of the stages
	end     error     // what Next returns when ready is empty
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

// NewReader reads the header of a table; file stands in errors and names the
// run where the table does not. Closing the reader closes r when it is an
// io.Closer.
func NewReader(r io.Reader, file string, o Options) (*Reader, error) {
	var table rows = ingest.NewTable(r, file, o.Limits)
	end := func() {}
	if o.Ahead {
		a := newAhead(table)
		table, end = a, a.end
	}
	c, err := newReader(table, file, o)
	if err != nil {
		end()
		return nil, err
	}
	c.close = func() error {
		end()
		if closer, ok := r.(io.Closer); ok {
			return closer.Close()
		}
		return nil
	}
	return c, nil
}

func newReader(rows rows, file string, o Options) (*Reader, error) {
	c := &Reader{sums: sums.Rule{Whole: sums.WallTime}, rows: rows, lim: o.Limits.OrDefault(), close: func() error { return nil }}
	names, err := rows.Header()
	if err == io.EOF {
		return nil, input.At(input.Pos{File: file}, input.Bad(input.ErrEmpty, "no header: a table of windows has the columns step, rank and one for each stage"))
	}
	said := o.Unit
	operators, isTimed := operatorColumns(names)
	if err == nil && isTimed {
		c.rows, names, err = serialize(rows, names, operators, c, o.Unit)
		said, o.Unit = cmp.Or(operators.units[1], o.Unit), Nanoseconds
	} else if at, unit, isLong := longColumns(names); err == nil && isLong {
		said = cmp.Or(unit, o.Unit)
		o.Unit = said
		c.rows, names, err = widen(rows, names, at, c.lim.Pending)
	}
	if err == nil {
		c.layout, err = newLayout(names, o.Unit)
	}
	if c.layout != nil && isTimed {
		c.layout.unsaid = nil // one column has the times of all operators: none of them has a unit of its own
	}
	if err != nil {
		return nil, input.At(rows.Pos(), err)
	}
	c.notes, c.unit, c.ask = append(c.notes, c.layout.notes()...), said, true
	c.row.times = make([]int64, len(c.layout.stages))
	c.row.values = make([]sideCell, len(c.layout.channels))
	c.group = newGroup(c.layout, file)
	c.earlier.lately = make(map[windowKey]stretch)
	return c, nil
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

// fill reads the rows of one window and makes it, or the several that it is.
func (c *Reader) fill() error {
	var end error
	for {
		if !c.pending {
			if end = c.parse(); end != nil {
				break
			}
		}
		if c.pending = !c.group.accepts(&c.row); c.pending {
			break
		}
		if err := c.group.add(&c.row, c.lim.Pending); err != nil {
			return c.place(err.err, err.column)
		}
	}
	cut := errors.Is(end, input.ErrTruncated)
	if end != nil && end != io.EOF && !cut {
		return end
	}
	if end != nil {
		c.end = io.EOF
	}
	if c.group.empty() {
		if c.emptied.rows > 0 && end == io.EOF && !c.made {
			return c.nothingLeft()
		}
		return end
	}
	c.made = true
	windows, err := c.group.windows(&c.earlier)
	if err != nil {
		return err
	}
	if cut {
		last := windows[len(windows)-1]
		last.Notes = append(last.Notes, input.Note{Kind: input.NoteTruncated, Text: end.Error()})
	}
	c.sums.Apply(windows)
	c.understood(windows[0])
	c.ready = windows
	return nil
}

// understood notes on the first window how the table was read.
func (c *Reader) understood(w *trace.Window) {
	w.Notes = append(w.Notes, c.notes...)
	if c.ask {
		w.Notes = append(w.Notes, c.layout.doubts(w, c.unit)...)
	}
	c.notes, c.ask = nil, false
	if n := c.emptied.rows; n > 0 {
		column := strconv.Quote(c.layout.names[c.emptied.column])
		text := fmt.Sprintf("a row without a value in column %s is left out, at line %d", column, c.emptied.line)
		if n > 1 {
			text = fmt.Sprintf("%d rows without a value in a stage are left out, the first at line %d (column %s)", n, c.emptied.line, column)
		}
		w.Notes = append(w.Notes, input.Note{Kind: input.NoteRowsEmpty, Text: text})
		c.emptied = emptied{}
	}
}

// nothingLeft is the error of a table in which every row lacks a value.
func (c *Reader) nothingLeft() error {
	pos := c.rows.Pos()
	pos.Line, pos.Inside = c.emptied.line, "column "+parquet.Printable(c.layout.names[c.emptied.column])
	return input.At(pos, input.Bad(input.ErrMissing, "no row has a value in every stage, this one has none here: leave the column out where it is no stage"))
}

// place puts an error at a column of the current row.
func (c *Reader) place(err error, column int) error {
	pos := c.rows.Pos()
	if column >= 0 && column < len(c.layout.names) {
		pos.Inside = "column " + parquet.Printable(c.layout.names[column])
	}
	return input.At(pos, err)
}
