package export

import (
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sfstat/sfstat/trace/input"
)

// TestEndlessSchema: the pages of the schema name the next as all of their children, three levels deep, which
// takes SQLite far longer than a file may take to open.
func TestEndlessSchema(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.sqlite")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	statements := []string{"PRAGMA page_size = 512", "PRAGMA journal_mode = OFF", "PRAGMA synchronous = OFF"}
	for i := range 1500 {
		statements = append(statements, fmt.Sprintf("CREATE TABLE t%04d (a)", i))
	}
	statements = append(statements, "PRAGMA writable_schema = ON", "UPDATE sqlite_master SET sql = replace(sql, 'CREATE TABLE', 'CREATE TABLE IF NOT EXISTS')")
	db.SetMaxOpenConns(1)
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatal(s, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	interior := []int{100} // of page 1, where its header begins
	for at := 512; at < len(data); at += 512 {
		if data[at] == 5 {
			interior = append(interior, at)
		}
	}
	const levels = 3
	if len(interior) < levels || data[100] != 5 {
		t.Fatalf("%d pages of the schema have children", len(interior))
	}
	interior = interior[:levels]
	leaf := binary.BigEndian.Uint32(data[interior[levels-1]+8:])
	for i, at := range interior {
		next := leaf
		if i+1 < levels {
			next = uint32(interior[i+1]/512 + 1)
		}
		page := at / 512 * 512
		binary.BigEndian.PutUint32(data[at+8:], next)
		for c := range int(binary.BigEndian.Uint16(data[at+3:])) {
			cell := page + int(binary.BigEndian.Uint16(data[at+12+2*c:]))
			binary.BigEndian.PutUint32(data[cell:], next)
		}
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	_, err = openBy(path, 50*time.Millisecond)
	if !errors.Is(err, input.ErrFormat) || !strings.Contains(err.Error(), "schema has not been read") {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}
