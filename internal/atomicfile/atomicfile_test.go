package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/internal/disk"
)

func write(t *testing.T, f *File, text string) {
	t.Helper()
	if _, err := f.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// entries lists what is in a folder, temporary files too.
func entries(t *testing.T, dir string) string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

func TestNothingUnderTheNameBeforeCommit(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out.json")
	f, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, f, "half")
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file has its name before Commit: %v", err)
	}
	write(t, f, " and half")
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	f.Discard() // as a deferred call would
	if got := read(t, path); got != "half and half" {
		t.Errorf("file holds %q", got)
	}
	if got := entries(t, dir); got != "out.json" {
		t.Errorf("folder holds %q, expected the file alone", got)
	}
}

func TestDiscardKeepsWhatWasThere(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out.json")
	if err := os.WriteFile(path, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	f, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, f, "new")
	f.Discard()
	if got := read(t, path); got != "old" {
		t.Errorf("file holds %q after Discard", got)
	}
	if got := entries(t, dir); got != "out.json" {
		t.Errorf("folder holds %q, expected the old file alone", got)
	}
}

// TestWriteFile: the whole content, or what was there.
func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out")
	text := func(s string) func(io.Writer) error {
		return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
	}
	if err := WriteFile(path, text("first")); err != nil || read(t, path) != "first" {
		t.Fatalf("%v, the file holds %q", err, read(t, path))
	}
	cause := errors.New("no more")
	err := WriteFile(path, func(w io.Writer) error { return errors.Join(text("half")(w), cause) })
	if !errors.Is(err, cause) || read(t, path) != "first" || entries(t, dir) != "out" {
		t.Errorf("%v, the file holds %q beside %s; expected %v and what was there", err, read(t, path), entries(t, dir), cause)
	}
	if err := WriteFile(filepath.Join(dir, "none", "out"), text("x")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without its folder: %v", err)
	}
}

func TestModeIsThatOfAnOrdinaryFile(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "private"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(plain)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]fs.FileMode{"new": info.Mode(), "private": 0o600} {
		f, err := Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Commit(); err != nil {
			t.Fatal(err)
		}
		got, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got.Mode() != want {
			t.Errorf("%s has mode %v, expected %v", name, got.Mode(), want)
		}
	}
}

func TestLinkStaysALink(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	if err := os.WriteFile(target, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("target", link); err != nil {
		t.Fatal(err)
	}
	f, err := Create(link)
	if err != nil {
		t.Fatal(err)
	}
	write(t, f, "new")
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v %v", info, err)
	}
	if got := read(t, target); got != "new" {
		t.Errorf("the target holds %q", got)
	}
}

func TestDeviceIsWrittenInPlace(t *testing.T) {
	f, err := Create(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	write(t, f, "gone")
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Fatalf("%s was replaced: %v %v", os.DevNull, info, err)
	}
}

func TestErrorsNameTheDestination(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Join(dir, "no", "such", "folder", "out")} {
		f, err := Create(path)
		if err == nil {
			f.Discard()
			t.Fatalf("Create(%s) succeeded", path)
		}
		if msg := err.Error(); !strings.Contains(msg, path) || strings.Contains(msg, ".tmp") {
			t.Errorf("error %q should name %s and no temporary file", msg, path)
		}
	}
}

func TestCommitThatFailsLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out")
	f, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, f, "new")
	if err := os.Mkdir(path, 0o755); err != nil { // someone was faster
		t.Fatal(err)
	}
	if err := f.Commit(); err == nil {
		t.Fatal("Commit replaced a folder")
	}
	if got := entries(t, dir); got != "out" {
		t.Errorf("folder holds %q, expected no temporary file", got)
	}
}

func TestRemoveStale(t *testing.T) {
	dir := t.TempDir()
	killed, err := Create(filepath.Join(dir, "out.csv"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, killed, "half")
	if err := RemoveStale(disk.OS{}, dir); err != nil || !strings.Contains(entries(t, dir), ".out.csv.") {
		t.Errorf("what is being written is removed: %v", err)
	}
	killed.unlock() // and never again, as of a program that was killed
	for _, name := range []string{"out.csv", ".hidden", ".a.tmp", "a.b.tmp", ".out.csv.XYZ.tmp"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, ".out.csv.xyz.tmp"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := RemoveStale(disk.OS{}, dir); err != nil {
		t.Fatal(err)
	}
	if got := entries(t, dir); got != ".a.tmp .hidden .out.csv.XYZ.tmp .out.csv.xyz.tmp a.b.tmp out.csv" {
		t.Errorf("left: %s, expected all but the file of the killed program", got)
	}
	if err := RemoveStale(disk.OS{}, filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
}

// TestRemoveStaleOf: what is left of another file beside it stays.
func TestRemoveStaleOf(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.csv", ".a.csv.1z.tmp", ".a.csv.tmp", ".b.csv.1z.tmp", ".a.csv.parts.1z.tmp"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := RemoveStaleOf(disk.OS{}, filepath.Join(dir, "a.csv")); err != nil {
		t.Fatal(err)
	}
	if got := entries(t, dir); got != ".a.csv.parts.1z.tmp .a.csv.tmp .b.csv.1z.tmp a.csv" {
		t.Errorf("left: %s", got)
	}
}
