package export

import (
	"context"
	"errors"
	"fmt"
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

// place is one target of a Row, and the bytes of texts and blobs that all of them were given.
type place struct {
	to   any
	read *int64
}

// Scan takes a value as SQLite stored it, which need not be of the type that
// the table declares.
func (p place) Scan(stored any) error {
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
	*p.read += int64(len(text) + len(blob))
	switch to := p.to.(type) {
	case *int64:
		if n, err := strconv.ParseInt(text, 10, 64); err == nil { // as copies of tables have it that lost their types
			number = n
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
	default:
		return fmt.Errorf("no place for a value: %T", p.to)
	}
	return nil
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
	var table int
	var bytes int64
	to := []any{&table, new(any)}
	for _, name := range names {
		to = append(to, place{row[name], &bytes})
	}
	var selected []string
	for i, name := range tables {
		if f.Has(name) {
			selected = append(selected, f.selection(i, name, names))
		}
	}
	if len(selected) == 0 {
		return nil
	}
	rows, err := f.conn.QueryContext(context.Background(), strings.Join(selected, " UNION ALL ")+order)
	if err != nil {
		return f.at(tables[0], err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for n := int64(1); rows.Next(); n++ {
		err := rows.Scan(to...)
		if err == nil && (n > f.size/leastRow || bytes > mostText*f.size) {
			err = input.Bad(input.ErrFormat, "a damaged SQLite database: more rows than it has room for; export it again from the .nsys-rep")
		}
		if err == nil {
			err = each(table)
		}
		if err != nil {
			return f.at(tables[table], err)
		}
	}
	return f.at(tables[table], rows.Err())
}

// selection is the query for the columns of a table, NULL where it lacks one.
// The limit ends sorting too, where pages lead in a circle; but for the condition SQLite would
// sort before it counts.
func (f *File) selection(number int, table string, columns []string) string {
	list := fmt.Sprintf(`%d AS "table", rowid AS "number"`, number)
	for _, names := range columns {
		value := "NULL"
		for _, name := range slices.Backward(strings.Split(names, "|")) {
			if name == "rowid" || f.Has(table, name) {
				value = quoted(name)
			}
		}
		list += ", " + value + " AS " + quoted(names)
	}
	return fmt.Sprintf(`SELECT * FROM (SELECT %s FROM %s LIMIT %d) WHERE "table" >= 0`, list, quoted(table), f.size/leastRow+1)
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
