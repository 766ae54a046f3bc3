//go:build unix

package auto

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A log may come through a pipe, which can be read only once; an export may not.
func TestPipe(t *testing.T) {
	dir := t.TempDir()
	for name, want := range map[string]string{"nccl.node0.4000.log": "", "node0.sqlite": "through a pipe"} {
		pipe := filepath.Join(dir, name)
		if err := syscall.Mkfifo(pipe, 0o600); err != nil {
			t.Skipf("no pipes with names here, so none was read: %v", err)
		}
		data, err := os.ReadFile(filepath.Join(run, name))
		if err != nil {
			t.Fatal(err)
		}
		go os.WriteFile(pipe, data, 0o600)
		f, err := readComm(pipe)
		if want == "" && (err != nil || len(f.Comm.Calls) == 0) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
