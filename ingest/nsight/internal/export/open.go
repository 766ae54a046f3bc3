package export

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

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

// leastRow is the fewest bytes that a row takes in a file. mostText is how much longer texts may be than the file, which
// may have them in UTF-16.
const leastRow, mostText = 4, 2

// File is an open export. It is not safe for use by several goroutines.
type File struct {
	path   string
	conn   *connection
	tables map[string][]string // columns, by the name of the table
	size   int64               // bytes of the file
}

// openWithin is how long finding the tables of a file may take, milliseconds of work. The bound on rows does not reach the
// schema, which SQLite reads by itself, without an end where its pages point to each other, and without a way to stop it.
const openWithin = 10 * time.Second

// Open opens the export at path. An error of kind input.ErrFormat says that
// the file is none.
func Open(path string) (*File, error) { return openBy(path, openWithin) }

func openBy(path string, within time.Duration) (*File, error) {
	f := &File{path: path, tables: make(map[string][]string)}
	opened := make(chan error, 1)
	go func() { opened <- f.open() }()
	select {
	case err := <-opened:
		if err != nil {
			return nil, input.At(input.Pos{File: path}, errors.Join(explain(err), f.Close()))
		}
		return f, nil
	case <-time.After(within): // the file is left to SQLite
		return nil, input.At(input.Pos{File: path}, input.Bad(input.ErrFormat,
			"a damaged SQLite database: its schema has not been read in %v; export it again from the .nsys-rep", within))
	}
}

func (f *File) open() (err error) {
	if f.size, err = checkComplete(f.path); err != nil {
		return err
	}
	if f.conn, err = connect(address(f.path)); err != nil {
		return err
	}
	for _, setting := range settings {
		if err := f.conn.run("PRAGMA " + setting); err != nil {
			return err
		}
	}
	if err := f.learn(); err != nil {
		return err
	}
	for _, table := range known {
		if f.Has(table) {
			return nil
		}
	}
	return foreign{input.Bad(input.ErrFormat, "an SQLite database, but no export of Nsight Systems: none of the tables %s is in it",
		strings.Join(known[:3], ", "))}
}

// ErrForeign says that a file is a whole database of another program.
var ErrForeign = errors.New("the database of another program")

// foreign is an error that is ErrForeign too.
type foreign struct{ error }

func (f foreign) Unwrap() error        { return f.error }
func (f foreign) Is(target error) bool { return target == ErrForeign }

// known are tables by one of which an export is told from other databases.
var known = []string{"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS", "META_DATA_EXPORT"}

// address returns the name under which SQLite opens path read-only, without locks.
func address(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	u := url.URL{Path: filepath.ToSlash(path)}
	return "file://" + u.EscapedPath() + "?mode=ro&immutable=1"
}

// settings are what is set of a connection, as PRAGMA has it.
var settings = [...]string{"trusted_schema(0)", "query_only(1)", "cell_size_check(1)", "mmap_size(0)", fmt.Sprintf("cache_size(-%d)", cacheKiB)}

// learn finds the tables and their columns. Views and virtual tables have no
// root page, generated columns are not in table_info.
func (f *File) learn() error {
	s, err := f.conn.prepare("SELECT t.name, c.name FROM sqlite_master t, pragma_table_info(t.name) c WHERE t.type = 'table' AND t.rootpage > 1")
	if err != nil {
		return err
	}
	defer s.close()
	for {
		if more, err := s.next(); err != nil || !more {
			return err
		}
		var table, column string
		s.put(0, &table)
		s.put(1, &column)
		f.tables[table] = append(f.tables[table], column)
	}
}

// Tables returns the names of all tables.
func (f *File) Tables() []string { return slices.Sorted(maps.Keys(f.tables)) }

// Columns returns the names of a table's columns.
func (f *File) Columns(table string) []string { return f.tables[table] }

// Close closes the file.
func (f *File) Close() (err error) {
	if f.conn != nil {
		err = f.conn.close()
		f.conn = nil
	}
	return err
}

// checkComplete refuses a file that is no SQLite database, is cut short, or that
// another program is in the middle of writing. It returns the size of one that is good.
func checkComplete(path string) (size int64, err error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, ingest.Unreadable(path, err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return 0, ingest.Unreadable(path, err)
	}
	if pid, ok := lockedBy(file); ok {
		return 0, input.Bad(input.ErrTruncated, "process %d has it locked and is writing it: let it finish, or stop it and export again", pid)
	}
	var head [100]byte
	n, err := io.ReadFull(file, head[:])
	switch {
	case err != nil && err != io.EOF && err != io.ErrUnexpectedEOF:
		return 0, ingest.Unreadable(path, err)
	case n == 0:
		return 0, input.Bad(input.ErrEmpty, "empty: the export may not have written anything yet")
	case !bytes.HasPrefix(head[:n], []byte(Magic)[:min(n, len(Magic))]):
		return 0, input.Bad(input.ErrFormat, "not an SQLite database: write one with nsys export --type sqlite")
	case n < len(head):
		return 0, input.Bad(input.ErrTruncated, "%d bytes of an SQLite database, whose header alone has %d: copy or export it again", n, len(head))
	}
	if err := checkHeader(head[:], info.Size()); err != nil {
		return 0, err
	}
	for suffix, what := range map[string]string{"-wal": "write-ahead log", "-journal": "rollback journal"} {
		if side, err := os.Stat(path + suffix); err == nil && side.Size() > 0 {
			return 0, input.Bad(input.ErrTruncated, "a %s (%s) lies beside it: another program is writing the file or was stopped while it did; let it finish, or export again",
				what, filepath.Base(path)+suffix)
		}
	}
	return info.Size(), nil
}

// checkHeader checks what the first 100 bytes say against the size of the file
// (https://sqlite.org/fileformat.html, section 1.3).
func checkHeader(head []byte, size int64) error {
	page := int64(binary.BigEndian.Uint16(head[16:]))
	if page == 1 {
		page = 65536
	}
	pages := int64(binary.BigEndian.Uint32(head[28:]))
	counted := binary.BigEndian.Uint32(head[24:]) == binary.BigEndian.Uint32(head[92:]) // else the count is from an old program
	if counted && pages*page > size {
		return input.Bad(input.ErrTruncated, "%d bytes of an SQLite database of %d: the export or a copy of it was cut short; copy or export it again",
			size, pages*page)
	}
	return nil
}

// explain returns in plain words what SQLite found.
func explain(err error) error {
	var found *sqliteError
	if !errors.As(err, &found) {
		return err
	}
	switch found.code & 0xff {
	case sqlite3.SQLITE_TOOBIG:
		return input.Bad(input.ErrTooLarge, "a text or row of more than %d bytes, the most that is read", MaxText)
	case sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH, sqlite3.SQLITE_FULL, sqlite3.SQLITE_NOMEM:
		return fmt.Errorf("cannot be read: %s", plain(found))
	}
	return input.Bad(input.ErrFormat, "a damaged SQLite database (%s): export it again from the .nsys-rep", plain(found))
}

// plain returns the message of an SQLite error on one line, at most 200 bytes of it:
// it may quote the file.
func plain(err *sqliteError) string {
	text := strings.Join(strings.Fields(strings.ToValidUTF8(err.Error(), "?")), " ")
	return text[:min(len(text), 200)]
}
