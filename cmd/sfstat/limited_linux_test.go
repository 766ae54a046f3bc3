package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// limitedTo returns sfstat that may have so many kB of addresses. Go gives no memory back there.
func limitedTo(kB string, args ...string) *exec.Cmd {
	cmd := exec.Command("sh", append([]string{"-c", `ulimit -v "$0" && exec sfstat "$@"`, kB}, args...)...)
	cmd.Env = append(os.Environ(), "GOGC=off")
	return cmd
}

// TestMemoryLimit: a program that gets no memory ends in a sentence; one that has enough does not
// differ from one without a limit.
func TestMemoryLimit(t *testing.T) {
	var text strings.Builder
	text.WriteString("step,rank,data_ms\n")
	for range 120 {
		for range 25_000 {
			text.WriteString("0,0,1.234567\n") // refused, but at its end
		}
	}
	large := filepath.Join(t.TempDir(), "large.csv")
	if err := os.WriteFile(large, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	said, err := limitedTo("1000000", "diagnose", large).CombinedOutput()
	var ended *exec.ExitError
	if !errors.As(err, &ended) || ended.ExitCode() != exitBadInput || strings.Count(string(said), "\n") != 1 || !strings.Contains(string(said), "than the 1.0 GB that it may have (ulimit -v)") {
		t.Errorf("%v: %s", err, said)
	}
	small := filepath.Join(root, "fixtures", "ddp", "host-callback-r8-s0.jsonl")
	for _, args := range [][]string{{"diagnose", small}, {"diagnose", "none.jsonl"}, {"diagnose", "--fail-on", "strong", small}} {
		want, free := exec.Command("sfstat", args...).CombinedOutput()
		got, limited := limitedTo("4000000", args...).CombinedOutput()
		if string(got) != string(want) || exitOf(limited) != exitOf(free) {
			t.Errorf("%v: with a limit %v: %s, without %v: %s", args, limited, got, free, want)
		}
	}
}

func exitOf(err error) int {
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		return ended.ExitCode()
	}
	return 0
}

// TestMemoryLimitSignals: a signal reaches the program that works.
func TestMemoryLimitSignals(t *testing.T) {
	cmd := limitedTo("4000000", "watch", filepath.Join(root, "fixtures", "ddp"), "--every", "10ms")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil { // it is at work
		t.Error(err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	if code := exitOf(cmd.Wait()); code != exitTerminated {
		t.Errorf("exit code %d, expected %d", code, exitTerminated)
	}
}

func TestPassOn(t *testing.T) {
	for _, c := range []struct {
		all, crash string
		memory     bool
	}{
		{"a\nb", "", false},
		{"a\nruntime: out of memory: cannot allocate 4194304-byte block (0 in use)\nfatal error: out of memory\n\nruntime stack:\nx\n", "runtime: out of memory: cannot allocate 4194304-byte block (0 in use)\nfatal error: out of memory\n\nruntime stack:\nx\n", true},
		{"fatal error: all goroutines are asleep - deadlock!\n\ngoroutine 1: out of memory\n", "fatal error: all goroutines are asleep - deadlock!\n\ngoroutine 1: out of memory\n", false},
	} {
		var said strings.Builder
		crash := passOn(&said, strings.NewReader(c.all))
		if crash != c.crash || said.String()+crash != c.all || lacksMemory(crash) != c.memory {
			t.Errorf("%q: passed on %q, held %q, lacks memory: %v", c.all, said.String(), crash, lacksMemory(crash))
		}
	}
}
