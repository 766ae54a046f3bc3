package sqlite_test

import (
	"bytes"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	_ "modernc.org/sqlite" // SQLite itself, which says what is right

	"github.com/sfstat/sfstat/ingest/nsight/internal/sqlite"
)

// made is the file that SQLite makes of statements.
func made(t testing.TB, statements ...string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.sqlite")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func open(data []byte) (*sqlite.DB, error) {
	return sqlite.Open(bytes.NewReader(data), int64(len(data)))
}

// shown is a value as SQLite's quote writes it.
func shown(v sqlite.Value) string {
	switch v.Kind {
	case sqlite.Integer:
		return fmt.Sprint(v.Int)
	case sqlite.Real:
		return fmt.Sprintf("%.17g", v.Real)
	case sqlite.Text:
		return "'" + strings.ReplaceAll(string(v.Bytes), "'", "''") + "'"
	case sqlite.Blob:
		return fmt.Sprintf("X'%X'", v.Bytes)
	}
	return "NULL"
}

// rows are those of a table by this package.
func rows(db *sqlite.DB, name string) (out [][]string, err error) {
	t, ok := db.Table(name)
	if !ok {
		return nil, fmt.Errorf("no table %s", name)
	}
	r := db.Rows(t)
	for r.Next() {
		row := []string{fmt.Sprint(r.ID)}
		for i := range t.Columns {
			row = append(row, shown(r.Value(i)))
		}
		out = append(out, row)
	}
	return out, r.Err()
}

// theirs are those by SQLite, with the names of the columns.
func theirs(t *testing.T, data []byte, name string) (columns []string, out [][]string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "y.sqlite")
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	list := func(query string, width int) (out [][]string) {
		found, err := db.Query(query)
		if err != nil {
			t.Fatal(err)
		}
		defer found.Close()
		for found.Next() {
			row, to := make([]string, width), make([]any, width)
			for i := range row {
				to[i] = &row[i]
			}
			if err := found.Scan(to...); err != nil {
				t.Fatal(err)
			}
			out = append(out, row)
		}
		return out
	}
	quoted := []string{"rowid"}
	for _, row := range list("SELECT name FROM pragma_table_info('"+name+"')", 1) {
		column := `"` + strings.ReplaceAll(row[0], `"`, `""`) + `"`
		columns = append(columns, row[0])
		// As this package has it: text with its kind, reals with all their digits.
		quoted = append(quoted, fmt.Sprintf("CASE typeof(%[1]s) WHEN 'real' THEN printf('%%.17g', %[1]s) ELSE quote(%[1]s) END", column))
	}
	return columns, list("SELECT "+strings.Join(quoted, ", ")+" FROM "+name+" ORDER BY rowid", len(quoted))
}

// TestAsSQLite: tables of all kinds of values, declarations and sizes of pages are read as SQLite reads them.
func TestAsSQLite(t *testing.T) {
	const many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) INSERT INTO t SELECT "
	for name, statements := range map[string][]string{
		"values": {"CREATE TABLE t (a, b INTEGER, c REAL, d TEXT, e BLOB)",
			"INSERT INTO t VALUES (NULL, -1, 2, 'it''s', x'00ff'), (0, 127, 1e15, '', x''), (1, -129, -0.5, 17, 'text'), (32768, 8388608, 3.25, 'ä', zeroblob(300))",
			"INSERT INTO t VALUES (2147483648, 140737488355328, 0.25, -9223372036854775808, -140737488355329)"},
		"key":             {"CREATE TABLE t (id INTEGER PRIMARY KEY, value TEXT)", "INSERT INTO t VALUES (-5, 'a'), (7, 'b'), (9223372036854775807, 'c')"},
		"key apart":       {"CREATE TABLE t (value TEXT, id INTEGER, PRIMARY KEY (id))", "INSERT INTO t VALUES ('a', 3), ('b', 1)"},
		"no key of rows":  {"CREATE TABLE t (id INT PRIMARY KEY, other INTEGER PRIMARY_KEY)", "INSERT INTO t VALUES (3, 4), (1, 2)"},
		"declarations":    {"CREATE TABLE IF NOT EXISTS t ( -- one, (two\n \"a \"\"b\"\"\" INT DEFAULT (max(1, 2)), [c d] VARCHAR(10, 2) NOT NULL CHECK (CAST([c d] AS TEXT) <> ','), `e`, /* x, */ 'f' DEFAULT ')',\n CONSTRAINT k UNIQUE (e, f), CHECK (e > 0), FOREIGN KEY (e) REFERENCES u (v))", "INSERT INTO t VALUES (1, 'two', 3, 4)"},
		"computed":        {"CREATE TABLE t (a, b AS (a * 2), c GENERATED ALWAYS AS (a * 3) STORED, d)", "INSERT INTO t (a, d) VALUES (1, 'd')"},
		"added column":    {"CREATE TABLE t (a)", "INSERT INTO t VALUES (1)", "ALTER TABLE t ADD COLUMN b", "INSERT INTO t VALUES (2, 3)"},
		"small pages":     {"PRAGMA page_size = 512", "CREATE TABLE t (a, b)", many + "i * i, 'row ' || i FROM n"},
		"large pages":     {"PRAGMA page_size = 65536", "CREATE TABLE t (a, b)", many + "i * i, hex(zeroblob(i)) FROM n"},
		"rows over pages": {"PRAGMA page_size = 512", "CREATE TABLE t (a, b)", "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500) INSERT INTO t SELECT i, hex(zeroblob(i)) FROM n"},
		"deleted rows":    {"CREATE TABLE t (a, b)", many + "i, 'row ' || i FROM n", "DELETE FROM t WHERE a % 3 = 0 OR a BETWEEN 1000 AND 2000"},
		"empty":           {"CREATE TABLE t (a)"},
	} {
		t.Run(name, func(t *testing.T) {
			data := made(t, statements...)
			columns, want := theirs(t, data, "t")
			db, err := open(data)
			if err != nil {
				t.Fatal(err)
			}
			got, err := rows(db, "t")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("rows (-SQLite +ours):\n%.2000s", diff)
			}
			if of, _ := db.Table("t"); !slices.Equal(of.Columns, columns) {
				t.Errorf("columns %q, SQLite has %q", of.Columns, columns)
			}
		})
	}
}

