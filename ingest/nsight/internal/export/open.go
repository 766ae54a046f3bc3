package export

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace/input"
)

// Magic begins every SQLite file.
const Magic = "SQLite format 3\x00"

// MaxText is the longest text that is read, in bytes: demangled kernel names
// of templates reach some ten thousand.
const MaxText = 1 << 20

// cacheKiB is what SQLite may keep of a file in memory. Tables are read once,
// from beginning to end, so that more would not help.
const cacheKiB = 2048

// File is an open export. It is not safe for use by several goroutines.
type File struct {
	path   string
	db     *sql.DB
	conn   *sql.Conn
	direct driver.QueryerContext // what conn is underneath
	tables map[string][]string   // columns, by the name of the table
}

// Open opens the export at path. An error of kind input.ErrFormat says that
// the file is none.
func Open(path string) (*File, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, input.At(input.Pos{File: path}, err)
	}
	return f, nil
}

func openFile(path string) (*File, error) {
	if err := atRest(path); err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", address(path))
	if err != nil {
		return nil, explain(err)
	}
	f := &File{path: path, db: db}
	if err := f.connect(); err != nil {
		f.Close()
		return nil, explain(err)
	}
	if !f.Has(kernelTable) && !f.Has(nvtxTable) && !f.Has(runtimeTable) && !f.Has(metaTable) {
		f.Close()
		return nil, input.Bad(input.ErrFormat, "an SQLite database, but no export of Nsight Systems: none of the tables %s, %s, %s is in it",
			kernelTable, runtimeTable, nvtxTable)
	}
	return f, nil
}

// address is the name under which SQLite opens path read-only, without locks.
func address(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	u := url.URL{Path: filepath.ToSlash(path)}
	return "file://" + u.EscapedPath() + "?mode=ro&immutable=1" +
		"&_pragma=trusted_schema(0)&_pragma=query_only(1)&_pragma=cell_size_check(1)&_pragma=mmap_size(0)" +
		fmt.Sprintf("&_pragma=cache_size(-%d)", cacheKiB)
}

// connect takes the one connection, bounds it, and learns the tables.
func (f *File) connect() (err error) {
	if f.conn, err = f.db.Conn(context.Background()); err != nil {
		return err
	}
	for limit, value := range map[int]int{
		sqlite3.SQLITE_LIMIT_LENGTH:         MaxText,
		sqlite3.SQLITE_LIMIT_COLUMN:         2000,
		sqlite3.SQLITE_LIMIT_EXPR_DEPTH:     50,
		sqlite3.SQLITE_LIMIT_ATTACHED:       0,
		sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
	} {
		if _, err := sqlite.Limit(f.conn, limit, value); err != nil {
			return err
		}
	}
	err = f.conn.Raw(func(conn any) error {
		f.direct = conn.(driver.QueryerContext)
		return nil
	})
	if err != nil {
		return err
	}
	return f.learn()
}

// learn finds the tables of the export and their columns. Views and virtual
// tables have no root page, generated columns are not in table_info.
func (f *File) learn() error {
	f.tables = make(map[string][]string)
	ctx := context.Background()
	for _, table := range tables {
		var n int
		err := f.conn.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND rootpage > 1 AND name = ?", table).Scan(&n)
		if err != nil {
			return err
		}
		if n == 0 {
			continue
		}
		if f.tables[table], err = f.list("SELECT name FROM pragma_table_info(?)", table); err != nil {
			return err
		}
	}
	return nil
}

// list is the texts that a query yields, one a row.
func (f *File) list(query string, args ...any) ([]string, error) {
	rows, err := f.conn.QueryContext(context.Background(), query, args...)
	if err != nil {
		return nil, err
	}
	all := []string{}
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		all = append(all, text)
	}
	return all, errors.Join(rows.Err(), rows.Close())
}

// Close closes the file.
func (f *File) Close() error {
	var err error
	if f.conn != nil {
		err = f.conn.Close()
	}
	return errors.Join(err, f.db.Close())
}

// atRest refuses a file that is no SQLite database, is cut short, or that
// another program is in the middle of writing.
func atRest(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return ingest.Unreadable(path, err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return ingest.Unreadable(path, err)
	}
	if pid, ok := lockedBy(file); ok {
		return input.Bad(input.ErrTruncated, "process %d has it locked and is writing it: let it finish, or stop it and export again", pid)
	}
	var head [100]byte
	n, err := io.ReadFull(file, head[:])
	switch {
	case err != nil && err != io.EOF && err != io.ErrUnexpectedEOF:
		return ingest.Unreadable(path, err)
	case n == 0:
		return input.Bad(input.ErrEmpty, "empty: the export may not have written anything yet")
	case !bytes.HasPrefix(head[:n], []byte(Magic)[:min(n, len(Magic))]):
		return input.Bad(input.ErrFormat, "not an SQLite database: write one with nsys export --type sqlite")
	case n < len(head):
		return input.Bad(input.ErrTruncated, "%d bytes of an SQLite database, whose header alone has %d: copy or export it again", n, len(head))
	}
	if err := checkHeader(head[:], info.Size()); err != nil {
		return err
	}
	for suffix, what := range map[string]string{"-wal": "write-ahead log", "-journal": "rollback journal"} {
		if side, err := os.Stat(path + suffix); err == nil && side.Size() > 0 {
			return input.Bad(input.ErrTruncated, "a %s (%s) lies beside it: another program is writing the file or was stopped while it did; let it finish, or export again",
				what, filepath.Base(path)+suffix)
		}
	}
	return nil
}

// checkHeader checks what the first 100 bytes say against the size of the file
// (https://sqlite.org/fileformat.html, section 1.3).
func checkHeader(head []byte, size int64) error {
	page := int64(binary.BigEndian.Uint16(head[16:]))
	if page == 1 {
		page = 65536
	}
	if page < 512 || page&(page-1) != 0 {
		return input.Bad(input.ErrFormat, "a damaged SQLite database: pages of %d bytes, expected a power of two from 512 to 65536", page)
	}
	pages := int64(binary.BigEndian.Uint32(head[28:]))
	counted := binary.BigEndian.Uint32(head[24:]) == binary.BigEndian.Uint32(head[92:]) // else the count is from an old program
	if counted && pages*page > size {
		return input.Bad(input.ErrTruncated, "%d bytes of an SQLite database of %d: the export or a copy of it was cut short; copy or export it again", size, pages*page)
	}
	return nil
}

// explain says in plain words what SQLite found.
func explain(err error) error {
	var found *sqlite.Error
	var placed *input.Error
	if err == nil || errors.As(err, &placed) || !errors.As(err, &found) {
		return err
	}
	switch found.Code() & 0xff {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT:
		return input.Bad(input.ErrFormat, "a damaged SQLite database (%s): export it again from the .nsys-rep", plain(found))
	case sqlite3.SQLITE_TOOBIG:
		return input.Bad(input.ErrTooLarge, "a text or row of more than %d bytes, the most that is read", MaxText)
	case sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH:
		return fmt.Errorf("cannot be read: %s", plain(found))
	}
	return input.Bad(input.ErrFormat, "SQLite refuses it (%s): export it again from the .nsys-rep", plain(found))
}

// plain is the message of an SQLite error on one line, at most 200 bytes of it:
// it may quote the file.
func plain(err *sqlite.Error) string {
	text := strings.Join(strings.Fields(strings.ToValidUTF8(err.Error(), "?")), " ")
	return text[:min(len(text), 200)]
}
