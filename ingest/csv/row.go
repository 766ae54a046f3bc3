package csv

import (
	"bytes"
	"math"
	"strconv"

	"github.com/sfstat/sfstat/trace"
)

// cellError is an error at a column; −1 is the row as such.
type cellError struct {
	column int
	err    error
}

// maxStep keeps sums of steps within int64.
const maxStep = math.MaxInt64 / 4

// parse reads the next row. The last row of an input that ends inside of a
// line may be incomplete: then the error is errCutRow.
func (c *Reader) parse() error {
	rec, err := c.rec.next()
	if err != nil {
		if err == errOpenQuote {
			return c.place(errCutRow, -1)
		}
		return err
	}
	c.record = rec
	if bad := c.cells(rec, len(c.layout.blocks) > 0); bad != nil {
		if c.rec.atEnd() {
			return c.place(errCutRow, -1)
		}
		return c.place(bad.err, bad.column)
	}
	return nil
}

// cells parses a record into c.row. With skip, attributes are not parsed when
// their text is that of the rank's row before; when any is not, all are.
func (c *Reader) cells(rec []byte, skip bool) *cellError {
	l, row, whole := c.layout, &c.row, rec
	row.wall, row.window, row.same, c.scratch = -1, 0, skip, c.scratch[:0]
	clear(row.values)
	done, next := false, 0 // the next block
	for i := 0; i < len(l.columns); i++ {
		if done {
			return &cellError{-1, trace.Bad(trace.ErrRagged, "%d cells, the header has %d columns", i, len(l.columns))}
		}
		if next < len(l.blocks) && l.blocks[next].from == i {
			if skip {
				n := c.group.sameBlock(row.rank, next, rec, c.comma)
				if n < 0 {
					return c.cells(whole, false)
				}
				if done = n == len(rec); !done {
					rec = rec[n+1:]
				}
				i = l.blocks[next].to - 1
				next++
				continue
			}
			row.blocks[next] = rec
			next++
		}
		rest, last, err := c.cell(&l.columns[i], rec)
		if err != nil {
			return &cellError{i, err}
		}
		if b := next - 1; b >= 0 && l.blocks[b].to == i+1 && !skip {
			row.blocks[b] = row.blocks[b][:len(row.blocks[b])-len(rest)]
			if !last {
				row.blocks[b] = row.blocks[b][:len(row.blocks[b])-1] // the separator
			}
		}
		rec, done = rest, last
	}
	if !done {
		return &cellError{-1, trace.Bad(trace.ErrRagged, "more cells than the %d columns of the header", len(l.columns))}
	}
	row.line = c.rec.line
	return row.checkSide(l)
}

// cell parses the next cell of a record, which belongs to the column.
func (c *Reader) cell(col *column, rec []byte) (rest []byte, last bool, err error) {
	if col.kind <= wall {
		v, rest, last, ok := number(rec, c.comma)
		if ok {
			return rest, last, c.row.setNumber(col, v)
		}
	}
	if len(rec) > 0 && rec[0] == c.comma {
		return rec[1:], false, c.row.set(col, nil)
	}
	text, rest, last, err := cell(rec, c.comma, &c.scratch)
	if err == nil {
		err = c.row.set(col, text)
	}
	return rest, last, err
}

// setNumber sets a cell that holds a whole number from 0.
func (r *row) setNumber(c *column, v int64) error {
	switch c.kind {
	case stage:
		r.times[c.index] = v
	case wall:
		r.wall = v
	case window:
		r.window = v
	case step:
		if r.step = v; v > maxStep {
			return trace.Bad(trace.ErrOverflow, "step %d", v)
		}
	case rank:
		if r.rank = v; v >= trace.MaxRanks {
			return trace.Bad(trace.ErrTooLarge, "rank %d, expected 0 to %d", v, trace.MaxRanks-1)
		}
	}
	return nil
}

// set sets a cell of any kind.
func (r *row) set(c *column, text []byte) error {
	switch c.kind {
	case attr:
		r.attrs[c.index] = text
		return nil
	case value:
		return r.values[c.index].setValue(text)
	case ready:
		v, known, err := flag(text)
		r.values[c.index].ready, r.values[c.index].known = v, known
		return err
	case wall:
		if len(text) == 0 {
			return nil
		}
	case window:
		if len(text) == 0 {
			return nil
		}
		if digits, ok := bytes.CutPrefix(text, []byte("-")); ok {
			v, err := whole(digits)
			r.window = -v
			return err
		}
	}
	v, err := whole(text)
	if err != nil {
		return err
	}
	return r.setNumber(c, v)
}

func (s *sideCell) setValue(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return trace.Bad(trace.ErrType, "%.60q, expected a number, or nothing where no sample was taken", text)
	}
	s.value, s.sampled = v, true
	return nil
}

// flag parses true or false; known is false for an empty cell.
func flag(text []byte) (v, known bool, err error) {
	switch {
	case len(text) == 0:
		return false, false, nil
	case bytes.EqualFold(text, []byte("true")), string(text) == "1":
		return true, true, nil
	case bytes.EqualFold(text, []byte("false")), string(text) == "0":
		return false, true, nil
	}
	return false, false, trace.Bad(trace.ErrType, "%.60q, expected true or false", text)
}

// checkSide refuses samples that no window may have.
func (r *row) checkSide(l *layout) *cellError {
	for i, s := range r.values {
		var err error
		switch {
		case s.sampled != s.known:
			err = trace.Bad(trace.ErrRagged, "a sample and whether it is ready go together: one of the two cells of channel %q is empty", l.channels[i])
		case s.ready && (math.IsNaN(s.value) || math.IsInf(s.value, 0)):
			err = trace.Bad(trace.ErrNotFinite, "channel %q is %v and said to be ready", l.channels[i], s.value)
		case s.ready && s.value < 0:
			err = trace.Bad(trace.ErrNegative, "channel %q is %v", l.channels[i], s.value)
		}
		if err != nil {
			return &cellError{-1, err}
		}
	}
	return nil
}