// TestNoTables: what has no rows of its own, or none with numbers, is no table.
func TestNoTables(t *testing.T) {
	db, err := open(made(t, "CREATE TABLE t (a PRIMARY KEY, b) WITHOUT ROWID", "CREATE TABLE u (a)", "CREATE VIEW v AS SELECT a FROM u", "CREATE INDEX i ON u (a)"))
	if err != nil {
		t.Fatal(err)
	}
	if all := db.Tables(); len(all) != 1 || all[0].Name != "u" {
		t.Errorf("%+v, expected u alone", all)
	}
}

func TestSorted(t *testing.T) {
	db, err := open(made(t, "PRAGMA page_size = 512", "CREATE TABLE t (id INTEGER PRIMARY KEY, a, b)",
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) INSERT INTO t SELECT i, i * 7919 % 500, hex(zeroblob(i % 400)) FROM n"))
	if err != nil {
		t.Fatal(err)
	}
	of, _ := db.Table("t")
	r, err := db.Sorted(of, 1, func(v sqlite.Value) int64 { return v.Int })
	if err != nil {
		t.Fatal(err)
	}
	n, lastID, last := 0, int64(0), int64(-1)
	for r.Next() {
		n++
		id, a, b := r.Value(0).Int, r.Value(1).Int, r.Value(2).Bytes
		if a != id*7919%500 || len(b) != int(id%400)*2 || a < last || a == last && id < lastID {
			t.Fatalf("row %d has %d and %d bytes, after row %d with %d", id, a, len(b), lastID, last)
		}
		last, lastID = a, id
	}
	if n != 2000 || r.Err() != nil {
		t.Errorf("%d rows, %v", n, r.Err())
	}
}

// TestEndlessRow: a row whose pages lead in a circle, and which claims to be longer than the file, is
// refused before it is read a million bytes long.
func TestEndlessRow(t *testing.T) {
	data := made(t, "PRAGMA page_size = 512", "CREATE TABLE t (a)", "INSERT INTO t VALUES (printf('%.*c', 300000, 'a') || 'ZZZZ')")
	last := bytes.Index(data, []byte("ZZZZ")) / 512 * 512
	binary.BigEndian.PutUint32(data[last:], uint32(last/512+1)) // the last page follows itself
	const root = 512                                            // the second page
	cell := root + int(binary.BigEndian.Uint16(data[root+8:]))
	size := int(data[cell]&0x7f)<<14 | int(data[cell+1]&0x7f)<<7 | int(data[cell+2])
	size += 1300 * (512 - 4) // whole pages more, so that as much as before lies in the cell
	copy(data[cell:], []byte{byte(size>>14) | 0x80, byte(size>>7) | 0x80, byte(size & 0x7f)})
	db, err := open(data)
	if err != nil {
		t.Fatal(err)
	}
	var damage sqlite.Damage
	if _, err := rows(db, "t"); !errors.As(err, &damage) || !strings.Contains(err.Error(), "after as many as the file has") {
		t.Errorf("error is %v", err)
	}
}

// TestDamaged changes bytes of files: each is read to an end, with an error of this package or without.
func TestDamaged(t *testing.T) {
	data := made(t, "PRAGMA page_size = 512", "CREATE TABLE t (id INTEGER PRIMARY KEY, a, b)",
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100) INSERT INTO t SELECT i, i * i, hex(zeroblob(i * 4)) FROM n")
	rng := rand.New(rand.NewPCG(1, 2))
	refused, read := 0, 0
	for range 2000 {
		bad := bytes.Clone(data)
		for range 1 + rng.IntN(4) {
			at := rng.IntN(len(bad))
			if rng.IntN(2) == 0 { // where the structure of a page is
				at = rng.IntN(len(bad)/512)*512 + rng.IntN(32)
			}
			bad[at] = [...]byte{byte(rng.Uint32()), 0, 0xff, 5, 13}[rng.IntN(5)]
		}
		err := readAll(bad)
		var damage sqlite.Damage
		switch {
		case err == nil:
			read++
		case errors.As(err, &damage), errors.Is(err, sqlite.ErrTooLarge):
			refused++
		default:
			t.Fatal(err)
		}
	}
	if refused < 200 || read < 200 {
		t.Errorf("%d refused, %d read: do the changes meet anything?", refused, read)
	}
}

// readAll reads all there is, in both orders.
func readAll(data []byte) error {
	db, err := open(data)
	if err != nil {
		return err
	}
	for _, of := range db.Tables() {
		if _, err := rows(db, of.Name); err != nil {
			return err
		}
		if _, err := db.Sorted(&of, 0, func(v sqlite.Value) int64 { return v.Int }); err != nil {
			return err
		}
	}
	return nil
}

func FuzzRead(f *testing.F) {
	f.Add(made(f, "PRAGMA page_size = 512", "CREATE TABLE t (id INTEGER PRIMARY KEY, a, b)", "INSERT INTO t VALUES (1, 2, hex(zeroblob(600)))"))
	f.Fuzz(func(_ *testing.T, data []byte) { _ = readAll(data) })
}
