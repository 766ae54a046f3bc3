package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sfstat/sfstat/archive/partitions"
	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/live"
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

// jobPackets is the packets of a run of two ranks, window by window.
func jobPackets(t *testing.T, windows int) [][]byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "job.jsonl")
	if code, _, stderr := runArgs(t, nil, "simulate", "--ranks", "2", "--steps", "10", "--windows", strconv.Itoa(windows), "-q", "-o", path); code != 0 {
		t.Fatal(stderr)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Collect(bytes.Lines(text))
}

// archived are the packets of an archive.
func archived(t *testing.T, dir string) string {
	t.Helper()
	_, back, _ := runArgs(t, nil, "convert", dir, "-o", "-", "--to", "packets")
	return back
}

// TestConvertFollowReadsWhatIsNew: of packets that grow, what was archived is not read
// again, and a window that waits for a rank is archived as it is when nothing comes.
func TestConvertFollowReadsWhatIsNew(t *testing.T) {
	packets := jobPackets(t, 6)
	folder, out := t.TempDir(), filepath.Join(t.TempDir(), "archive")
	file, err := os.Create(filepath.Join(folder, "job.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	put := func(packets ...[]byte) {
		t.Helper()
		if _, err := file.Write(bytes.Join(packets, nil)); err != nil {
			t.Fatal(err)
		}
	}
	inCommand(t, func(p *program, c *cli.Context) error {
		to, err := partitions.Open(out)
		if err != nil {
			return err
		}
		defer to.Close()
		f, err := p.newArchiving(c, to)
		if err != nil {
			return err
		}
		expect := func(windows int) {
			t.Helper()
			if err := f.look(live.Settled); err != nil || f.written != windows {
				t.Fatalf("%d windows are archived, %v; expected %d", f.written, err, windows)
			}
		}
		put(packets[:7]...) // three windows, and a rank of the fourth
		expect(3)
		at := int64(len(packets[0]) + len(packets[1]))
		if _, err := file.WriteAt(bytes.Repeat([]byte("#"), len(packets[2])-1), at); err != nil { // who reads this again is refused
			return err
		}
		put(packets[7:11]...)
		expect(5)
		for range 9 {
			expect(5)
		}
		expect(6)
		put(packets[11])
		expect(7) // the last again, with all its ranks
		return nil
	}, "convert", "--follow", folder, "-o", out)
	if got, want := archived(t, out), string(bytes.Join(packets, nil)); got != want {
		t.Errorf("there are %d bytes of packets, expected %d", len(got), len(want))
	}
}

// TestConvertFollowKilled: a file grows, in pieces that end within lines, while
// followers of it are killed at random instants: no window is lost or doubled.
func TestConvertFollowKilled(t *testing.T) {
	text := bytes.Join(jobPackets(t, 60), nil)
	folder, out := t.TempDir(), filepath.Join(t.TempDir(), "archive")
	file, err := os.Create(filepath.Join(folder, "job.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rng := rand.New(rand.NewPCG(4, 9))
	const kills = 8
	rest := text
	for range kills {
		follower := exec.Command("sfstat", "convert", "--follow", folder, "-o", out, "--every", "10ms")
		said, err := follower.StderrPipe()
		if err == nil {
			err = follower.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(said)
		for range 3 { // it is at work, each time on something else
			n := len(text)/(5*kills) + rng.IntN(100) // a window and a half
			if _, err := file.Write(rest[:n]); err != nil {
				t.Fatal(err)
			}
			if rest = rest[n:]; !lines.Scan() {
				t.Fatal("the follower has ended")
			}
		}
		n := len(text) / (20 * kills)
		_, err = file.Write(rest[:n])
		rest = rest[n:]
		time.Sleep(time.Duration(rng.IntN(15)) * time.Millisecond)
		if err := errors.Join(err, follower.Process.Kill()); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() {
		}
		_ = follower.Wait()
		back := archived(t, out)
		if !strings.HasPrefix(string(text), back) || back == "" {
			t.Fatalf("after a kill the archive has %d bytes of packets, which are not the first of those written", len(back))
		}
	}
	if _, err := file.Write(rest); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := runArgs(t, nil, "convert", "--follow", folder, "-o", out, "--once"); code != 0 {
		t.Fatal(stderr)
	}
	if archived(t, out) != string(text) {
		t.Error("in the end the archive does not have the windows that were written")
	}
}
