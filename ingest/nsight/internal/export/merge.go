package export

import (
	"errors"
	"maps"
	"math"
	"slices"
)

// ErrUnordered says that the rows of a table do not come in the order of their start.
var ErrUnordered = errors.New("rows out of order")

// lookahead is how many rows of a table are held, among which those that come a little late are put in order: threads
// and streams write by turns.
const lookahead = 1024

// Merge calls each as [File.Timeline] does, without sorting: tables are read side by side. Where one is not in order it
// returns [ErrUnordered], after rows were handed on. The targets of the row are *int64; one is of the column "start".
func (f *File) Merge(tables []string, row Row, each func(table int) error) error {
	at := 0
	err := func() (err error) {
		names := slices.Sorted(maps.Keys(row))
		to := make([]*int64, len(names))
		for i, name := range names {
			to[i] = row[name].(*int64)
		}
		var all []*cursor
		defer func() {
			for _, c := range all {
				c.rows.close()
			}
		}()
		for i, name := range tables {
			if !f.Has(name) {
				continue
			}
			at = i
			rows, err := f.conn.prepare(f.plain(i, name, names, ""))
			if err != nil {
				return err
			}
			all = append(all, &cursor{table: i, rows: rows, width: len(names), start: slices.Index(names, "start"), last: math.MinInt64, most: f.size / leastRow})
		}
		for {
			var next *cursor
			for _, c := range all {
				at = c.table
				if err := c.fill(); err != nil {
					return err
				}
				if c.bufferedRows() > 0 && (next == nil || c.head()[c.start] < next.head()[next.start]) {
					next = c
				}
			}
			if next == nil {
				return nil
			}
			for i, value := range next.head() {
				*to[i] = value
			}
			next.pop()
			at = next.table
			if err := each(at); err != nil {
				return err
			}
		}
	}()
	if errors.Is(err, ErrUnordered) {
		return err
	}
	return f.tableError(tables[at], err)
}

// cursor is the rows of one table that are read and not handed on, by their start.
type cursor struct {
	table       int
	rows        *statement
	width       int     // values of a row
	start       int     // which of them is its start
	values      []int64 // of the rows, one after another
	from        int     // index in values of the first
	last        int64   // start of the row that was handed on last
	taken, most int64   // rows that were read, of so many at most
	done        bool
}

// bufferedRows returns how many rows are read and not yet taken.
func (c *cursor) bufferedRows() int { return (len(c.values) - c.from) / c.width }
func (c *cursor) head() []int64     { return c.values[c.from : c.from+c.width] }

func (c *cursor) pop() {
	c.last = c.head()[c.start]
	if c.from += c.width; c.from == len(c.values) || c.from >= 2*lookahead*c.width {
		c.values = append(c.values[:0], c.values[c.from:]...)
		c.from = 0
	}
}

// fill reads on until enough rows are held.
func (c *cursor) fill() error {
	for !c.done && c.bufferedRows() < lookahead {
		if more, err := c.rows.next(); err != nil || !more {
			c.done = true
			return err
		}
		if c.taken++; c.taken > c.most {
			return errEndless
		}
		at := len(c.values)
		for i := range c.width {
			c.values = append(c.values, c.rows.number(1+i)) // behind the table
		}
		start := c.values[at+c.start]
		if start < c.last {
			return ErrUnordered
		}
		for ; at > c.from && c.values[at-c.width+c.start] > start; at -= c.width {
			for i := range c.width {
				c.values[at+i], c.values[at-c.width+i] = c.values[at-c.width+i], c.values[at+i]
			}
		}
	}
	return nil
}
