package batch

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// cluster starts a real one on this machine, or skips the test.
func cluster(t *testing.T) {
	t.Helper()
	t.Setenv("PATH", os.Getenv("PATH")+":/usr/sbin:/sbin")
	for _, program := range []string{"munged", "slurmctld", "slurmd", "sbatch", "python3", "bash"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("NOT RUN: %s is not installed: apt-get install slurmctld slurmd slurm-client munge", program)
		}
	}
	dir := t.TempDir()
	cmd := exec.Command("../eval/campaign/slurm/testdata/cluster.sh", dir)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = in.Close() // ends it
		_ = cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Skipf("NOT RUN: no cluster can be started here (%q, %v)", line, err)
	}
	t.Setenv("SLURM_CONF", filepath.Join(dir, "slurm.conf"))
}

// What a job of the test binary is told.
const (
	jobInput  = "SFSTAT_TEST_JOB_INPUT"
	jobOutput = "SFSTAT_TEST_JOB_OUTPUT"
	jobFails  = "SFSTAT_TEST_JOB_FAILS" // the first that makes this folder
)

// beJob is one element of an array.
func beJob(words []string) {
	var s Shard
	if _, err := fmt.Sscanf(words[len(words)-1], "%d/%d", &s.Index, &s.Of); err != nil {
		fmt.Println(err)
		os.Exit(2)
	}
	s.Index--
	if dir := os.Getenv(jobFails); dir != "" && s.Index == 1 && os.Mkdir(dir, 0o777) == nil {
		fmt.Println("this job fails, as it should")
		os.Exit(1)
	}
	o := Options{Output: Output{Path: os.Getenv(jobOutput), Format: Parquet}, Shard: s, Role: PartsOnly, Threads: 1}
	if _, err := Run(context.Background(), []string{os.Getenv(jobInput)}, o); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

// TestSlurm: jobs of a real Slurm make the bytes that one process makes, a job that
// fails is handed in again, and where it always fails that is said.
func TestSlurm(t *testing.T) {
	cluster(t)
	self, err := os.Executable()
	must(t, err)
	dir, out := fleet(t, 8), filepath.Join(t.TempDir(), "it's here")
	must(t, os.Mkdir(out, 0o777))
	whole := filepath.Join(out, "whole.parquet")
	run(t, dir, Options{Output: Output{Path: whole}})
	o := Options{Output: Output{Path: filepath.Join(out, "a.parquet"), Format: Parquet}}
	c := Cluster{Shards: 3, Poll: 200 * time.Millisecond, Command: func(s Shard) []string { return []string{self, s.String()} }}
	t.Setenv(jobInput, dir)
	t.Setenv(jobOutput, o.Output.Path)
	t.Setenv(jobFails, filepath.Join(out, "failed"))
	_, err = RunOnSlurm(t.Context(), []string{dir}, o, c)
	if err == nil || !strings.Contains(err.Error(), "1 shard of 3 failed after 1 try; the last line of ") || !strings.HasSuffix(err.Error(), "this job fails, as it should") {
		t.Fatalf("without retries: %v", err)
	}
	if _, err := RunOnSlurm(t.Context(), []string{dir}, o, c); !errors.Is(err, ErrUnfinished) {
		t.Errorf("again, from the start: %v", err)
	}
	must(t, os.Remove(filepath.Join(out, "failed")))
	o.Resume, c.Retries = GoOn, 1
	s, err := RunOnSlurm(t.Context(), []string{dir}, o, c)
	must(t, err)
	if s.Windows != 24 || !bytes.Equal(read(t, o.Output.Path), read(t, whole)) {
		t.Errorf("%d windows, or other bytes than those of one process", s.Windows)
	}
}
