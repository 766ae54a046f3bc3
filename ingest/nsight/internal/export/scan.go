package export

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/trace/input"
)

// Absent is the value of an integer that the file does not have, by column or
// by row.
const Absent = math.MinInt64

// Row says where the columns of a row go that are wanted, by their names: to a
// *int64, *string, *[]byte, which is valid until the next row, or *Value. Of
// several names, "nameId|shortName", the first counts that the table has.
type Row map[string]any

// Value is a column that may hold numbers or text. SQLite has no unsigned
// integers, so those of 64 bits are the signed ones of the same bits.
type Value struct {
	Number int64  // or Absent:
	Text   string // where the file has one
}

// Has reports whether the file has the table with these columns.
func (f *File) Has(table string, columns ...string) bool {
	have, ok := f.tables[table]
	for _, c := range columns {
		ok = ok && slices.Contains(have, c)
	}
	return ok
}

// Scan calls each with every row of a table, in the order of the file. Where
// the table is absent there are none.
func (f *File) Scan(table string, row Row, each func() error) error {
	return f.query([]string{table}, "", row, func(int) error { return each() })
}

// Timeline calls each with the rows of several tables and the table's number, by
// their start. Where that is the same they come in the order of the tables, and
// of the file in each; those without a start come first. SQLite sorts them, in
// temporary files where there are many.
func (f *File) Timeline(tables []string, row Row, each func(table int) error) error {
	return f.query(tables, ` ORDER BY "start", "table", "number"`, row, each)
}

// query goes through tables, one after another unless the order says otherwise.
func (f *File) query(tables []string, order string, row Row, each func(table int) error) (err error) {
	names := slices.Sorted(maps.Keys(row))
	to := make([]any, len(names))
	for i, name := range names {
		to[i] = row[name]
	}
	var selected []string
	for i, name := range tables {
		if f.Has(name) {
			selected = append(selected, f.selection(i, name, names, order))
		}
	}
	if len(selected) == 0 {
		return nil
	}
	table := 0
	err = f.rows(strings.Join(selected, " UNION ALL ")+order, func(s *statement) (bytes int64) {
		table = int(s.number(0))
		for i := range to {
			bytes += s.put(1+i, to[i]) // behind the table
		}
		return bytes
	}, func() error { return each(table) })
	return f.tableError(tables[table], err)
}

// rows calls take and then each for every row of a query.
func (f *File) rows(query string, take func(*statement) (bytes int64), each func() error) (err error) {
	s, err := f.conn.prepare(query)
	if err != nil {
		return err
	}
	defer s.close()
	bytes := int64(0)
	for n := int64(1); ; n++ {
		if more, err := s.next(); err != nil || !more {
			return err
		}
		if bytes += take(s); n > f.size/leastRow || bytes > mostText*f.size {
			return errEndless
		}
		if err := each(); err != nil {
			return err
		}
	}
}

// errEndless is the refusal of a file whose pages lead in a circle.
var errEndless = input.Bad(input.ErrFormat, "a damaged SQLite database: more rows than it has room for; export it again from the .nsys-rep")

// Lookup reads single rows of a table.
type Lookup struct {
	f     *File
	table string
	rows  *statement // nil: the table is absent
	to    []any
}

// Lookup returns a reader of single rows of a table, which must be closed before the file.
func (f *File) Lookup(table string, row Row) (*Lookup, error) {
	l := &Lookup{f: f, table: table}
	if !f.Has(table) {
		return l, nil
	}
	names := slices.Sorted(maps.Keys(row))
	for _, name := range names {
		l.to = append(l.to, row[name])
	}
	var err error
	l.rows, err = f.conn.prepare(f.plain(0, table, names, "") + " WHERE rowid = ?")
	return l, f.tableError(table, err)
}

// Read sets the targets of the Row to the row at a place, as the column rowid has it; false: there is none.
func (l *Lookup) Read(place int64) (found bool, err error) {
	if l.rows == nil {
		return false, nil
	}
	l.rows.again(place)
	if found, err = l.rows.next(); err != nil {
		return false, l.f.tableError(l.table, err)
	}
	for c := range l.to {
		if found {
			l.rows.put(1+c, l.to[c]) // behind the table
		}
	}
	return found, nil
}

// Close closes the reader.
func (l *Lookup) Close() {
	if l.rows != nil {
		l.rows.close()
	}
}

// selection returns the query for the columns of a table, NULL where it lacks one.
// The limit ends sorting too, where pages lead in a circle; but for the condition SQLite would
// sort before it counts. Rows that are all handed on are counted by [File.rows].
func (f *File) selection(number int, table string, columns []string, order string) string {
	if order == "" {
		return f.plain(number, table, columns, "")
	}
	return fmt.Sprintf(`SELECT * FROM (%s LIMIT %d) WHERE "table" >= 0`, f.plain(number, table, columns, `, rowid AS "number"`), f.size/leastRow+1)
}

// plain returns the query for the columns of all rows of a table, and what else of each.
func (f *File) plain(number int, table string, columns []string, more string) string {
	list := fmt.Sprintf(`%d AS "table"`, number)
	for _, names := range columns {
		list += ", " + f.column(table, names) + " AS " + quoteIdentifier(names)
	}
	return fmt.Sprintf(`SELECT %s%s FROM %s`, list, more, quoteIdentifier(table))
}

// column returns the first of several names that a table has, as SQL has it; NULL where it has none.
func (f *File) column(table, names string) string {
	value := "NULL"
	for _, name := range slices.Backward(strings.Split(names, "|")) {
		if name == "rowid" || f.Has(table, name) {
			value = quoteIdentifier(name)
		}
	}
	return value
}

// quoteIdentifier returns a name as SQL has it, whatever is in it.
func quoteIdentifier(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// tableError adds to an error in which table it was met; nil is none.
func (f *File) tableError(table string, err error) error {
	if err == nil {
		return nil
	}
	return input.At(input.Pos{File: f.path, Inside: table}, explain(err))
}
