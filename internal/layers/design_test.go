package main

import (
	"os"
	"path/filepath"
	"testing"
)

// The libraries that the design names, and what of the module each is for: the programs, or the
// tests. Every folder of designed holds a package.
var (
	libraries = map[string]string{
		"gonum.org/v1/gonum":            "programs",
		"gonum.org/v1/plot":             "programs",
		"github.com/montanaflynn/stats": "programs",
		"github.com/NVIDIA/go-nvml":     "programs",
		"github.com/urfave/cli/v2":      "programs",
		"github.com/google/go-cmp":      "tests",
	}
	designed = []string{"engine/frontier", "engine/ks", "engine/zscore", "engine/blame", "engine/bootstrap", "bench/overhead", "plots", "cmd/sfstat", "fixtures"}
)

// TestDesignedLibraries: code that runs reaches each library, in a program of Linux with cgo,
// which go-nvml needs, or in a test.
func TestDesignedLibraries(t *testing.T) {
	t.Chdir("../..")
	t.Setenv("GOOS", "linux")
	used := map[string]map[string]bool{"programs": {}, "tests": {}}
	for kind, arguments := range map[string][]string{"programs": nil, "tests": {"-test"}} {
		pkgs, err := list(arguments...)
		if err != nil {
			t.Fatal(err)
		}
		for path := range reached(pkgs) {
			used[kind][path] = true
		}
	}
	for library, by := range libraries {
		found := false
		for path := range used[by] {
			found = found || liesIn(path, library)
		}
		if !found {
			t.Errorf("no code of the %s reaches %s", by, library)
		}
	}
}

// reached returns the packages that programs of the module import, directly or through others. A
// test binary is a program.
func reached(pkgs []pkg) map[string]bool {
	at, seen := make(map[string]*pkg, len(pkgs)), make(map[string]bool)
	var queue []string
	for i, p := range pkgs {
		at[p.ImportPath] = &pkgs[i]
		if _, mine := ours(p.ImportPath); mine && p.Name == "main" {
			queue = append(queue, p.ImportPath)
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		if p := at[queue[0]]; p != nil && !seen[queue[0]] {
			seen[queue[0]] = true
			queue = append(queue, p.Imports...)
		}
	}
	return seen
}

func TestDesignedFolders(t *testing.T) {
	for _, folder := range designed {
		if files, err := os.ReadDir(filepath.Join("..", "..", filepath.FromSlash(folder))); err != nil || len(files) == 0 {
			t.Errorf("%s holds nothing: %v", folder, err)
		}
	}
}
