//go:build unix

package batch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sfstat/sfstat/internal/flatrow"
)

// cramped is the archive that the test binary judges where files cannot grow.
const cramped = "SFSTAT_TEST_CRAMPED"

func init() {
	if dir := os.Getenv(cramped); dir != "" {
		beCramped(dir)
	}
}

func beCramped(dir string) {
	signal.Ignore(syscall.SIGXFSZ)
	const room = 1 << 10
	err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: room, Max: room})
	if err == nil {
		_, err = Run(context.Background(), []string{dir}, Options{Output: Output{Path: filepath.Join(filepath.Dir(dir), "a.parquet"), Format: flatrow.Parquet}})
	}
	fmt.Println(err)
	os.Exit(1)
}

// TestFull: where there is no room, the error is one line that names the output, nothing
// lies under its name, and with room the batch goes on.
func TestFull(t *testing.T) {
	self, err := os.Executable()
	must(t, err)
	parent := t.TempDir()
	dir := filepath.Join(parent, "archive")
	must(t, os.Rename(fleet(t, 3), dir))
	out := filepath.Join(parent, "a.parquet")
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), cramped+"="+dir)
	said, _ := cmd.Output() // its exit code is 1
	if !strings.HasPrefix(string(said), "write "+out) || strings.Count(string(said), "\n") != 1 || !strings.Contains(string(said), "--resume") {
		t.Errorf("it says %q", said)
	}
	if _, err := os.Stat(out); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something lies at %s: %v", out, err)
	}
	run(t, dir, Options{Output: Output{Path: out}, Resume: GoOn})
	whole := filepath.Join(parent, "b.parquet")
	run(t, dir, Options{Output: Output{Path: whole}})
	if !bytes.Equal(read(t, out), read(t, whole)) {
		t.Error("what went on has other bytes than what had room from the beginning")
	}
}

// fewFiles lets the program have so many files open until the function that it returns is called.
func fewFiles(t *testing.T, n uint64) (restore func()) {
	t.Helper()
	var before syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before))
	now := before
	now.Cur = n
	must(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &now))
	return func() { must(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before)) }
}

// TestFewFiles: the files of one run at a time are open, whatever lies in a folder. Where that is too
// many, the batch ends and keeps its parts: no run is left out for want of this machine.
func TestFewFiles(t *testing.T) {
	dir := t.TempDir()
	for i := range 60 {
		record(t, filepath.Join(dir, "runs", fmt.Sprintf("run-%d.jsonl", i)), job(fmt.Sprintf("run-%d", i), uint64(i), -1))
	}
	out := filepath.Join(dir, "a.csv")
	restore := fewFiles(t, 48)
	sum := run(t, filepath.Join(dir, "runs"), Options{Output: Output{Path: out}})
	restore()
	if len(sum.Runs()) != 60 || len(sum.Refused) > 0 {
		t.Errorf("%d runs and %v, expected 60", len(sum.Runs()), sum.Refused)
	}

	whole := read(t, filepath.Join(dir, "runs", "run-1.jsonl"))
	for rank := range 60 {
		lines := bytes.ReplaceAll(bytes.ReplaceAll(whole, []byte(`"rank":7,`), fmt.Appendf(nil, `"rank":%d,`, 7+rank)), []byte(`"world_size":8`), []byte(`"world_size":67`))
		if rank > 0 {
			lines = bytes.Join(lastRank(lines, 7+rank), nil)
		}
		must(t, os.MkdirAll(filepath.Join(dir, "large"), 0o777))
		must(t, os.WriteFile(filepath.Join(dir, "large", fmt.Sprintf("rank-%d.jsonl", rank)), lines, 0o666))
	}
	o := Options{Output: Output{Path: filepath.Join(dir, "b.csv"), Format: flatrow.CSV}}
	restore = fewFiles(t, 48)
	_, err := Run(t.Context(), []string{filepath.Join(dir, "large")}, o)
	restore()
	if err == nil || !errors.Is(err, syscall.EMFILE) || !strings.Contains(err.Error(), "ulimit -n") || !strings.Contains(err.Error(), "--resume") {
		t.Fatalf("%v, expected that no more files can be open", err)
	}
	o.Resume = GoOn
	sum, err = Run(t.Context(), []string{filepath.Join(dir, "large")}, o)
	if err != nil || len(sum.Runs()) != 1 || len(sum.Refused) > 0 {
		t.Errorf("%+v, %v: expected one run", sum, err)
	}
}

// lastRank are the lines of a rank.
func lastRank(text []byte, rank int) (lines [][]byte) {
	for line := range bytes.Lines(text) {
		if bytes.Contains(line, fmt.Appendf(nil, `"rank":%d,`, rank)) {
			lines = append(lines, line)
		}
	}
	return lines
}
