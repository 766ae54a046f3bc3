package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
)

// TestNamesOfRuns: whatever runs are called, their files have names that a file system takes, in the folder.
func TestNamesOfRuns(t *testing.T) {
	for run, want := range map[string]string{"a": "a", "a/b": "a_b", "a\x00b": "a_b", "../../x": ".._.._x", "a\nb\x1b": "a_b_", "\xff": "_", "ü": "ü"} {
		if got := fileName(run); got != want {
			t.Errorf("%q becomes %q, expected %q", run, got, want)
		}
	}
	dir := t.TempDir()
	text := strings.ReplaceAll(`{"schema":"sfstat.packet/1","run":"RUN","window":0,"rank":0,"world_size":1,"stages":["a"],"first_step":0,"durations_ns":[[1]]}`+"\n", "RUN", `a\u0000b`)
	path := filepath.Join(dir, "a.jsonl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	if code := run([]string{"sfstat", "convert", path, "--to", "csv", "-o", filepath.Join(dir, "out") + "/"}, nil, io.Discard, &said); code != exitDone {
		t.Fatalf("exit code %d, %s", code, said.String())
	}
	if _, err := os.Stat(filepath.Join(dir, "out", "windows-a_b.csv")); err != nil {
		t.Error(err)
	}
}

// TestPipes: a pipe that nobody writes to is refused by who would wait for it without end.
func TestPipes(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	for _, args := range [][]string{{"batch", pipe, "-o", filepath.Join(dir, "a.csv")}, {"watch", pipe, "--every", "10ms", "--idle", "100ms"}} {
		var said strings.Builder
		done := make(chan int, 1)
		go func() { done <- run(append([]string{"sfstat"}, args...), nil, io.Discard, &said) }()
		select {
		case code := <-done:
			if code != exitBadInput {
				t.Errorf("%s: exit code %d, %s", args[0], code, said.String())
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%s waits", args[0])
		}
	}
}

// TestTerminated: SIGTERM ends the program as an interrupt does, and the exit code says which.
func TestTerminated(t *testing.T) {
	var said lockedBuffer
	p := newProgram(strings.NewReader(""), io.Discard, &said)
	app := p.app()
	app.Command("selfcheck").Run = func(c *cli.Context) error {
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Signal(syscall.SIGTERM)
		}
		<-c.Context.Done()
		return nil
	}
	if code := p.run(app, []string{"sfstat", "selfcheck"}); code != exitTerminated {
		t.Errorf("exit code %d, expected %d", code, exitTerminated)
	}
	if got := said.String(); got != "sfstat: interrupted\n" {
		t.Errorf("said %q", got)
	}
}

// TestLeftovers: what a killed program left of an output goes with the next.
func TestLeftovers(t *testing.T) {
	dir := t.TempDir()
	left, other := filepath.Join(dir, ".page.html.1z.tmp"), filepath.Join(dir, ".notes.1z.tmp")
	for _, path := range []string{left, other} {
		if err := os.WriteFile(path, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	job := filepath.Join(root, "fixtures", "ddp", "nofault-r8-s0.jsonl")
	if code := run([]string{"sfstat", "report", job, "-o", filepath.Join(dir, "page.html")}, nil, io.Discard, io.Discard); code != exitDone {
		t.Fatalf("exit code %d", code)
	}
	if _, err := os.Stat(left); err == nil {
		t.Error("the file is still there")
	}
	if _, err := os.Stat(other); err != nil {
		t.Errorf("a file of somebody else: %v", err)
	}

	out := filepath.Join(dir, "out")
	if err := os.Mkdir(out, 0o700); err != nil {
		t.Fatal(err)
	}
	left, other = filepath.Join(out, ".windows-gone.jsonl.1z.tmp"), filepath.Join(out, ".notes.1z.tmp")
	for _, path := range []string{left, other} {
		if err := os.WriteFile(path, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if code := run([]string{"sfstat", "convert", job, "-o", out}, nil, io.Discard, io.Discard); code != exitDone {
		t.Fatalf("exit code %d", code)
	}
	if _, err := os.Stat(left); err == nil {
		t.Error("the file is still there, in a folder of outputs")
	}
	if _, err := os.Stat(other); err != nil {
		t.Errorf("a file of somebody else in a folder of outputs: %v", err)
	}
}
