package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestSaysOnce(t *testing.T) {
	var out strings.Builder
	p := newProgram(nil, nil, &out)
	p.dedupeMessages()
	for _, line := range []string{"a", "b", "a"} {
		p.say("%s", line)
	}
	if out.String() != "a\nb\n" {
		t.Errorf("%q", out.String())
	}
}

// TestHooks: a command of --exec does not hold up what follows, and is ended behind the end of an idle watch; one that is for
// the finding which ends the watch is waited for, and those of several verdicts do not run at a time.
func TestHooks(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"host-callback-r8-s0.jsonl", "e3-data-r8-s0.jsonl"} {
		text, err := os.ReadFile(filepath.Join(root, "fixtures", "ddp", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out, said lockedBuffer
	began := time.Now()
	code := run([]string{"sfstat", "watch", dir, "--every", "10ms", "--idle", "50ms", "--exec", "exec sleep 600"}, nil, &out, &said)
	if took := time.Since(began); code != exitDone || took > 300*time.Second || !strings.Contains(said.String(), "--exec: signal: killed") {
		t.Errorf("exit code %d after %v, said %q", code, took, said.String())
	}
	mark := filepath.Join(t.TempDir(), "running")
	hook := "cat > /dev/null; mkdir " + mark + " || echo two at a time; sleep 0.1; rmdir " + mark + "; echo paged for $SFSTAT_RANK"
	for _, end := range [][]string{{"--fail-on", "strong"}, {"--idle", "1s"}} {
		var out, said lockedBuffer
		run(append([]string{"sfstat", "watch", dir, "--every", "10ms", "--exec", hook}, end...), nil, &out, &said)
		if got := out.String(); !strings.Contains(got, "paged for ") || strings.Contains(got, "two at a time") || strings.Contains(said.String(), "exec") {
			t.Errorf("%v: %q, said %q", end, got, said.String())
		}
	}
}
