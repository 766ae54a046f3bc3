package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/internal/slurmtest"
)

// TestBatchArray: jobs of a real Slurm find what one process finds, a shard can be made
// again by itself, and one that does not exist fails.
func TestBatchArray(t *testing.T) {
	slurmtest.Start(t)
	script, err := filepath.Abs(filepath.Join(root, "examples", "batch-array.sbatch"))
	if err != nil {
		t.Fatal(err)
	}
	runs, err := filepath.Abs(filepath.Join(root, "fixtures", "ddp"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	do := func(name string, args ...string) error {
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Logf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
		return err
	}
	folder := filepath.Join(dir, "findings of it")
	if err := do("sbatch", "--wait", "--array=1-3", script, "3", folder, runs); err != nil {
		t.Fatal("an array failed")
	}
	shards, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(shards) != 3 {
		t.Fatalf("the jobs wrote %q, %v", shards, err)
	}
	sorted := func(args ...string) []string {
		args = append([]string{"batch", "-q", "-o", "rows.csv"}, args...)
		if err := do("sfstat", args...); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, "rows.csv"))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(text), "\n")
		slices.Sort(lines)
		return lines
	}
	want := sorted(runs)
	if got := sorted(append([]string{"--summarize"}, shards...)...); len(want) < 7 || !slices.Equal(got, want) {
		t.Errorf("an array of jobs wrote\n%s\none process\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	// One shard again.
	if err := os.Remove(shards[1]); err != nil {
		t.Fatal(err)
	}
	if err := do("sbatch", "--wait", "--array=2", script, "3", folder, runs); err != nil {
		t.Error("a shard by itself failed")
	}
	if got := sorted(append([]string{"--summarize"}, shards...)...); !slices.Equal(got, want) {
		t.Errorf("after shard 2 was made again: %s", strings.Join(got, "\n"))
	}
	if do("sbatch", "--wait", "--array=4", script, "3", folder, runs) == nil {
		t.Error("shard 4 of 3 is taken")
	}
}
