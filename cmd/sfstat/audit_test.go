package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestAudit runs the commands of docs/audit.md, the table of what the published
// texts describe, in the order of the page in one folder, and looks for what the
// page says that they show, in what they print or in a file that they write. Of
// commands that are not sh's or sfstat's, as tests in Python, the file must be there.
func TestAudit(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "docs", "audit.md"))
	if err != nil {
		t.Fatal(err)
	}
	run := auditShell(t)
	code := regexp.MustCompile("`([^`]+)`(?: shows `([^`]+)`(?: in `([^`]+)`)?)?")
	rows, seen := 0, map[string]bool{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, " | ")
		if len(cells) < 5 || cells[2] == "here" {
			continue
		}
		rows++
		switch state := cells[2]; {
		case state != "yes" && state != "partly" && state != "no":
			t.Errorf("state %q in %s", state, line)
		case (state == "no") != (cells[3] == "–"):
			t.Errorf("the command of a row that says %q: %s", state, line)
		case state == "partly" && !strings.Contains(cells[4], "; ") && !strings.HasPrefix(cells[4], "by "):
			t.Errorf("nothing says what is missing: %s", line)
		}
		shown := !strings.Contains(cells[3], "`sfstat ") || strings.Contains(cells[3], "make paper")
		for _, found := range code.FindAllStringSubmatch(cells[3], -1) {
			if !seen[found[0]] { // what two rows say alike is tried once
				run(found[1], found[2], found[3])
				seen[found[0]] = true
			}
			shown = shown || found[2] != ""
		}
		if !shown {
			t.Errorf("no command says what it shows: %s", line)
		}
	}
	if rows < 50 {
		t.Errorf("%d rows found: the test would pass on nothing", rows)
	}
}

// auditShell runs a command line of the page, which must end well, and looks for a
// text in its output or in a file; breaks of lines and columns are spaces.
func auditShell(t *testing.T) func(command, text, file string) {
	shell := newShell(t)
	for _, name := range []string{"eval", "docs"} {
		target, err := filepath.Abs(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		shell("ln -s '" + target + "' " + name)
	}
	return func(command, text, file string) {
		program, rest, _ := strings.Cut(command, " ")
		switch program {
		case "sfstat", "mkdir", "cp", "printf":
		case "make":
			checkTarget(t, rest)
			return
		default:
			for _, word := range strings.Fields(rest) {
				name := strings.TrimPrefix(word, "./")
				if strings.HasPrefix(name, "test_") {
					name = "recorder/tests/" + name
				}
				if strings.Contains(name, "/") && !exists(filepath.Join(root, filepath.FromSlash(name))) {
					t.Errorf("%s: no file %s", command, name)
				}
			}
			return
		}
		if program == "printf" {
			shell(command)
			return
		}
		out := shell(command + " >stdout 2>stderr || { echo exit code $?; cat stderr; }")
		if out != "" {
			t.Errorf("%s: %s", command, out)
		}
		if file == "" {
			file = "stdout stderr"
		}
		if printed := strings.Join(strings.Fields(shell("cat "+file)), " "); !strings.Contains(printed, text) {
			t.Errorf("%s: nothing of %q in %s", command, text, file)
		}
	}
}

// checkTarget: the Makefile has the target, and each input that it names is there.
func checkTarget(t *testing.T, target string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	_, recipe, found := strings.Cut(string(text), "\n"+target+": ")
	if !found {
		t.Fatalf("the Makefile has no target %s", target)
	}
	recipe, _, _ = strings.Cut(recipe, "\n\n")
	inputs := regexp.MustCompile(`(?:eval|fixtures|docs)/[^ \n]*`).FindAllString(recipe, -1)
	if len(inputs) == 0 {
		t.Errorf("target %s names no input", target)
	}
	for _, name := range inputs {
		if matched, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(name))); err != nil || len(matched) == 0 {
			t.Errorf("target %s: no file %s (%v)", target, name, err)
		}
	}
}
