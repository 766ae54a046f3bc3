package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestGrowth: sixteen times the ranks of a table, or the files of a folder, take about sixteen
// times as long on the processor. A cost by the square is well over twice that.
func TestGrowth(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	took := func(args ...string) time.Duration {
		t.Helper()
		begun := processorTime(t)
		var said strings.Builder
		if code := run(append([]string{"sfstat"}, args...), nil, io.Discard, &said); code != 0 {
			t.Fatalf("sfstat %v: exit code %d, %s", args, code, said.String())
		}
		return processorTime(t) - begun
	}
	ranks := func(n int) string {
		path := filepath.Join(t.TempDir(), "ranks.csv")
		var text strings.Builder
		text.WriteString("step,rank,data_ms,forward_ms\n")
		for step := range 2 {
			for rank := range n {
				fmt.Fprintf(&text, "%d,%d,%d,%d\n", step, rank, 10+rank%7, 50+rank%11)
			}
		}
		if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	files := func(n int) string {
		folder := t.TempDir()
		for i := range n {
			text := fmt.Sprintf(`{"schema": "sfstat.packet/1", "run": "r%d", "window": 0, "rank": 0, "world_size": 2, "host": "a", "local_rank": 0, "role": {"dp": 0}, "stages": ["a"], "first_step": 0, "durations_ns": [[1], [2]], "gather_ok": true}`+"\n", i)
			if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("r%d.jsonl", i)), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return folder
	}
	for _, c := range []struct {
		name  string
		args  []string
		make  func(int) string
		small int
	}{
		{"ranks", []string{"diagnose"}, ranks, 5000},
		{"files", []string{"inspect", "--format", "json"}, files, 1000},
	} {
		t.Run(c.name, func(t *testing.T) {
			few, many := c.make(c.small), c.make(16*c.small)
			least := min(took(append(c.args, few)...), took(append(c.args, few)...))
			if got := took(append(c.args, many)...); got > 3*16*least { // caches hold the small one; what grows by its square takes 256 times as long
				t.Errorf("%v for %d, %v for sixteen times as many", least, c.small, got)
			}
		})
	}
}

// processorTime returns what this process has taken of the processor.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
