// Package largedata finds the data of tests that are too large for the
// repository: recordings of real jobs, public traces, vectors of oracles.
package largedata

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Path returns where data of a name lies, if it is there: in the folder that
// SFSTAT_SHARED names, or in the folder shared beside the repository.
func Path(t testing.TB, name string) string {
	t.Helper()
	if dir := os.Getenv("SFSTAT_SHARED"); dir != "" {
		return filepath.Join(dir, name)
	}
	dir, err := os.Getwd() // tests run in the folder of their package
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(filepath.Dir(dir), "shared", name)
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no go.mod in this folder or above it: run tests inside the repository, or set SFSTAT_SHARED")
		}
		dir = parent
	}
}

// Need returns what Path does, and skips the test where nothing is there.
func Need(t testing.TB, name string) string {
	t.Helper()
	path := Path(t, name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("%s is not here (%v): set SFSTAT_SHARED to the folder that has it", name, err)
	}
	return path
}

// Seeds returns the files of up to so many bytes in a folder of the data and below it whose names
// end in one of some ways; nothing where the folder is not here. Fuzzing begins with them.
func Seeds(t testing.TB, name string, most int64, endings ...string) (texts [][]byte) {
	t.Helper()
	_ = filepath.WalkDir(Path(t, name), func(path string, e fs.DirEntry, err error) error {
		ends := func(ending string) bool { return strings.HasSuffix(path, ending) }
		if err != nil || !e.Type().IsRegular() || len(endings) > 0 && !slices.ContainsFunc(endings, ends) {
			return nil
		}
		if info, err := e.Info(); err == nil && info.Size() <= most {
			if text, err := os.ReadFile(path); err == nil {
				texts = append(texts, text)
			}
		}
		return nil
	})
	return texts
}
