package nsight_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// truth is what is known of the exports of a folder.
type truth struct {
	name     string
	paths    []string
	Features struct {
		Schema string `json:"nsys_schema"`
	}
	Ranks []struct {
		Rank  int
		Host  string
		Local int `json:"local_rank"`
	}
	Expected map[string]struct {
		Kernels map[string]int `json:"nsys_kernels"`
	}
}

// truths reads what is known of the exports under dir, folder by folder.
func truths(t *testing.T, dir string) []truth {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*", "truth.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no truth.json under %s: %v", dir, err)
	}
	var all []truth
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tr := truth{name: filepath.Base(filepath.Dir(file))}
		if err := json.Unmarshal(data, &tr); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if tr.paths, err = filepath.Glob(filepath.Join(filepath.Dir(file), "*.sqlite")); err != nil {
			t.Fatal(err)
		}
		all = append(all, tr)
	}
	return all
}
