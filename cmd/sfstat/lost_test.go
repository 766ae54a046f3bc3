package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// copied returns a copy of the files of a folder in one of their own.
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

// TestStrictOfEveryReader: a file in the middle of which a recording ends is named, and --strict refuses it; whole
// files, and what is no recording, it does not.
func TestStrictOfEveryReader(t *testing.T) {
	for _, c := range []struct{ folder, file, command string }{
		{"flightrecorder/late", "fr_trace_1", "arrivals"},
		{"pyspy/hang", "pyspy_1.txt", "hang"},
		{"ncclras/hang", "ras_1.json", "hang"},
		{"kineto/ddp4", "rank-1.pt.trace.json.gz", "diagnose"},
		{"captured", "job.jsonl.gz", "diagnose"},
		{"captured", "job.rank00001.window000000.trace.json.gz", "diagnose"},
		{"sources/nsight", "node0.sqlite", "diagnose"},
		{"comm/inspector", "node0.cluster-pid4000.log", "comm"},
		{"comm/run", "nccl.node0.4000.log", "comm"},
		{"xplane/jax4", "", "diagnose"},
		{"monitoring", "job.jsonl", "diagnose"},
		{"trainlog/data", "rank_1.log", "diagnose"},
		{"monitoring", "gpu-node-1.csv", "diagnose"},
	} {
		dir, paths := copied(t, filepath.Join("../../fixtures", c.folder))
		if err := os.WriteFile(filepath.Join(dir, "README.md"), []byte("# About this job\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		path := paths[0]
		if c.file != "" {
			path = filepath.Join(dir, c.file)
		}
		if code, _, errs := runArgs(t, nil, c.command, "--strict", dir); code != 0 {
			t.Errorf("%s --strict %s: exit code %d, expected 0: %s", c.command, c.folder, code, errs)
		}
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for cut := len(whole) / 2; whole[cut-1] == '\n'; cut-- { // not at the end of a line
			whole = whole[:cut-1]
		}
		if err := os.WriteFile(path, whole[:len(whole)/2], 0o644); err != nil {
			t.Fatal(err)
		}
		_, out, errs := runArgs(t, nil, c.command, dir, "--format", "json")
		if !strings.Contains(errs, filepath.Base(path)) {
			t.Errorf("%s of %s: not a word of %s, which is cut:\n%s%s", c.command, c.folder, filepath.Base(path), out, errs)
		}
		if code, _, errs := runArgs(t, nil, c.command, "--strict", dir); code != exitBadInput || !strings.Contains(errs, filepath.Base(path)) {
			t.Errorf("%s --strict of %s with %s cut: exit code %d: %s", c.command, c.folder, filepath.Base(path), code, errs)
		}
	}
}

// TestDamagedExport: an export whose schema is damaged, or that is no database any more, is refused by name, and the
// ranks of the others are not counted as if it were not there.
func TestDamagedExport(t *testing.T) {
	for name, damage := range map[string]func(b []byte){
		"schema": func(b []byte) { b[110] ^= 0x40 },
		"header": func(b []byte) { copy(b, "not a database at all\x00\x01") },
	} {
		dir, _ := copied(t, "../../fixtures/sources/nsight")
		path := filepath.Join(dir, "node0.sqlite")
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		damage(b)
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		code, out, errs := runArgs(t, nil, "diagnose", dir)
		if code != 0 || !strings.Contains(errs, "node0.sqlite") || !strings.Contains(out, "Not read   node0.sqlite") || !strings.Contains(out, "Rank 2 (node1, local rank 0)") {
			t.Errorf("%s damaged: exit code %d\n%s%s", name, code, out, errs)
		}
		if code, _, errs := runArgs(t, nil, "diagnose", "--strict", dir); code != exitBadInput {
			t.Errorf("%s damaged: --strict exits with %d: %s", name, code, errs)
		}
	}
}
