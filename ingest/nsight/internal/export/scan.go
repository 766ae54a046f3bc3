package export

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

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

// Has reports whether the file has the table with these columns.
func (f *File) Has(table string, columns ...string) bool {
	have, ok := f.tables[table]
	for _, c := range columns {
		ok = ok && slices.Contains(have, c)
	}
	return ok
}

// cursor goes through the rows of a table and fills its columns from each.
type cursor struct {
	file    *File
	table   string
	columns []column
	rows    driver.Rows // nil: the table is absent
	values  []driver.Value
	row     int64 // number of the row at hand, Absent before the first
	sorted  bool  // by SQLite: row numbers do not ascend
	failed  bool  // closing says again what next said
}

// open starts going through a table. tail is what follows FROM: a condition or
// an order by columns that the caller knows to be there, or "".
//
// Rows are taken from the driver itself: database/sql costs as much again for
// each of them, and of what it does only the conversion is needed.
func (f *File) open(table, tail string, columns ...column) (*cursor, error) {
	c := &cursor{file: f, table: table, row: Absent, sorted: strings.HasPrefix(tail, "ORDER BY")}
	list := []string{"rowid"}
	for _, column := range columns {
		column.clear()
		if column.name == rowNumber || f.Has(table, column.name) {
			list = append(list, quoted(column.name))
			c.columns = append(c.columns, column)
		}
	}
	if !f.Has(table) {
		return c, nil
	}
	query := fmt.Sprintf("SELECT %s FROM %s %s", strings.Join(list, ", "), quoted(table), tail)
	rows, err := f.direct.QueryContext(context.Background(), query, nil)
	if err != nil {
		return nil, c.at(err)
	}
	c.rows, c.values = rows, make([]driver.Value, len(list))
	return c, nil
}

// quoted is a name as SQL has it, whatever is in it.
func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// next goes to the next row; more is false after the last.
func (c *cursor) next() (more bool, err error) {
	if c.rows == nil {
		return false, nil
	}
	if err := c.rows.Next(c.values); err == io.EOF {
		return false, nil
	} else if err != nil {
		c.failed = true
		return false, c.at(err)
	}
	id, ok := c.values[0].(int64)
	if !ok || id <= c.row && !c.sorted {
		return false, c.at(input.Bad(input.ErrFormat, "a damaged SQLite database: row %v follows row %d; export it again from the .nsys-rep", c.values[0], c.row))
	}
	c.row = id
	for i, column := range c.columns {
		column.fill(c.values[i+1])
	}
	return true, nil
}

func (c *cursor) close() error {
	if c.rows == nil {
		return nil
	}
	if err := c.rows.Close(); !c.failed {
		return c.at(err)
	}
	return nil
}

// at says in which row an error was met; nil is none.
func (c *cursor) at(err error) error {
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
func (f *File) scan(table string, columns []column, where string, each func() error) error {
	c, err := f.open(table, where, columns...)
	if err != nil {
		return err
	}
	for {
		more, err := c.next()
		if err == nil && more {
			err = c.at(each())
		}
		if err != nil || !more {
			return errors.Join(err, c.close())
		}
	}
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
func (c column) fill(v driver.Value) {
	if c.num != nil {
		if *c.num = integer(v); c.text == nil {
			return
		}
		if *c.num != Absent {
			*c.text = ""
			return
		}
	}
	if c.blob != nil {
		*c.blob = raw(v)
		return
	}
	switch v := v.(type) {
	case string:
		*c.text = strings.ToValidUTF8(v, "\uFFFD")
	case []byte:
		*c.text = strings.ToValidUTF8(string(v), "\uFFFD")
	case int64:
		*c.text = strconv.FormatInt(v, 10)
	default:
		*c.text = ""
	}
}

// raw is a value as bytes. The column of payloads is declared as text and holds
// blobs.
func raw(v driver.Value) []byte {
	switch v := v.(type) {
	case []byte:
		return v
	case string:
		return []byte(v)
	}
	return nil
}

func integer(v driver.Value) int64 {
	switch v := v.(type) {
	case int64:
		return v
	case float64:
		if v > -1<<62 && v < 1<<62 {
			return int64(v)
		}
	case string:
		if n, err := strconv.ParseInt(v, 10, 64); err == nil {
			return n
		}
	}
	return Absent
}
