package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sfstat/sfstat/fixtures/slurmtest"
)

// TestBatchArray: jobs of a real Slurm find what one process finds, a shard can be made
// again by itself, and one that does not exist fails.
func TestBatchArray(t *testing.T) {
	slurmtest.Start(t)
	script, err := filepath.Abs(filepath.Join(root, "examples", "slurm", "batch-array.sbatch"))
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

// TestEpilog: when a job has ended, its AdminComment says which of its ranks was slow.
func TestEpilog(t *testing.T) {
	dir := t.TempDir()
	script, err := filepath.Abs(filepath.Join(root, "examples", "slurm", "epilog.sh"))
	if err != nil {
		t.Fatal(err)
	}
	// The controller's environment is not that of this test, and its script must be there when it starts.
	epilog, environment := filepath.Join(dir, "epilog"), filepath.Join(dir, "environment")
	if err := os.WriteFile(epilog, []byte(fmt.Sprintf("#!/bin/bash\n. '%s'\nexec '%s'\n", environment, script)), 0o700); err != nil {
		t.Fatal(err)
	}
	slurmtest.Start(t, "EpilogSlurmctld="+epilog, slurmtest.Accounting)
	if err := os.WriteFile(environment, []byte(fmt.Sprintf("export PATH='%s' SLURM_CONF='%s'\n", os.Getenv("PATH"), os.Getenv("SLURM_CONF"))), 0o600); err != nil {
		t.Fatal(err)
	}
	recording, err := filepath.Abs(filepath.Join(root, "fixtures", "ddp", "host-callback-r8-s0.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	submit := exec.Command("sbatch", "--parsable", "--wait", "--wrap", "mkdir -p sfstat/$SLURM_JOB_ID && cp "+recording+" sfstat/$SLURM_JOB_ID")
	submit.Dir = dir
	id, err := submit.Output()
	if err != nil {
		t.Fatal(err)
	}
	var said []byte
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if said, err = exec.Command("sacct", "-nP", "-X", "-o", "AdminComment", "-j", strings.TrimSpace(string(id))).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		// Slurm 22.05 writes the comment in small letters.
		if strings.Contains(strings.ToLower(string(said)), "sfstat: straggler rank 2 (node0, local rank 2) delays everyone in callbacks") {
			return
		}
	}
	t.Errorf("no comment on\n%s", said)
}
