package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/live"
)

// failing is standard input that meets a bug when it is read.
type failing struct{}

func (failing) Read([]byte) (int, error) { panic("boom") }

// TestBugInOneInput: what can be judged is printed as without the input that meets a bug, one line
// says where, and the exit code is 1. --strict refuses all.
func TestBugInOneInput(t *testing.T) {
	good := filepath.Join(root, "fixtures", "ddp", "host-callback-r8-s0.jsonl")
	const says = ": -: this is a bug in sfstat, please report it: boom\n"
	for _, command := range []string{"diagnose", "inspect", "frontier", "report", "convert"} {
		args := []string{command, good, "-"}
		if command == "convert" {
			args = append(args, "--to", "packets", "-o", "-")
		}
		code, out, errs := runArgs(t, failing{}, args...)
		if code != exitInternal || errs != "sfstat "+command+says {
			t.Errorf("%s: code %d and %q, expected %d and %q", command, code, errs, exitInternal, says)
		}
		if !strings.Contains(out, "host-callback") {
			t.Errorf("%s: nothing of the good input in %q", command, out)
		}
	}
	if code, out, errs := runArgs(t, failing{}, "diagnose", "--strict", good, "-"); code != exitInternal || out != "" || errs != "sfstat diagnose"+says {
		t.Errorf("--strict: code %d, %q and %q", code, out, errs)
	}
	if code, out, errs := runArgs(t, failing{}, "diagnose", "-"); code != exitInternal || out != "" || errs != "sfstat diagnose"+says {
		t.Errorf("alone: code %d, %q and %q", code, out, errs)
	}
	if code, _, errs := runArgs(t, failing{}, "diagnose", good, "-", "--fail-on", "supported"); code != exitInternal || strings.Count(errs, "\n") != 2 {
		t.Errorf("--fail-on: code %d and %q, expected %d: the answer may lack something", code, errs, exitInternal)
	}
}

// TestBugInAFollowedRun: following goes on after a panic where a verdict is shown.
func TestBugInAFollowedRun(t *testing.T) {
	var errs strings.Builder
	p := newProgram(nil, io.Discard, &errs)
	p.getenv = func(string) string { return "1" }
	app := p.app()
	app.Command("watch").Run = func(c *cli.Context) error {
		each := p.handSafely(c, func(live.Change) error { panic("boom") })
		for range 2 {
			if err := each(live.Change{Key: "run a"}); err != nil {
				t.Errorf("it ends with %v", err)
			}
		}
		return nil
	}
	if code := p.run(app, []string{"sfstat", "watch", "runs"}); code != exitInternal {
		t.Errorf("code %d, expected %d", code, exitInternal)
	}
	if got := errs.String(); !strings.Contains(got, "run a: this is a bug in sfstat, please report it: boom\n") || !strings.Contains(got, "contained_test.go") {
		t.Errorf("%q, expected the bug, and where it is", got)
	}
}

// TestCraftedName: a file that seems to begin as an XPlane profile with a long name is no input.
func TestCraftedName(t *testing.T) {
	dir := t.TempDir()
	b, err := os.ReadFile(filepath.Join(root, "fixtures", "ddp", "nofault-r8-s0.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"job.jsonl": string(b), "x": "\n\x05\x12\xff" + strings.Repeat("A", 300)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	code, out, errs := runArgs(t, nil, "inspect", dir)
	if code != 0 || errs != "" || !strings.Contains(out, "304 B    skipped: text") {
		t.Errorf("code %d, %q, %q: expected x to be listed as text", code, errs, out)
	}
	for _, command := range []string{"diagnose", "batch"} {
		if code, _, errs := runArgs(t, nil, command, dir); code != 0 || strings.Contains(errs, "bug") {
			t.Errorf("%s: code %d, %q", command, code, errs)
		}
	}
}
