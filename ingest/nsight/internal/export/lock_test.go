//go:build unix

package export_test

import (
	"bufio"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/fixtures/nsighttest"
	"github.com/sfstat/sfstat/trace/input"
)

// writerVariable makes the test binary the other process of TestLocked.
const writerVariable = "SFSTAT_TEST_WRITER"

// TestMain lets the test binary be that process: it begins a transaction on
// the file at the path, says so, and goes when its input ends.
func TestMain(m *testing.M) {
	if how := os.Getenv(writerVariable); how != "" {
		if err := writeUntilTold(how, os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func writeUntilTold(how, path string) error {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for statement := range strings.SplitSeq(how, ";") {
		if _, err := db.Exec(statement); err != nil {
			return err
		}
	}
	fmt.Println("writing")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// TestLocked: while another process writes the file it is refused, in one line
// that says so, whether or not a journal lies beside it; when it only reads,
// or has ended, the file is read.
func TestLocked(t *testing.T) {
	for name, c := range map[string]struct {
		statements, says string
	}{
		"exclusive":            {"BEGIN EXCLUSIVE", "has it locked and is writing it"},
		"about to write":       {"BEGIN IMMEDIATE", "has it locked and is writing it"},
		"without a journal":    {"PRAGMA journal_mode = off;BEGIN IMMEDIATE;CREATE TABLE x (y);INSERT INTO x SELECT zeroblob(1000000)", "has it locked and is writing it"},
		"with a journal":       {"BEGIN IMMEDIATE;CREATE TABLE x (y);INSERT INTO x SELECT zeroblob(9000000)", "has it locked and is writing it"},
		"with write-ahead log": {"PRAGMA journal_mode = wal;CREATE TABLE x (y)", "a write-ahead log (x.sqlite-wal) lies beside it"},
		"a reader":             {"BEGIN;SELECT count(*) FROM StringIds", ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.sqlite")
			if err := nsighttest.Write(path, small(nsighttest.Of2024)); err != nil {
				t.Fatal(err)
			}
			end := startWriter(t, c.statements, path)
			seen, err := read(path)
			switch {
			case c.says == "" && (err != nil || seen["CUPTI_ACTIVITY_KIND_KERNEL"] != 1):
				t.Errorf("%v, %v", seen, err)
			case c.says != "" && (!errors.Is(err, input.ErrTruncated) || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n")):
				t.Errorf("error %v, want one line that says %q", err, c.says)
			}
			end()
			if seen, err := read(path); err != nil || seen["CUPTI_ACTIVITY_KIND_KERNEL"] != 1 {
				t.Errorf("afterwards: %v, %v", seen, err)
			}
		})
	}
}

// startWriter starts the other process; end lets it go, without what it wrote.
func startWriter(t *testing.T, statements, path string) (end func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0], path)
	cmd.Env = append(os.Environ(), writerVariable+"="+statements)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	end = func() { in.Close(); cmd.Wait() }
	t.Cleanup(end)
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("the other process: %q, %v", line, err)
	}
	return end
}
