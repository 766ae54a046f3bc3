package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// copied is a copy of the files of a folder in one of their own.
func copied(t *testing.T, folder string) (dir string, paths []string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		paths = append(paths, filepath.Join(dir, e.Name()))
	}
	return dir, paths
}

// TestCutDumps: however much of a dump is cut off, a job that hangs is said to, the rank that is missing is named where
// the dumps show it, and the file that is cut is.
func TestCutDumps(t *testing.T) {
	named := 0
	dir, paths := copied(t, "../../fixtures/flightrecorder/hang")
	for _, path := range paths {
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for percent := 5; percent < 100; percent += 5 {
			if err := os.WriteFile(path, whole[:len(whole)*percent/100], 0o644); err != nil {
				t.Fatal(err)
			}
			code, out, errs := runArgs(t, nil, "hang", dir, "--format", "json")
			var j struct {
				Jobs []struct {
					Hang  bool  `json:"hang"`
					Roots []int `json:"root_ranks"`
				} `json:"jobs"`
				Problems []struct {
					Path string `json:"path"`
				} `json:"problems"`
			}
			if err := json.Unmarshal([]byte(out), &j); err != nil || code != 0 || !j.Jobs[0].Hang || len(j.Problems) != 1 || j.Problems[0].Path != path || !strings.Contains(errs, path) {
				t.Fatalf("%s cut at %d %%: exit code %d, %v\n%s%s", path, percent, code, err, out, errs)
			}
			switch roots := j.Jobs[0].Roots; {
			case slices.Equal(roots, []int{3}):
				named++
			case len(roots) > 0:
				t.Errorf("%s cut at %d %%: ranks %v are missing, expected 3", path, percent, roots)
			}
		}
		if code, _, errs := runArgs(t, nil, "hang", "--strict", dir); code != exitBadInput || !strings.Contains(errs, path) {
			t.Errorf("%s cut: --strict exits with %d\n%s", path, code, errs)
		}
		if err := os.WriteFile(path, whole, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if named < 53 {
		t.Errorf("rank 3 is named in %d of 76 folders, expected 53 or more", named)
	}
	for _, command := range []string{"hang", "arrivals", "diagnose", "inspect"} {
		if code, _, errs := runArgs(t, nil, command, "--strict", dir); code != 0 {
			t.Errorf("%s --strict of whole dumps exits with %d: %s", command, code, errs)
		}
	}
}

// TestCutDumpIsSaid: every command that reads dumps says which is cut, in words and in JSON.
func TestCutDumpIsSaid(t *testing.T) {
	dir, paths := copied(t, "../../fixtures/flightrecorder/hang")
	if err := os.Truncate(paths[1], 4000); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"hang", "arrivals", "diagnose", "inspect"} {
		for _, format := range []string{"text", "json"} {
			code, out, _ := runArgs(t, nil, command, dir, "--format", format, "--width", "400")
			if code != 0 || !strings.Contains(out, filepath.Base(paths[1])+": the dump ends in the middle") {
				t.Errorf("%s --format %s: exit code %d, and not a word of the cut dump in\n%s", command, format, code, out)
			}
		}
	}
}
