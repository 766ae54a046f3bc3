package parquet

import (
	"io"
	"math"
	"strconv"
)

// Text is the rows of a table as text, a null as nothing.
type Text struct {
	columns []*textColumn // nil for those that are not read
	cells   []string
	rows    int64 // that are left
}

// textColumn is a column of it, with rows that were read and not given.
type textColumn struct {
	cursor    *Cursor
	is        Type
	unsigned  bool
	run       Run
	row, next int // that are given next, and the value
}

// Text reads the columns for which read holds, and leaves the cells of the others empty.
func (f *File) Text(read func(column int) bool) (*Text, error) {
	t := &Text{columns: make([]*textColumn, len(f.Columns())), cells: make([]string, len(f.Columns())), rows: f.Rows()}
	for i, leaf := range f.Columns() {
		if !read(i) {
			continue
		}
		c, err := f.Cursor(i)
		if err != nil {
			return nil, err
		}
		t.columns[i] = &textColumn{cursor: c, is: leaf.Type, unsigned: leaf.Unsigned}
	}
	return t, nil
}

// Next returns the cells of the next row, which are valid until the next call; io.EOF after the last.
func (t *Text) Next() ([]string, error) {
	if t.rows == 0 {
		return nil, io.EOF
	}
	t.rows--
	for i, c := range t.columns {
		if c == nil {
			continue
		}
		var err error
		if t.cells[i], err = c.cell(); err != nil {
			return nil, err
		}
	}
	return t.cells, nil
}

func (c *textColumn) cell() (string, error) {
	if c.row == c.run.Rows {
		c.cursor.Forget()
		run, err := c.cursor.Next(math.MaxInt)
		if err != nil {
			return "", err
		}
		c.run, c.row, c.next = run, 0, 0
	}
	c.row++
	if c.next == len(c.run.Values) || c.run.Row(c.next) != c.row-1 {
		return "", nil
	}
	x := c.run.Values[c.next]
	c.next++
	switch {
	case c.is == TypeBytes:
		return c.cursor.Strings()[x], nil
	case c.is == TypeBoolean:
		return strconv.FormatBool(x != 0), nil
	case c.is == TypeFloat || c.is == TypeDouble:
		return strconv.FormatFloat(math.Float64frombits(uint64(x)), 'f', -1, 64), nil
	}
	if c.unsigned {
		return strconv.FormatUint(uint64(x), 10), nil
	}
	return strconv.FormatInt(x, 10), nil
}
