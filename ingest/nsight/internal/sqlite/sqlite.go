// Package sqlite reads the rows of tables in SQLite files, in the order in which they are
// stored or of one of their columns. It knows the file format
// (https://sqlite.org/fileformat.html) and of SQL only how tables are declared: no indexes,
// no views, no expressions.
//
// A file may be hostile. Every offset is checked before it is followed, a scan visits no more
// pages than the file has, and a row of more than [MostBytes] is refused; memory is a page for
// each level of a tree and one row, and 16 bytes for each row where rows are sorted.
package sqlite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Magic begins every SQLite file.
const Magic = "SQLite format 3\x00"

// headerSize is how long the header of a file is, on its first page.
const headerSize = 100

// MostBytes is the most that a row may have.
const MostBytes = 1 << 20

// Damage is how a file contradicts itself, or why it is no SQLite database.
type Damage string

func (d Damage) Error() string { return string(d) }

func damaged(format string, args ...any) error { return Damage(fmt.Sprintf(format, args...)) }

// ErrTooLarge: a row has more than MostBytes.
var ErrTooLarge = fmt.Errorf("a text or row of more than %d bytes, the most that is read", MostBytes)

// DB is an open file. It may be read by several goroutines.
type DB struct {
	file   io.ReaderAt
	page   int // bytes of a page
	usable int // of them for content
	pages  uint32
	tables []Table
}

// Open reads the header and the tables of a file of a size.
func Open(file io.ReaderAt, size int64) (*DB, error) {
	var head [headerSize]byte
	if _, err := file.ReadAt(head[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	page := int(binary.BigEndian.Uint16(head[16:]))
	if page == 1 {
		page = 1 << 16
	}
	db := &DB{file: file, page: page, usable: page - int(head[20])}
	switch {
	case string(head[:len(Magic)]) != Magic:
		return nil, damaged("it does not begin as SQLite files do")
	case page < 512 || page&(page-1) != 0 || db.usable < 480:
		return nil, damaged("pages of %d bytes, %d of them unused", page, head[20])
	case head[19] > 2:
		return nil, damaged("version %d of the format, expected 1 or 2", head[19])
	case binary.BigEndian.Uint32(head[56:]) > 1:
		return nil, damaged("its text is UTF-16, expected UTF-8")
	}
	db.pages = uint32(min(size/int64(page), 1<<32-2))
	return db, db.readSchema()
}

// Table is a table with row numbers.
type Table struct {
	Name    string
	Columns []string // in their order, but those that are computed
	at      []int    // of each in the stored row; −1: it is the row's number
	root    uint32
}

// schemaTable is the table of tables: type, name, table, root page, declaration.
var schemaTable = Table{Columns: []string{"type", "name", "tbl_name", "rootpage", "sql"}, at: []int{0, 1, 2, 3, 4}, root: 1}

// Table finds a table by its name.
func (db *DB) Table(name string) (t *Table, ok bool) {
	i, ok := slices.BinarySearchFunc(db.tables, name, func(t Table, name string) int { return strings.Compare(t.Name, name) })
	if !ok {
		return nil, false
	}
	return &db.tables[i], true
}

// Tables are all tables, by name.
func (db *DB) Tables() []Table { return db.tables }

// readSchema finds the tables. What is none (an index, a view, a virtual table) or has no row numbers
// is left out.
func (db *DB) readSchema() error {
	rows := db.Rows(&schemaTable)
	for rows.Next() {
		root := rows.Value(3).Int
		if string(rows.Value(0).Bytes) != "table" || root < 2 || root > int64(db.pages) {
			continue
		}
		t := Table{Name: string(rows.Value(1).Bytes), root: uint32(root)}
		if t.declare(string(rows.Value(4).Bytes)) {
			db.tables = append(db.tables, t)
		}
	}
	slices.SortFunc(db.tables, func(a, b Table) int { return strings.Compare(a.Name, b.Name) })
	return rows.Err()
}

// read fills b with a page; the first page begins with the header of the file.
func (db *DB) read(number uint32, b []byte) error {
	if number < 1 || number > db.pages {
		return damaged("page %d of %d", number, db.pages)
	}
	if n, err := db.file.ReadAt(b, int64(number-1)*int64(db.page)); n < len(b) {
		return fmt.Errorf("page %d: %w", number, err)
	}
	return nil
}

// varint reads an integer of one to nine bytes, seven bits in each but the ninth; n is 0 where b ends.
func varint(b []byte) (x uint64, n int) {
	for n, c := range b[:min(len(b), 9)] {
		if n == 8 {
			return x<<8 | uint64(c), 9
		}
		x = x<<7 | uint64(c&0x7f)
		if c < 0x80 {
			return x, n + 1
		}
	}
	return 0, 0
}
