package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sfstat/sfstat/internal/disk/disktest"
	"github.com/sfstat/sfstat/internal/draws"
)

// TestFaults fails each operation on the disk once, of each command that writes; of a campaign that is there, some.
// What is at the output is what was there or all that is to be, the exit code says which, and a
// failure is a sentence. The same command, run again on a disk that does not fail, does all of it.
func TestFaults(t *testing.T) {
	t.Parallel()
	jobs := t.TempDir()
	for _, name := range []string{"nofault-r8-s0.jsonl", "host-callback-r8-s0.jsonl"} {
		text, err := os.ReadFile(filepath.Join(root, "fixtures", "ddp", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(jobs, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	archived := filepath.Join(t.TempDir(), "job.parquet")
	if code := run([]string{"sfstat", "convert", jobs, "-o", archived}, nil, io.Discard, io.Discard); code != exitDone {
		t.Fatalf("exit code %d", code)
	}
	var found []string
	for _, name := range []string{"found.csv", "found.jsonl", "found.parquet"} {
		found = append(found, filepath.Join(t.TempDir(), name))
		if code := run([]string{"sfstat", "batch", jobs, "-o", found[len(found)-1]}, nil, io.Discard, io.Discard); code != exitDone {
			t.Fatalf("exit code %d", code)
		}
	}
	spec := filepath.Join(root, "fixtures", "campaign", "small.yaml")
	made := filepath.Join(t.TempDir(), "made")
	if code := run([]string{"sfstat", "campaign", "run", spec, "-o", made}, nil, io.Discard, io.Discard); code != exitDone {
		t.Fatalf("exit code %d", code)
	}
	total := 0
	for _, c := range []struct {
		name  string
		args  []string // OUT is the output, in a folder of its own
		out   string
		files bool // the output is a folder of files, each of which stands for itself
		old   string
		from  string // the output begins as this folder
	}{
		{"batch", []string{"batch", jobs, "--resume", "--threads", "1", "-o", "OUT"}, "found.csv", false, "old", ""},
		{"batch archive", []string{"batch", archived, "--resume", "--threads", "1", "-o", "OUT"}, "found.parquet", false, "old", ""},
		{"report", []string{"report", jobs, "-o", "OUT"}, "page.html", false, "old", ""},
		{"diagnose", []string{"diagnose", archived, "--format", "json", "-o", "OUT"}, "verdict.json", false, "old", ""},
		{"convert", []string{"convert", jobs, "-o", "OUT"}, "job.parquet", false, "old", ""},
		{"convert folder", []string{"convert", jobs, "--to", "csv", "-o", "OUT/"}, "jobs", true, "", ""},
		{"follow", []string{"convert", jobs, "--follow", "--once", "-o", "OUT/"}, "archive", true, "", ""},
		{"campaign", []string{"campaign", "run", spec, "-o", "OUT"}, "campaign", true, "", ""},
		{"campaign again", []string{"campaign", "run", spec, "-o", "OUT"}, "campaign", true, "", made},
		{"campaign report", []string{"campaign", "report", "--figure-format", "svg", "OUT"}, "campaign", true, "", made},
		{"gather", []string{"batch", "--summarize", found[0], found[1], found[2], "-o", "OUT"}, "found.csv", false, "old", ""},
		{"archive", []string{"convert", archived, "--to", "parquet", "-o", "OUT"}, "again.parquet", false, "old", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			wanted, healthy, apart := "", 0, 1
			for n := 0; n == 0 || n <= healthy; n += apart {
				dir := t.TempDir()
				out := filepath.Join(dir, c.out)
				if c.old != "" {
					if err := os.WriteFile(out, []byte(c.old), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				if c.from != "" {
					if err := os.CopyFS(out, os.DirFS(c.from)); err != nil {
						t.Fatal(err)
					}
				}
				args := []string{"sfstat"}
				for _, arg := range c.args {
					args = append(args, strings.Replace(arg, "OUT", out, 1))
				}
				var said bytes.Buffer
				d := disktest.New(n, syscall.EIO)
				p := newProgram(nil, io.Discard, &said)
				p.workOn(d)
				code := p.run(p.app(), args)
				if n == 0 {
					wanted, healthy = contents(t, out, c.files), d.Operations()
					if code != exitDone || wanted == "" || healthy < 10 {
						t.Fatalf("exit code %d, %d operations, %s", code, healthy, said.String())
					}
					t.Logf("%d operations", healthy)
					if strings.HasPrefix(c.name, "campaign") { // which take long
						apart = max(1, healthy/draws.Of(t, 25, healthy))
					}
					continue
				}
				if d.FailedCall() == "" {
					continue
				}
				total++
				got := contents(t, out, c.files)
				whole := got == wanted
				switch {
				case code == exitInternal:
					t.Errorf("%s: a bug: %s", d.FailedCall(), said.String())
				case code != exitDone && strings.Count(strings.TrimSpace(said.String()), "\n") > 3 || code != exitDone && said.Len() == 0:
					t.Errorf("%s: exit code %d, said %q", d.FailedCall(), code, said.String())
				case code == exitDone && !whole && !strings.Contains(said.String(), syscall.EIO.Error()):
					t.Errorf("%s: exit code 0 without all of the output, and without a word: %q", d.FailedCall(), said.String())
				case !c.files && code != exitDone && got != c.old && !whole:
					t.Errorf("%s: torn: %.200q", d.FailedCall(), got)
				case c.files && !among(got, wanted) && code != exitDone:
					t.Errorf("%s: torn: %.300q, said %s", d.FailedCall(), got, said.String())
				}
				if c.old == "" || !whole {
					said.Reset()
					if code := run(args, nil, io.Discard, &said); code != exitDone {
						t.Errorf("%s, and again: exit code %d, %s", d.FailedCall(), code, said.String())
					} else if again := contents(t, out, c.files); again != wanted {
						t.Errorf("%s, and again: other content", d.FailedCall())
					}
				}
				if left := leftovers(t, dir); left != "" && !strings.Contains(d.FailedCall(), "remove") {
					t.Errorf("%s: left behind: %s", d.FailedCall(), left)
				}
			}
		})
	}
	t.Logf("%d faults", total)
}

// contents returns what a file holds, or the names and sums of the files of a folder.
func contents(t *testing.T, path string, folder bool) string {
	t.Helper()
	if !folder {
		text, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		return string(text)
	}
	var out []string
	err := filepath.WalkDir(path, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasPrefix(e.Name(), ".") || e.Name() == "lock" {
			return err
		}
		text, err := os.ReadFile(name)
		rest, _ := filepath.Rel(path, name)
		out = append(out, fmt.Sprintf("%s %x", rest, sha256.Sum256(text)))
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Join(out, "\n")
}

// among reports whether each line of a text is one of another.
func among(text, of string) bool {
	all := make(map[string]bool)
	for line := range strings.Lines(of + "\n") {
		all[strings.TrimSpace(line)] = true
	}
	for line := range strings.Lines(text) {
		if !all[strings.TrimSpace(line)] {
			return false
		}
	}
	return true
}

// leftovers lists temporary files.
func leftovers(t *testing.T, dir string) string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(name, ".tmp") {
			out = append(out, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(out, " ")
}

// folderOfJob returns a folder with the packets of one job.
func folderOfJob(t *testing.T) string {
	jobs := t.TempDir()
	text, err := os.ReadFile(filepath.Join(root, "fixtures", "ddp", "host-callback-r8-s0.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(jobs, "job.jsonl"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	return jobs
}

// TestServeFaults: serve goes on whatever fails, and shows all when that has passed.
func TestServeFaults(t *testing.T) {
	jobs := folderOfJob(t)
	for n := 1; ; n++ {
		d := disktest.New(n, syscall.EIO)
		address, stop := startServeOn(t, d, jobs, "--every", "10ms")
		shown := false
		for range 400 {
			if metrics := fetched(t, address+"metrics"); strings.Contains(metrics, "sfstat_runs 1\n") && strings.Contains(metrics, "sfstat_problems 0\n") {
				shown = true
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		failed := d.FailedCall()
		stop()
		switch {
		case !shown:
			t.Errorf("%s: the run does not come", failed)
		case failed == "":
			t.Logf("%d faults", n-1)
			return
		}
	}
}
