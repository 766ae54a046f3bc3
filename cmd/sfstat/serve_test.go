package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/internal/disk"
	"github.com/sfstat/sfstat/live"
	"github.com/sfstat/sfstat/page/serve"
)

// TestServe: a folder is served, and a run that comes into it, one that goes and
// what cannot be read are events.
func TestServe(t *testing.T) {
	folder := t.TempDir()
	put := func(name string) {
		t.Helper()
		b, err := os.ReadFile(filepath.Join(root, "fixtures", "ddp", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("nofault-r8-s0.jsonl")
	address, stop := startServe(t, folder, "--every", "10ms")
	get := func(path string) string { return fetched(t, address+path) }
	answer, failed := http.Get(address + "events")
	if failed != nil {
		t.Fatal(failed)
	}
	defer answer.Body.Close()
	events := bufio.NewScanner(answer.Body)
	until := func(what, path, holds string) {
		t.Helper()
		for events.Scan() {
			if strings.HasPrefix(events.Text(), "data: ") && strings.Contains(get(path), holds) {
				return
			}
		}
		t.Fatalf("%s: the events end", what)
	}
	until("the first run", "", "/run/nofault-r8-s0")
	put("host-callback-r8-s0.jsonl")
	until("a second", "metrics", `sfstat_finding_info{run="host-callback-r8-s0",rank="2",stage="callbacks.cpu_wall",number="0",host="node0",cause="late",certainty="strong"} 1`)
	if page := get("page/host-callback-r8-s0"); !strings.Contains(page, "<title>Rank 2 (node0, local rank 2) delays everyone") || strings.Contains(page, "nofault") {
		t.Error("the page is not that of the run alone")
	}
	if err := os.Remove(filepath.Join(folder, "host-callback-r8-s0.jsonl")); err != nil {
		t.Fatal(err)
	}
	until("without it", "metrics", "sfstat_runs 1\n")
	if os.Symlink("nowhere", filepath.Join(folder, "link.jsonl")) == nil { // which not every system allows
		until("a link to nothing", "metrics", "sfstat_problems 1\n")
		if !strings.Contains(get("metrics"), "sfstat_stale 0\n") {
			t.Error("a path that nobody named is stale")
		}
	}
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	until("the folder is gone", "metrics", "sfstat_stale 1\n")
	stop()
}

// TestServeWaits: what cannot be read yet is listed, and read when it can be.
func TestServeWaits(t *testing.T) {
	whole, err := os.ReadFile(filepath.Join(root, "fixtures", "ddp", "host-callback-r8-s0.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for name, begun := range map[string]string{"half a packet": string(whole[:300]), "an empty file": "", "a stray text": "hello\n"} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			path := filepath.Join(folder, "job.jsonl")
			if err := os.WriteFile(path, []byte(begun), 0o600); err != nil {
				t.Fatal(err)
			}
			address, stop := startServe(t, folder, "--every", "10ms")
			defer stop()
			until := func(holds string) {
				t.Helper()
				for range 500 {
					if strings.Contains(fetched(t, address+"metrics"), holds) {
						return
					}
					time.Sleep(20 * time.Millisecond)
				}
				t.Fatalf("%s does not come", holds)
			}
			until("sfstat_problems 1\n")
			if err := os.WriteFile(path, whole, 0o600); err != nil {
				t.Fatal(err)
			}
			until("sfstat_runs 1\n")
			until("sfstat_problems 0\n")
		})
	}
}

// TestGiveBack: what was in use for a while is the system's again.
func TestGiveBack(t *testing.T) {
	var m memory
	m.giveBack()
	before := memoryInUse()
	large := make([]byte, 4*mostIdle)
	for i := range large {
		large[i] = 1
	}
	during := memoryInUse()
	runtime.KeepAlive(large)
	large = nil
	m.giveBack()
	if after := memoryInUse(); during < before+3*mostIdle || after > before+mostIdle {
		t.Errorf("%d bytes before, %d in use, %d after", before, during, after)
	}
}

// startServe serves a folder at an address, until it is stopped.
func startServe(t *testing.T, args ...string) (address string, stop func()) {
	t.Helper()
	return startServeOn(t, disk.OS{}, args...)
}

// startServeOn starts sfstat serve on a disk.
func startServeOn(t *testing.T, on disk.Disk, args ...string) (address string, stop func()) {
	t.Helper()
	said, err := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	p := newProgram(nil, io.Discard, err)
	p.workOn(on)
	code := make(chan int, 1)
	go func() {
		code <- p.carryOut(ctx, p.app(), append([]string{"sfstat", "serve", "--listen", "127.0.0.1:0"}, args...))
		_ = err.Close()
	}()
	lines := bufio.NewScanner(said)
	lines.Scan()
	_, address, found := strings.Cut(lines.Text(), "sfstat serve: ")
	if !found {
		cancel()
		t.Fatal(lines.Text())
	}
	go func() {
		for lines.Scan() {
		}
	}()
	return address, func() {
		cancel()
		if got := <-code; got != exitInternal && got != exitInterrupted {
			t.Errorf("exit code %d", got)
		}
	}
}

// TestTogether: all runs are too many for one JSON also before any was read.
func TestTogether(t *testing.T) {
	for windows, want := range map[string]error{"2": nil, "1001": serve.ErrTooMany} {
		path := filepath.Join(t.TempDir(), "job.jsonl")
		p := newProgram(nil, io.Discard, io.Discard)
		if code := p.carryOut(context.Background(), p.app(), []string{"sfstat", "simulate", "--windows", windows, "--steps", "2", "--ranks", "2", "-o", path}); code != 0 {
			t.Fatalf("exit code %d", code)
		}
		inWatch(t, func(p *program, c *cli.Context) error {
			o, err := p.liveVerdicts(c)
			if err != nil {
				return err
			}
			s := serving{p: p, c: c, o: o, files: live.New(o)}
			if _, err := s.json(c.Context, ""); !errors.Is(err, want) {
				t.Errorf("%s windows: error %v, want %v", windows, err, want)
			}
			return nil
		}, path)
	}
}
