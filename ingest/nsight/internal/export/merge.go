package export

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
)

// ErrUnordered says that the rows of a table do not come in the order of their start.
var ErrUnordered = errors.New("rows out of order")

// lookahead is how many rows of a table are held, among which those that come a little late are put in order: threads
// and streams write by turns.
const lookahead = 1024

// maxSeries bounds the series of a table that are read side by side: exports have the rows of one process behind those of another.
const maxSeries = 64

// Merge calls each as [File.Timeline] does, without sorting: tables are read side by side, and of a table every series of
// rows that is in order. Where that does not put them in order it returns [ErrUnordered], after rows were handed on. The
// targets of the row are *int64; one is of the column "start".
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
			begins, err := f.series(name)
			if err != nil {
				return err
			}
			for n := range begins {
				rows, err := f.conn.prepare(f.plain(i, name, names, "") + ofSeries(begins, n))
				if err != nil {
					return err
				}
				all = append(all, &cursor{table: i, rows: rows, width: len(names), start: slices.Index(names, "start"), last: math.MinInt64, most: f.size / leastRow})
			}
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

// series returns the first rowid of every series of a table's rows that is in order, the first −2⁶³; that alone where there
// are too many. It looks at every lookahead-th row, and between two of them where the later one starts earlier.
func (f *File) series(table string) (begins []int64, err error) {
	one := []int64{math.MinInt64}
	s, err := f.conn.prepare(fmt.Sprintf(`SELECT rowid, "start" FROM %s WHERE rowid >= ?`, quoteIdentifier(table)))
	if err != nil {
		return one, nil // of a table without rowid or start
	}
	defer s.close()
	begins = one
	split := func(before, row place) error {
		if row.start < before.start {
			begin, err := f.steepest(table, before, row)
			begins = append(begins, begin)
			return err
		}
		return nil
	}
	before, next := place{math.MinInt64, math.MinInt64}, int64(math.MinInt64)
	for n := int64(0); len(begins) <= maxSeries; n++ {
		s.again(next)
		if more, err := s.next(); err != nil {
			return nil, err
		} else if !more {
			break
		}
		row := place{s.number(0), s.number(1)}
		if row.rowid < next || row.rowid > math.MaxInt64-lookahead || n > f.size/leastRow {
			return nil, errEndless
		}
		if err := split(before, row); err != nil {
			return nil, err
		}
		before, next = row, row.rowid+lookahead
	}
	last := before
	err = f.places(table, "ORDER BY rowid DESC LIMIT 1", func(row place) { last = row })
	if err = cmp.Or(err, split(before, last)); err != nil || len(begins) <= maxSeries {
		return begins, err
	}
	return one, nil
}

// place is a row of a table, and its start.
type place struct{ rowid, start int64 }

// steepest returns the row between two where the start falls most, from one row to the next.
func (f *File) steepest(table string, from, to place) (begin int64, err error) {
	before, most := from.start, uint64(0)
	begin = to.rowid
	err = f.places(table, fmt.Sprintf("WHERE rowid > %d AND rowid <= %d", from.rowid, to.rowid), func(row place) {
		if fall := uint64(before) - uint64(row.start); row.start < before && fall > most {
			begin, most = row.rowid, fall
		}
		before = row.start
	})
	return begin, err
}

// places calls each with the rows of a table that a clause of SQL has left.
func (f *File) places(table, clause string, each func(place)) error {
	var row place
	return f.rows(fmt.Sprintf(`SELECT rowid, "start" FROM %s %s`, quoteIdentifier(table), clause), func(s *statement) int64 {
		row = place{s.number(0), s.number(1)}
		return 0
	}, func() error { each(row); return nil })
}

// ofSeries returns the clause of SQL that leaves the rows of series n.
func ofSeries(begins []int64, n int) string {
	clause := " WHERE TRUE"
	if n > 0 {
		clause += fmt.Sprintf(" AND rowid >= %d", begins[n])
	}
	if n+1 < len(begins) {
		clause += fmt.Sprintf(" AND rowid < %d", begins[n+1])
	}
	return clause
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
