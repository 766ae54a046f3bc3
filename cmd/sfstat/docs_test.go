package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// TestDocumentation runs what the documentation shows. On every page a fenced
// block marked "console" is a dialogue: a line that begins with "$ " is a command
// for sh, the lines after it are what it prints, on both outputs. All blocks of a
// page run in order in one folder, which has the fixtures. What depends on the
// machine is elided: a line "[...]" stands for any number of lines, "[...]"
// inside a line for any text. "go test ./cmd/sfstat -update" writes what is
// really printed.
func TestDocumentation(t *testing.T) {
	t.Parallel()
	shown := 0
	for page, text := range documentation(t) {
		if !strings.Contains(text, "\n```console\n") {
			continue
		}
		shown++
		t.Run(filepath.Base(page), func(t *testing.T) {
			t.Parallel()
			shell := newShell(t)
			checked, fresh := checkPage(t, text, shell)
			if checked == 0 {
				t.Error("no command is shown")
			}
			if *update && fresh != text {
				if err := os.WriteFile(page, []byte(fresh), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	if shown < 15 {
		t.Errorf("%d pages show commands: the test would pass on nothing", shown)
	}
}

// checkPage runs the commands of a page and compares their output. It returns
// how many there were, and the page with what was printed.
func checkPage(t *testing.T, text string, run func(string) string) (checked int, fresh string) {
	t.Helper()
	var out strings.Builder
	lines := strings.SplitAfter(text, "\n")
	inside := false
	for i := 0; i < len(lines); {
		line := lines[i]
		i++
		out.WriteString(line)
		if strings.HasPrefix(line, "```") {
			inside = !inside && strings.TrimSpace(line) == "```console"
			continue
		}
		command, isCommand := strings.CutPrefix(line, "$ ")
		if !inside || !isCommand {
			continue
		}
		for strings.HasSuffix(command, "\\\n") && i < len(lines) {
			command += lines[i]
			out.WriteString(lines[i])
			i++
		}
		var shown strings.Builder
		for i < len(lines) && !strings.HasPrefix(lines[i], "$ ") && !strings.HasPrefix(lines[i], "```") {
			shown.WriteString(lines[i])
			i++
		}
		checked++
		printed := run(command)
		if matches(shown.String(), printed) {
			out.WriteString(shown.String())
			continue
		}
		out.WriteString(asShort(printed, shown.String()))
		if !*update {
			t.Errorf("$ %sprinted\n%s\nthe page shows\n%s", command, printed, shown.String())
		}
	}
	return checked, out.String()
}

// asShort cuts output where the page cut it: a page that ends in an elision
// keeps its length.
func asShort(printed, shown string) string {
	lines := strings.SplitAfter(printed, "\n")
	n := strings.Count(shown, "\n") - 1
	if !strings.HasSuffix(shown, elision+"\n") || n >= len(lines) {
		return printed
	}
	return strings.Join(lines[:n], "") + elision + "\n"
}

const elision = "[...]"

// matches compares output with what a page shows, minding elisions.
func matches(shown, printed string) bool {
	var pattern strings.Builder
	pattern.WriteString(`\A`)
	for line := range strings.Lines(shown) {
		if strings.TrimSpace(line) == elision {
			pattern.WriteString(`(?:.*\n)*`)
			continue
		}
		parts := strings.Split(line, elision)
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		pattern.WriteString(strings.Join(parts, ".*"))
	}
	return regexp.MustCompile(pattern.String() + `\z`).MatchString(printed)
}

// newShell returns a function that runs a command line in a folder of its own
// and returns what it prints. "$?" is the exit code of the command before.
func newShell(t *testing.T) func(string) string {
	t.Helper()
	dir := t.TempDir()
	fixtures, err := filepath.Abs(filepath.Join(root, "fixtures"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(fixtures, filepath.Join(dir, "fixtures")); err != nil {
		t.Fatal(err)
	}
	code := 0
	return func(command string) string {
		cmd := exec.Command("sh", "-c", fmt.Sprintf("(exit %d)\n%s", code, command))
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "COLUMNS=")
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil {
			t.Fatalf("sh: %v", err)
		}
		code = cmd.ProcessState.ExitCode()
		return string(out)
	}
}

func TestMatches(t *testing.T) {
	cases := []struct {
		shown, printed string
		want           bool
	}{
		{"a\nb\n", "a\nb\n", true},
		{"a\n", "a\nb\n", false},
		{"a\n[...]\n", "a\nb\nc\n", true},
		{"[...]\nc\n", "a\nb\nc\n", true},
		{"a\n[...]\nc\n", "a\nc\n", true},
		{"a [...] c\n", "a b c\n", true},
		{"a [...] c\n", "a b\nx c\n", false},
		{"a.c\n", "abc\n", false},
		{"", "a\n", false},
		{"", "", true},
	}
	for _, c := range cases {
		if got := matches(c.shown, c.printed); got != c.want {
			t.Errorf("%q shown, %q printed: %v", c.shown, c.printed, got)
		}
	}
}

func TestAsShort(t *testing.T) {
	for _, c := range []struct{ printed, shown, want string }{
		{"a\nb\nc\n", "x\n[...]\n", "a\n[...]\n"},
		{"a\nb\nc\n", "x\n", "a\nb\nc\n"},
		{"a\n", "x\ny\nz\n[...]\n", "a\n"},
	} {
		if got := asShort(c.printed, c.shown); got != c.want {
			t.Errorf("%q shown as %q: %q, expected %q", c.printed, c.shown, got, c.want)
		}
	}
}

func TestCheckPageFindsWhatDiffers(t *testing.T) {
	page := "text\n```console\n$ one\n1\n$ two \\\n  more\n2\n```\n```sh\n$ three\n```\n"
	var ran []string
	checked, fresh := checkPage(t, page, func(command string) string {
		ran = append(ran, command)
		return fmt.Sprintln(len(ran))
	})
	if checked != 2 || fresh != page || ran[1] != "two \\\n  more\n" {
		t.Errorf("%d checked, ran %q, page became %q", checked, ran, fresh)
	}
}

// TestEveryCommandHasAPage keeps the handbook complete: a page for each
// command, linked from docs/cli.md, that shows how it is called.
func TestEveryCommandHasAPage(t *testing.T) {
	index, err := os.ReadFile(filepath.Join(root, "docs", "cli.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range testApp().Runnable() {
		if c.Hidden || c.Name == "help" {
			continue
		}
		page := filepath.Join("commands", strings.ReplaceAll(c.Name, " ", "-")+".md")
		text, err := os.ReadFile(filepath.Join(root, "docs", page))
		if err != nil {
			t.Error(err)
			continue
		}
		if want := "sfstat " + c.Name + " "; !strings.Contains(string(text), want) {
			t.Errorf("%s does not show %q", page, want)
		}
		if !strings.Contains(string(index), "("+page+")") {
			t.Errorf("docs/cli.md does not link to %s", page)
		}
	}
}

// documentation is the text of every page by its path.
func documentation(t *testing.T) map[string]string {
	t.Helper()
	pages := make(map[string]string)
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/commands/*.md", "fixtures/*.md"} {
		paths, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			pages[path] = string(text)
		}
	}
	return pages
}

// TestLinks follows every link of the documentation that stays inside the
// project, to its heading.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#: ]*)(?:#([^)]*))?\)`)
	pages := documentation(t)
	checked := 0
	for page, text := range pages {
		for _, found := range link.FindAllStringSubmatch(text, -1) {
			checked++
			target := page
			if found[1] != "" {
				target = filepath.Join(filepath.Dir(page), filepath.FromSlash(found[1]))
			}
			if !exists(target) {
				t.Errorf("%s links to %s, which is not there", page, found[1])
			} else if found[2] != "" && !slices.Contains(anchors(pages[target]), found[2]) {
				t.Errorf("%s links to %s#%s: no such heading", page, found[1], found[2])
			}
		}
	}
	if checked < 20 {
		t.Errorf("%d links found: the test would pass on nothing", checked)
	}
}

// anchors are the names of a page's headings in links: lower case, without
// punctuation, with hyphens for blanks.
func anchors(text string) (out []string) {
	for _, h := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		heading := regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`).ReplaceAllString(h[1], "$1")
		out = append(out, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
				return unicode.ToLower(r)
			}
			return -1
		}, heading))
	}
	return out
}

// TestShownCommandsExist: what runs on the reader's own files, and so is not run
// here, names commands and flags that sfstat has: command lines of blocks and
// code spans, and on a command's own page the flags that are named alone.
func TestShownCommandsExist(t *testing.T) {
	code := regexp.MustCompile("`([^`\n]+)`")
	of := make(map[string][]string)
	for _, c := range testApp().Runnable() {
		of[c.Name] = []string{"help", "version", "print-gates", "gates"}
		for _, f := range c.Flags {
			of[c.Name] = append(of[c.Name], f.Name)
		}
	}
	checked := 0
	for page, text := range documentation(t) {
		own, _ := strings.CutSuffix(filepath.Base(page), ".md")
		for _, found := range code.FindAllStringSubmatch(strings.Join(shellLines(text), "\n")+"\n"+text, -1) {
			line, isCommand := strings.CutPrefix(found[1], "sfstat ")
			full, flags := shownCommand(line, of)
			switch {
			case !isCommand && strings.HasPrefix(found[1], "--") && of[strings.Replace(own, "-", " ", 1)] != nil:
				full, flags = strings.Replace(own, "-", " ", 1), shownFlags(found[1])
			case !isCommand || full == "":
				continue
			}
			checked++
			for _, name := range flags {
				if !slices.Contains(of[full], name) {
					t.Errorf("%s: %s: sfstat %s has no flag --%s", page, found[1], full, name)
				}
			}
		}
	}
	if checked < 100 {
		t.Errorf("%d command lines found: the test would pass on nothing", checked)
	}
}

// shellLines are the lines of blocks for a shell, each as a code span.
func shellLines(text string) (out []string) {
	for _, block := range regexp.MustCompile("(?s)\n```sh\n(.*?)\n```").FindAllStringSubmatch(text, -1) {
		for line := range strings.Lines(block[1]) {
			line, _, _ = strings.Cut(strings.TrimSpace(line), "  #")
			if i := strings.Index(line, "sfstat "); i >= 0 {
				out = append(out, "`"+line[i:]+"`")
			}
		}
	}
	return out
}

// shownCommand is the command that a line after "sfstat" names, else diagnose
// where it begins with a path, and the flags that it has; none for prose.
func shownCommand(line string, of map[string][]string) (full string, flags []string) {
	words := strings.Fields(line)
	for _, n := range []int{2, 1} {
		if name := strings.Join(words[:min(n, len(words))], " "); of[name] != nil {
			return name, shownFlags(line)
		}
	}
	if len(words) > 0 && strings.Contains(words[0], "/") {
		return "diagnose", shownFlags(line)
	}
	return "", nil
}

// shownFlags are the names of the long flags of a line.
func shownFlags(line string) (names []string) {
	for _, found := range regexp.MustCompile(`(?:^|\s)--([a-z][a-z-]*)`).FindAllStringSubmatch(line, -1) {
		names = append(names, found[1])
	}
	return names
}

// TestGoCommands: packages that the documentation runs, tests or measures are
// there, and so is what -run and -bench pick of them.
func TestGoCommands(t *testing.T) {
	command := regexp.MustCompile("(?:go run|go test|-bench)[^`\n|;]* \\./[^`\n;|)]*")
	picked := regexp.MustCompile(`-(run|bench) '?([A-Za-z]\w*)`)
	checked := 0
	for page, text := range documentation(t) {
		for _, c := range command.FindAllString(text, -1) {
			checked++
			var functions []byte
			for _, word := range strings.Fields(c) {
				if !strings.HasPrefix(word, "./") || word == "./..." {
					continue
				}
				if !exists(filepath.Join(root, word)) {
					t.Errorf("%s: %s: no package %s", page, c, word)
				}
				tests, _ := filepath.Glob(filepath.Join(root, word, "*_test.go"))
				for _, name := range tests {
					source, err := os.ReadFile(name)
					if err != nil {
						t.Fatal(err)
					}
					functions = append(functions, source...)
				}
			}
			for _, p := range picked.FindAllStringSubmatch(c, -1) {
				parameter := map[string]string{"run": "T", "bench": "B"}[p[1]]
				if p[2] != "xxx" && !strings.HasPrefix(c, "go run") && !regexp.MustCompile(`func \w*`+p[2]+`\w*\(\w+ \*testing\.`+parameter).Match(functions) {
					t.Errorf("%s: %s: nothing of that name", page, c)
				}
			}
		}
	}
	if checked < 20 {
		t.Errorf("%d commands found: the test would pass on nothing", checked)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
