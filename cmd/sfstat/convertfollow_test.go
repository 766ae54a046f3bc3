package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestConvertFollow: windows are archived as ranks write them, through rotation and
// truncation, and those that only some ranks have written at the end.
func TestConvertFollow(t *testing.T) {
	folder, out := t.TempDir(), filepath.Join(t.TempDir(), "archive")
	job := filepath.Join(t.TempDir(), "job.jsonl")
	if code, _, stderr := runArgs(t, nil, "simulate", "--ranks", "2", "--steps", "10", "--windows", "6", "--arrivals", "-q", "-o", job); code != 0 {
		t.Fatal(stderr)
	}
	text, err := os.ReadFile(job)
	if err != nil {
		t.Fatal(err)
	}
	packets := bytes.SplitAfter(text, []byte("\n")) // window by window, rank by rank
	put := func(name string, flag int, windows ...int) {
		t.Helper()
		f, err := os.OpenFile(filepath.Join(folder, name), os.O_CREATE|os.O_WRONLY|flag, 0o666)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range windows {
			_, _ = f.Write(packets[2*w+int(name[0]-'0')])
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	put("0.jsonl", os.O_APPEND, 0, 1)
	put("1.jsonl", os.O_APPEND, 0)

	said, errs := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	p := newProgram(nil, io.Discard, errs)
	code := make(chan int, 1)
	go func() {
		code <- p.carryOut(ctx, p.app(), []string{"sfstat", "convert", "--follow", folder, "-o", out, "--every", "50ms"})
		_ = errs.Close()
	}()
	lines := bufio.NewScanner(said)
	// until waits until windows below n are archived as they were recorded.
	until := func(n int) {
		t.Helper()
		for lines.Scan() {
			_, back, _ := runArgs(t, nil, "convert", out, "-o", "-", "--to", "packets", "--window", "0-"+strconv.Itoa(n-1))
			if back == string(bytes.Join(packets[:2*n], nil)) {
				return
			}
		}
		t.Fatalf("ended before %d windows were written", n)
	}
	until(1)
	put("1.jsonl", os.O_APPEND, 1)
	put("0.jsonl", os.O_APPEND, 2)
	until(2)
	for _, name := range []string{"0", "1"} { // the recorder goes on in new files
		if err := os.Rename(filepath.Join(folder, name+".jsonl"), filepath.Join(folder, name+".old.jsonl")); err != nil {
			t.Fatal(err)
		}
	}
	put("0.jsonl", os.O_APPEND, 3)
	put("1.jsonl", os.O_APPEND, 2, 3)
	until(4)
	put("0.jsonl", os.O_TRUNC, 4, 5)
	put("1.jsonl", os.O_TRUNC, 4)
	until(5)
	go func() {
		for lines.Scan() {
		}
	}()
	cancel()
	if c := <-code; c != exitInterrupted {
		t.Errorf("exit code %d", c)
	}
	if _, text, _ := runArgs(t, nil, "convert", out, "-o", "-", "--window", "5", "--to", "packets"); strings.Count(text, "\n") != 1 {
		t.Errorf("of the last window came %q, expected one rank", text)
	}
}
