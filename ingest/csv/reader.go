package csv

import (
	"bytes"
	"errors"
	"io"
	"strconv"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace"
)

// Reader reads the windows of one table. It is an ingest.WindowReader.
type Reader struct {
	rec    records
	comma  byte
	layout *layout
	lim    ingest.Limits
	close  func() error

	record  []byte // the newest, parsed into
	row     row
	scratch []byte
	pending bool // row was read but belongs to the next window
	group   *group
	ready   []*trace.Window
	earlier earlier
	end     error // what Next returns when ready is empty
}

var _ ingest.WindowReader = (*Reader)(nil)

// row is one parsed record. It points into the record.
type row struct {
	line   int64
	window int64
	step   int64
	rank   int64
	wall   int64 // −1: empty
	times  []int64
	attrs  [numAttr][]byte
	values []sideCell // by channel
	blocks [][]byte   // the text of the layout's blocks, unless
	same   bool       // it is that of the rank's row before; then attrs has the run only
}

// sideCell are a row's two cells of a side channel.
type sideCell struct {
	value          float64
	ready          bool
	sampled, known bool // the first cell is not empty, the second
}

// NewReader reads the header of a table; file stands in errors and names the
// run where the table does not. Closing the reader closes r when it is an
// io.Closer.
func NewReader(r io.Reader, file string, lim ingest.Limits) (*Reader, error) {
	tail := &tail{r: r}
	c := &Reader{rec: records{lines: ingest.NewLines(tail, file, lim, nil), file: file, tail: tail}, lim: lim.OrDefault(), close: func() error { return nil }}
	if closer, ok := r.(io.Closer); ok {
		c.close = closer.Close
	}
	header, err := c.rec.next()
	if err == io.EOF {
		return nil, trace.At(trace.Pos{File: file}, trace.Bad(trace.ErrEmpty, "no header: a wide CSV has the columns step, rank and one for each stage"))
	}
	if err == nil {
		err = c.header(bytes.Clone(header))
	}
	if err != nil {
		return nil, trace.At(c.rec.pos(), err)
	}
	c.row.times = make([]int64, len(c.layout.stages))
	c.row.values = make([]sideCell, len(c.layout.channels))
	c.row.blocks = make([][]byte, len(c.layout.blocks))
	c.group = newGroup(c.layout, file)
	c.earlier.lately = make(map[windowKey]stretch)
	return c, nil
}

func (c *Reader) header(rec []byte) error {
	c.comma = sniffComma(rec)
	var names []string
	for done := false; !done; {
		var text []byte
		var err error
		if text, rec, done, err = cell(rec, c.comma, &c.scratch); err != nil {
			return err
		}
		if names = append(names, string(text)); len(names) > maxColumns {
			return trace.Bad(trace.ErrTooLarge, "more than %d columns", maxColumns)
		}
	}
	layout, err := newLayout(names)
	c.layout = layout
	return err
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
	if c.pending && c.row.same { // as what came before in a window that is gone
		if bad := c.cells(c.record, false); bad != nil {
			return c.place(bad.err, bad.column)
		}
	}
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
	cut := errors.Is(end, trace.ErrTruncated)
	switch {
	case cut && c.rec.tail.open && !errors.Is(end, errCutRow):
		c.group.dropLast() // its last number may lack digits
	case end != nil && end != io.EOF && !cut:
		return end
	}
	if end != nil {
		c.end = io.EOF
	}
	if c.group.empty() {
		return end
	}
	windows, err := c.group.windows(&c.earlier)
	if err != nil {
		return err
	}
	if cut {
		last := windows[len(windows)-1]
		last.Notes = append(last.Notes, trace.Note{Kind: trace.NoteTruncated, Text: end.Error()})
	}
	c.ready = windows
	return nil
}

// place puts an error at a column of the current row.
func (c *Reader) place(err error, column int) error {
	pos := c.rec.pos()
	if column >= 0 && column < len(c.layout.names) {
		pos.Inside = "column " + printable(c.layout.names[column])
	}
	return trace.At(pos, err)
}

// printable is a name for an error's one line.
func printable(name string) string {
	if quoted := strconv.Quote(name); quoted != `"`+name+`"` {
		return quoted
	}
	return name
}
