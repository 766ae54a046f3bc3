package export

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/ingest/nsight/internal/sqlite"
	"github.com/sfstat/sfstat/trace/input"
)

// Absent is the value of an integer that the file does not have, by column or
// by row.
const Absent = math.MinInt64

// column is a column that is wanted, and where its value goes: to an integer,
// a text or bytes; with both of the former to the integer, and to the text
// what is none.
type column struct {
	name string
	num  *int64
	text *string
	blob *[]byte
}

// rowNumber is the column that every table has.
const rowNumber = "rowid"

// find is a table of the file; of a File that was not opened there is none.
func (f *File) find(table string) (*sqlite.Table, bool) {
	if f.db == nil {
		return nil, false
	}
	return f.db.Table(table)
}

// Has reports whether the file has the table with these columns.
func (f *File) Has(table string, columns ...string) bool {
	t, ok := f.find(table)
	for _, c := range columns {
		ok = ok && slices.Contains(t.Columns, c)
	}
	return ok
}

// cursor goes through the rows of a table and fills its columns from each.
type cursor struct {
	file    *File
	table   string
	columns []column
	at      []int        // of each in the table; −1: the number of the row
	rows    *sqlite.Rows // nil: the table is absent
	row     int64        // number of the row at hand, Absent before the first
}

// open starts going through a table, in the order of the file or of a column that the caller knows
// to be there.
func (f *File) open(table, by string, columns ...column) (*cursor, error) {
	c := &cursor{file: f, table: table, row: Absent}
	t, ok := f.find(table)
	for _, column := range columns {
		column.clear()
		switch {
		case !ok:
		case column.name == rowNumber:
			c.columns, c.at = append(c.columns, column), append(c.at, -1)
		case slices.Contains(t.Columns, column.name):
			c.columns, c.at = append(c.columns, column), append(c.at, slices.Index(t.Columns, column.name))
		}
	}
	if !ok {
		return c, nil
	}
	if by == "" {
		c.rows = f.db.Rows(t)
		return c, nil
	}
	var err error
	c.rows, err = f.db.Sorted(t, slices.Index(t.Columns, by), integer)
	return c, c.place(err)
}

// next goes to the next row; more is false after the last.
func (c *cursor) next() (more bool, err error) {
	if c.rows == nil {
		return false, nil
	}
	if !c.rows.Next() {
		return false, c.place(c.rows.Err())
	}
	c.row = c.rows.ID
	for i, column := range c.columns {
		if c.at[i] < 0 {
			*column.num = c.row
			continue
		}
		column.fill(c.rows.Value(c.at[i]))
	}
	return true, nil
}

// place says in which row an error was met; nil is none.
func (c *cursor) place(err error) error {
	if err == nil { // as for nearly every row: saying where it is costs more than reading it
		return nil
	}
	inside := c.table
	if c.row != Absent {
		inside = fmt.Sprintf("%s#%d", c.table, c.row)
	}
	return input.At(input.Pos{File: c.file.path, Inside: inside}, explain(err))
}

// scan calls each with every row of a table, in the order of the file. Where
// the table is absent there are none.
func (f *File) scan(table string, columns []column, each func() error) error {
	c, err := f.open(table, "", columns...)
	for err == nil {
		var more bool
		if more, err = c.next(); err != nil || !more {
			break
		}
		err = c.place(each())
	}
	return err
}

func (c column) clear() {
	if c.num != nil {
		*c.num = Absent
	}
	if c.blob != nil {
		*c.blob = nil
	}
	if c.text != nil {
		*c.text = ""
	}
}

// fill takes a value as SQLite stored it, which need not be of the type that
// the table declares.
func (c column) fill(v sqlite.Value) {
	if c.num != nil {
		if *c.num = integer(v); c.text == nil {
			return
		}
		if *c.num != Absent {
			*c.text = ""
			return
		}
	}
	switch {
	case c.blob != nil: // the column of payloads is declared as text and holds blobs
		*c.blob = v.Bytes
	case v.Kind == sqlite.Integer:
		*c.text = strconv.FormatInt(v.Int, 10)
	default:
		*c.text = strings.ToValidUTF8(string(v.Bytes), "\uFFFD")
	}
}

func integer(v sqlite.Value) int64 {
	switch {
	case v.Kind == sqlite.Integer:
		return v.Int
	case v.Kind == sqlite.Real && v.Real > -1<<62 && v.Real < 1<<62:
		return int64(v.Real)
	case v.Kind == sqlite.Text:
		if n, err := strconv.ParseInt(string(v.Bytes), 10, 64); err == nil {
			return n
		}
	}
	return Absent
}
