package export

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
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

// put gives a target of a Row a value as SQLite stored it, which need not be of the type that the table declares. It
// returns the bytes of a text or blob.
func put(target any, stored driver.Value) (bytes int64) {
	number, text, blob := int64(Absent), "", []byte(nil)
	switch v := stored.(type) {
	case int64:
		number = v
	case float64:
		if v > -1<<62 && v < 1<<62 {
			number = int64(v)
		}
	case string:
		text = v
	case []byte:
		blob = v
	}
	switch to := target.(type) {
	case *int64:
		if text != "" {
			if n, err := strconv.ParseInt(text, 10, 64); err == nil { // as copies of tables have it that lost their types
				number = n
			}
		}
		*to = number
	case *[]byte: // the column of payloads is declared as text and holds blobs
		*to = append((*to)[:0], blob...)
	case *string:
		if *to = strings.ToValidUTF8(text+string(blob), "\uFFFD"); number != Absent {
			*to = strconv.FormatInt(number, 10)
		}
	case *Value:
		*to = Value{Number: number, Text: strings.ToValidUTF8(text, "\uFFFD")}
	}
	return int64(len(text) + len(blob))
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
	return f.query([]string{table}, nil, "", row, func(int) error { return each() })
}

// Those is which rows of a table are wanted: whose column, which is one of the Row, holds one of some values, or one that
// such rows of another table hold in the column of the same name.
type Those struct {
	Column string
	Values []int64
	In     string // the other table; "": Values count
	Of     *Those
}

// mostValues bounds the values of a condition: of more, all rows are handed on.
const mostValues = 10_000

// condition returns the condition in SQL, after WHERE, of rows whose columns go by the names of the Row; "" for all rows. Tables that
// lost their types hold numbers as text.
func (t *Those) condition(f *File) string {
	if len(t.Values) > mostValues {
		return ""
	}
	in := ""
	if t.In != "" {
		of := t.Of.condition(f)
		if of == "" || !f.Has(t.In) {
			return ""
		}
		in = fmt.Sprintf("SELECT CAST(%s AS INTEGER) FROM (%s) WHERE %s", quoted(t.Column), f.limited(0, t.In, []string{t.Column, t.Of.Column}), of)
	} else {
		list := make([]string, len(t.Values))
		for i, v := range t.Values {
			list[i] = strconv.FormatInt(v, 10)
		}
		in = strings.Join(list, ", ")
	}
	return fmt.Sprintf("CAST(%s AS INTEGER) IN (%s)", quoted(t.Column), in)
}

// ScanThose calls each with rows of a table among which are all those wanted, in the order of the file: SQLite leaves out
// the others where it can, which costs a tenth of handing them on.
func (f *File) ScanThose(table string, those Those, row Row, each func() error) error {
	return f.query([]string{table}, &those, "", row, func(int) error { return each() })
}

// Timeline calls each with the rows of several tables and the table's number, by
// their start. Where that is the same they come in the order of the tables, and
// of the file in each; those without a start come first. SQLite sorts them, in
// temporary files where there are many.
func (f *File) Timeline(tables []string, row Row, each func(table int) error) error {
	return f.query(tables, nil, ` ORDER BY "start", "table", "number"`, row, each)
}

// query goes through tables, one after another unless the order says otherwise.
func (f *File) query(tables []string, those *Those, order string, row Row, each func(table int) error) (err error) {
	names := slices.Sorted(maps.Keys(row))
	to := make([]any, len(names))
	for i, name := range names {
		to[i] = row[name]
	}
	var selected []string
	for i, name := range tables {
		if f.Has(name) {
			selected = append(selected, f.selection(i, name, names, those))
		}
	}
	if len(selected) == 0 {
		return nil
	}
	table := 0
	// Straight from the driver: of millions of rows, database/sql would take half the time to lock and convert.
	err = f.conn.Raw(func(conn any) error {
		return f.rows(conn, strings.Join(selected, " UNION ALL ")+order, func(row []driver.Value) (bytes int64) {
			if number, ok := row[0].(int64); ok {
				table = int(number)
			}
			for i := range to {
				bytes += put(to[i], row[2+i]) // behind the table and the number
			}
			return bytes
		}, func() error { return each(table) })
	})
	return f.at(tables[table], err)
}

// rows calls take and then each for every row of a query.
func (f *File) rows(conn any, query string, take func([]driver.Value) (bytes int64), each func() error) (err error) {
	q, ok := conn.(driver.QueryerContext)
	if !ok {
		return fmt.Errorf("a connection of type %T, which takes no queries", conn)
	}
	rows, err := q.QueryContext(context.Background(), query, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	row, bytes := make([]driver.Value, len(rows.Columns())), int64(0)
	for n := int64(1); ; n++ {
		if err := rows.Next(row); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if bytes += take(row); n > f.size/leastRow || bytes > mostText*f.size {
			return input.Bad(input.ErrFormat, "a damaged SQLite database: more rows than it has room for; export it again from the .nsys-rep")
		}
		if err := each(); err != nil {
			return err
		}
	}
}

// selection is the query for the columns of a table, NULL where it lacks one.
// The limit ends sorting too, where pages lead in a circle; but for the condition SQLite would
// sort before it counts.
func (f *File) selection(number int, table string, columns []string, those *Those) string {
	where := `"table" >= 0`
	if those != nil {
		where = cmp.Or(those.condition(f), where)
	}
	return fmt.Sprintf(`SELECT * FROM (%s) WHERE %s`, f.limited(number, table, columns), where)
}

// limited returns the query for the columns of all rows of a table.
func (f *File) limited(number int, table string, columns []string) string {
	list := fmt.Sprintf(`%d AS "table", rowid AS "number"`, number)
	for _, names := range columns {
		list += ", " + f.column(table, names) + " AS " + quoted(names)
	}
	return fmt.Sprintf(`SELECT %s FROM %s LIMIT %d`, list, quoted(table), f.size/leastRow+1)
}

// column returns the first of several names that a table has, as SQL has it; NULL where it has none.
func (f *File) column(table, names string) string {
	value := "NULL"
	for _, name := range slices.Backward(strings.Split(names, "|")) {
		if name == "rowid" || f.Has(table, name) {
			value = quoted(name)
		}
	}
	return value
}

// quoted is a name as SQL has it, whatever is in it.
func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// at says in which table an error was met; nil is none.
func (f *File) at(table string, err error) error {
	if err == nil {
		return nil
	}
	return input.At(input.Pos{File: f.path, Inside: table}, explain(err))
}
