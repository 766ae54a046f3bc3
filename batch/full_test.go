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
		_, err = Run(context.Background(), []string{dir}, Options{Output: Output{Path: filepath.Join(filepath.Dir(dir), "a.parquet"), Format: Parquet}})
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
