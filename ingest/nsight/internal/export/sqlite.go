package export

import (
	"fmt"
	"strconv"
	"strings"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// connection is an open database of SQLite, by its own interface: database/sql and its driver box every value and lock
// the connection for each, which takes four times as long as reading millions of rows does. One goroutine at a time uses it.
type connection struct {
	tls *libc.TLS
	db  uintptr
}

// pointer is the room for an address that SQLite returns, bytes.
const pointer = 8

// sqliteError is what SQLite answered.
type sqliteError struct {
	code int32 // extended
	text string
}

func (e *sqliteError) Error() string { return fmt.Sprintf("%s (%d)", e.text, e.code) }

// connect opens the database at an address, a URI, to read it. It must be closed after an error too.
func connect(address string) (*connection, error) {
	c := &connection{tls: libc.NewTLS()}
	name, err := libc.CString(address)
	if err != nil {
		return c, err
	}
	defer libc.Xfree(c.tls, name)
	at := c.tls.Alloc(pointer)
	defer c.tls.Free(pointer)
	code := sqlite3.Xsqlite3_open_v2(c.tls, name, at, sqlite3.SQLITE_OPEN_READONLY|sqlite3.SQLITE_OPEN_URI|sqlite3.SQLITE_OPEN_NOMUTEX, 0)
	c.db = libc.AtomicLoadPUintptr(at)
	if code != sqlite3.SQLITE_OK {
		return c, c.resultError(code)
	}
	sqlite3.Xsqlite3_extended_result_codes(c.tls, c.db, 1)
	sqlite3.Xsqlite3_limit(c.tls, c.db, sqlite3.SQLITE_LIMIT_LENGTH, MaxText)
	return c, nil
}

// close closes the connection, whose statements are closed.
func (c *connection) close() error {
	code := sqlite3.Xsqlite3_close_v2(c.tls, c.db)
	c.tls.Close()
	c.db = 0
	if code != sqlite3.SQLITE_OK {
		return &sqliteError{code, "the database cannot be closed"}
	}
	return nil
}

// resultError returns the error of a call that answered with a code.
func (c *connection) resultError(code int32) error {
	text := libc.GoString(sqlite3.Xsqlite3_errstr(c.tls, code))
	if c.db != 0 {
		if more := libc.GoString(sqlite3.Xsqlite3_errmsg(c.tls, c.db)); more != text {
			text += ": " + more
		}
	}
	return &sqliteError{code, text}
}

// run executes a statement whose rows are not wanted.
func (c *connection) run(query string) error {
	s, err := c.prepare(query)
	if err != nil {
		return err
	}
	defer s.close()
	for {
		if more, err := s.next(); err != nil || !more {
			return err
		}
	}
}

// statement is a query under way.
type statement struct {
	c      *connection
	handle uintptr
}

// prepare compiles a query, one statement of SQL.
func (c *connection) prepare(query string) (*statement, error) {
	text, err := libc.CString(query)
	if err != nil {
		return nil, err
	}
	defer libc.Xfree(c.tls, text)
	at := c.tls.Alloc(pointer)
	defer c.tls.Free(pointer)
	if code := sqlite3.Xsqlite3_prepare_v2(c.tls, c.db, text, -1, at, 0); code != sqlite3.SQLITE_OK {
		return nil, c.resultError(code)
	}
	return &statement{c, libc.AtomicLoadPUintptr(at)}, nil
}

// next goes on to the next row; false: there is none.
func (s *statement) next() (bool, error) {
	switch code := sqlite3.Xsqlite3_step(s.c.tls, s.handle); code {
	case sqlite3.SQLITE_ROW:
		return true, nil
	case sqlite3.SQLITE_DONE:
		return false, nil
	default:
		return false, s.c.resultError(code)
	}
}

// again begins the query anew with another value of its parameter.
func (s *statement) again(value int64) {
	sqlite3.Xsqlite3_reset(s.c.tls, s.handle)
	sqlite3.Xsqlite3_bind_int64(s.c.tls, s.handle, 1, value)
}

func (s *statement) close() { sqlite3.Xsqlite3_finalize(s.c.tls, s.handle) }

// number returns an integer of the row that the statement is at, Absent where the column holds none.
func (s *statement) number(column int) int64 {
	v := sqlite3.Xsqlite3_column_value(s.c.tls, s.handle, int32(column))
	switch sqlite3.Xsqlite3_value_type(s.c.tls, v) {
	case sqlite3.SQLITE_INTEGER:
		return sqlite3.Xsqlite3_value_int64(s.c.tls, v)
	case sqlite3.SQLITE_NULL:
		return Absent
	}
	var n int64
	s.put(column, &n)
	return n
}

// put gives a target of a Row a value as SQLite stored it, which need not be of the type that the table declares. It
// returns the bytes of a text or blob.
func (s *statement) put(column int, target any) (bytes int64) {
	tls := s.c.tls
	v := sqlite3.Xsqlite3_column_value(tls, s.handle, int32(column))
	number, text, blob := int64(Absent), []byte(nil), []byte(nil)
	switch sqlite3.Xsqlite3_value_type(tls, v) {
	case sqlite3.SQLITE_INTEGER:
		number = sqlite3.Xsqlite3_value_int64(tls, v)
	case sqlite3.SQLITE_FLOAT:
		if f := sqlite3.Xsqlite3_value_double(tls, v); f > -1<<62 && f < 1<<62 {
			number = int64(f)
		}
	case sqlite3.SQLITE_TEXT:
		text = copyBytes(sqlite3.Xsqlite3_value_text(tls, v), sqlite3.Xsqlite3_value_bytes(tls, v))
	case sqlite3.SQLITE_BLOB:
		blob = copyBytes(sqlite3.Xsqlite3_value_blob(tls, v), sqlite3.Xsqlite3_value_bytes(tls, v))
	}
	switch to := target.(type) {
	case *int64:
		if len(text) > 0 {
			if n, err := strconv.ParseInt(string(text), 10, 64); err == nil { // as copies of tables have it that lost their types
				number = n
			}
		}
		*to = number
	case *[]byte: // the column of payloads is declared as text and holds blobs
		*to = append((*to)[:0], blob...)
	case *string:
		if number != Absent {
			*to = strconv.FormatInt(number, 10)
		} else if both := append(text, blob...); *to != string(both) { // ranges that follow each other often have one text
			*to = strings.ToValidUTF8(string(both), "\uFFFD")
		}
	case *Value:
		*to = Value{Number: number, Text: strings.ToValidUTF8(string(text), "\uFFFD")}
	}
	return int64(len(text) + len(blob))
}

// copyBytes returns bytes that SQLite holds until the next row, at an address in its memory.
func copyBytes(at uintptr, n int32) []byte {
	if at == 0 || n <= 0 {
		return nil
	}
	return libc.GoBytes(at, int(n))
}
