//go:build unix

package ddp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fake is an interpreter that is a shell script: it runs what stands for the
// program of a rank. $DIR is a folder of the test.
func fake(t *testing.T, script string) (python, dir string) {
	t.Helper()
	dir = t.TempDir()
	python = filepath.Join(dir, "python")
	text := fmt.Sprintf("#!/bin/sh\nDIR='%s'\n%s\n", dir, script)
	if err := os.WriteFile(python, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return python, dir
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

func TestRanksLearnTheirPlace(t *testing.T) {
	python, dir := fake(t, `echo "$LOCAL_RANK $WORLD_SIZE $MASTER_ADDR $MASTER_PORT $OMP_NUM_THREADS $PYTHONPATH $*" > "$DIR/rank$RANK"`)
	t.Setenv("PYTHONPATH", "/mine")
	w := World{Python: python, PythonPath: "/job", Args: []string{"a", "b c"}, Ranks: 3}
	if err := w.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	ports := make(map[string]bool)
	for r := range 3 {
		f := strings.Fields(read(t, filepath.Join(dir, fmt.Sprint("rank", r))))
		ports[f[3]] = true
		want := []string{strconv.Itoa(r), "3", "127.0.0.1", f[3], "1", "/job:/mine", "a", "b", "c"}
		if !slices.Equal(f, want) {
			t.Errorf("rank %d has %v, expected %v", r, f, want)
		}
	}
	if len(ports) != 1 {
		t.Errorf("ranks rendezvous at ports %v, expected one", ports)
	}
}

// waiting has all ranks but one wait for a child, for much longer than the test
// may take, and note both in pids.
const waiting = `echo $$ >> "$DIR/pids"
sleep 600 & echo $! >> "$DIR/pids"
`

func TestOneRankFails(t *testing.T) {
	python, dir := fake(t, `if [ $RANK = 2 ]; then
	while [ $(cat "$DIR/pids" | wc -l) -lt 4 ]; do sleep 0.02; done
	for i in $(seq 100); do echo "line $i" >&2; done; echo "RuntimeError: no luck" >&2; exit 7
fi
`+waiting+"wait")
	err := World{Python: python, Ranks: 3}.Run(t.Context())
	var rank *RankError
	if !errors.As(err, &rank) || rank.Rank != 2 || rank.Ranks != 3 {
		t.Fatalf("error is %v, expected one of rank 2", err)
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("rank 2 ended with %v, expected exit status 7", rank.Err)
	}
	if lines := strings.Split(rank.Said, "\n"); len(lines) != mostLines || lines[len(lines)-1] != "RuntimeError: no luck" {
		t.Errorf("the error shows %q, expected the last %d lines", lines, mostLines)
	}
	expectGone(t, dir)
}

func TestContextEnds(t *testing.T) {
	python, dir := fake(t, waiting+"wait")
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error)
	go func() { ended <- World{Python: python, Ranks: 2}.Run(ctx) }()
	waitFor(t, func() bool {
		text, _ := os.ReadFile(filepath.Join(dir, "pids"))
		return strings.Count(string(text), "\n") == 4
	})
	why := errors.New("enough")
	cancel(why)
	if err := <-ended; !errors.Is(err, why) {
		t.Errorf("error is %v, expected %v", err, why)
	}
	expectGone(t, dir)
}

// TestWhatARankLeavesBehind: a rank that ends well, but not its child, which
// holds on to the output.
func TestWhatARankLeavesBehind(t *testing.T) {
	python, dir := fake(t, waiting)
	if err := (World{Python: python, Ranks: 2}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	expectGone(t, dir)
}

func TestSilentFailure(t *testing.T) {
	python, _ := fake(t, "kill -9 $$")
	err := World{Python: python, Ranks: 1}.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "rank 0 of 1: signal: killed, and it wrote nothing") {
		t.Errorf("error is %v", err)
	}
}

func TestNoInterpreter(t *testing.T) {
	for _, python := range []string{"no-such-python", "/no/such/python"} {
		err := World{Python: python, Ranks: 2}.Run(t.Context())
		if err == nil || !strings.Contains(err.Error(), "pip install torch") {
			t.Errorf("%s: error is %v, expected what to install", python, err)
		}
	}
}

// expectGone waits until none of the processes in pids is there.
func expectGone(t *testing.T, dir string) {
	t.Helper()
	for _, field := range strings.Fields(read(t, filepath.Join(dir, "pids"))) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		waitFor(t, func() bool { return gone(pid) })
	}
}

// gone reports whether a process has ended; a zombie that nobody waits for has.
func gone(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(stat), ") Z ")
}

func waitFor(t *testing.T, what func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !what(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not within 20 s")
		}
	}
}
