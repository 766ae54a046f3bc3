package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// testFolders are the packages of the tests that the documentation names.
var testFolders = map[string]string{
	"auto": "ingest/auto", "kineto": "ingest/kineto", "profiler": "ingest/profiler", "stages": "engine/stages", "clock": "engine/clock", "stagemap": "ingest/profiler/stagemap", "sfstat": "cmd/sfstat", "report": "report",
	"nsight": "ingest/nsight", "export": "ingest/nsight/internal/export",
}

// declared are the tests of a package, and the texts in each and in the tables
// beside it, by which its cases are named.
func declared(t *testing.T, folder string) map[string]map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	tests := make(map[string]map[string]bool)
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		tables := make(map[string]bool)
		for _, d := range file.Decls {
			if _, ok := d.(*ast.GenDecl); ok {
				collect(d, tables)
			}
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				texts := maps.Clone(tables)
				collect(d, texts)
				tests[f.Name.Name] = texts
			}
		}
	}
	return tests
}

// collect adds the texts of a declaration.
func collect(d ast.Decl, texts map[string]bool) {
	ast.Inspect(d, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil {
				texts[text] = true
			}
		}
		return true
	})
}

var testName = regexp.MustCompile("`([a-z]+)\\.(Test\\w*)(?:/([^`]+))?`")

// TestOddFiles: every row of the tables of odd files names tests, and all of
// them are there.
func TestOddFiles(t *testing.T) {
	tests := make(map[string]map[string]map[string]bool)
	for name, folder := range testFolders {
		tests[name] = declared(t, folder)
	}
	for _, of := range []struct {
		page, heading string
		least         int // rows
	}{
		{"kineto.md", "What odd files do", 120},
		{"nsight.md", "What odd exports do", 20},
	} {
		page, err := os.ReadFile(filepath.Join(root, "docs", of.page))
		if err != nil {
			t.Fatal(err)
		}
		_, section, _ := strings.Cut(string(page), "\n## "+of.heading+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		rows := 0
		for line := range strings.Lines(section) {
			if strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| case |") {
				rows++
				checkRow(t, line, tests)
			}
		}
		if rows < of.least {
			t.Errorf("%s: %d rows under %q, expected %d", of.page, rows, of.heading, of.least)
		}
	}
}

// checkRow checks that the last cell of a row is names of tests, and that they
// are there.
func checkRow(t *testing.T, line string, tests map[string]map[string]map[string]bool) {
	cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
	if len(cells) != 3 {
		t.Errorf("%d cells, expected 3: %s", len(cells), line)
		return
	}
	names := testName.FindAllStringSubmatch(cells[2], -1)
	if len(names) == 0 || len(names) != strings.Count(cells[2], "`")/2 {
		t.Errorf("no test, or what is none: %s", cells[2])
	}
	for _, n := range names {
		if !testExists(tests[n[1]], n[2], n[3]) {
			t.Errorf("there is no test %s", n[0])
		}
	}
}

// testExists reports whether there is the test, and the case of it.
func testExists(tests map[string]map[string]bool, name, of string) bool {
	texts, ok := tests[name]
	if !ok || of == "" {
		return ok
	}
	if name == "TestScripts" {
		_, err := os.Stat(filepath.Join("testdata", "script", of+".txtar"))
		return err == nil
	}
	return texts[of]
}
