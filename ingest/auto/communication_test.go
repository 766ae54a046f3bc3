package auto

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/ingesttest"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/input"
)

const run = "../../fixtures/comm/run"

func copyTo(t *testing.T, to, from string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(run, from))
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o755)
	}
	if err == nil {
		err = os.WriteFile(to, data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Whatever files are called and wherever below the folder they lie, each is what is in it.
func TestByContent(t *testing.T) {
	dir := t.TempDir()
	copyTo(t, filepath.Join(dir, "a", "stdout"), "nccl.node0.4000.log")
	copyTo(t, filepath.Join(dir, "b", "deep", "trace.log"), "node0.sqlite")
	copyTo(t, filepath.Join(dir, ".hidden", "x.log"), "nccl.node0.4007.log")
	for name, text := range map[string]string{"notes.txt": "NCCL is a library\n", "config.json": "{}", "empty": "", "late.out": strings.Repeat("epoch 1\n", 50_000) + "NCCL version 2.10.3+cuda10.2\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	packed, err := os.Create(filepath.Join(dir, "rank1.gz"))
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(run, "nccl.node0.4007.log"))
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(packed)
	if _, err := z.Write(data); err != nil || z.Close() != nil || packed.Close() != nil {
		t.Fatal("no gzip")
	}
	f, err := readComm(dir, filepath.Join(dir, "a", "stdout"))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"stdout", "late.out", "rank1.gz"}; !slices.Equal(names(f, comms.SourceNCCLLog), want) {
		t.Errorf("logs %q, want %q", names(f, comms.SourceNCCLLog), want)
	}
	if want := []string{"b/deep/trace.log"}; !slices.Equal(names(f, comms.SourceNsight), want) || len(f.Problems) != 0 || len(f.Passed) != 3 {
		t.Errorf("exports %q, want %q; problems %v, %v passed over", names(f, comms.SourceNsight), want, f.Problems, f.Passed)
	}
	if len(f.Comm.Calls) != 66 {
		t.Errorf("%d calls, want 66", len(f.Comm.Calls))
	}
}

// Two files of one name in two folders go by their paths.
func TestSameName(t *testing.T) {
	dir := t.TempDir()
	one, two := filepath.Join(dir, "1", "x"), filepath.Join(dir, "2", "x")
	copyTo(t, one, "nccl.node0.4000.log")
	copyTo(t, two, "nccl.node0.4007.log")
	f, err := readComm(one, filepath.Dir(two))
	if want := []string{filepath.ToSlash(one), filepath.ToSlash(two)}; err != nil || !slices.Equal(names(f, comms.SourceNCCLLog), want) {
		t.Errorf("%v, %v, want %v", f, err, want)
	}
}

// A file that cannot be read does not keep the others from being read, and is told in one line that names it.
func TestCommRefused(t *testing.T) {
	dir := t.TempDir()
	copyTo(t, filepath.Join(dir, "good.log"), "nccl.node0.4000.log")
	data, err := os.ReadFile(filepath.Join(run, "node0.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"cut.sqlite": string(data[:3000]), "random.bin": "\x00\x01\x02", "plain.txt": "hello\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f, err := readComm(dir, filepath.Join(dir, "nowhere"))
	if err != nil || len(names(f, comms.SourceNCCLLog)) != 1 || len(f.Problems) != 2 {
		t.Fatalf("%+v, %v", f, err)
	}
	for _, name := range []string{"random.bin", "plain.txt", "cut.sqlite", "nowhere"} {
		_, err := readComm(filepath.Join(dir, name))
		if err == nil || !strings.HasPrefix(err.Error(), filepath.Join(dir, name)) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := readComm(t.TempDir()); err == nil {
		t.Error("an empty folder is taken for a job")
	}
}

// What another command or program reads is told in one line, which says what to do; in a folder it is passed over,
// unless there is nothing else.
func TestInstead(t *testing.T) {
	dir := t.TempDir()
	for name, tt := range map[string]struct{ text, says string }{
		"kineto.json":   {"{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [],\n  \"traceEvents\": []}", "sfstat diagnose"},
		"bare.json":     {`{"traceEvents":[]}`, "PyTorch profiler trace"},
		"flight.json":   {`{"version":"2.4","pg_config":{},"nccl_version":"2.21.5","entries":[]}`, "Flight Recorder"},
		"nccl_trace_0":  {"\x80\x02}q\x00(X\x07\x00\x00\x00entriesq\x01]X\x09\x00\x00\x00pg_configq\x02}", "sfstat hang"},
		"other.json":    {`{"pg": 1}`, "unrecognized input (JSON"},
		"inspector.log": {"{\"header\":{},\"coll_perf\":{}}\n", "no record of NCCL's Inspector in 1 lines"},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(tt.text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := readComm(path)
		if err == nil || !strings.HasPrefix(err.Error(), path) || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
		if name == "inspector.log" {
			os.Remove(path)
		}
	}
	if _, err := readComm(dir); err == nil || !strings.Contains(err.Error(), "PyTorch") {
		t.Errorf("a folder of them: %v", err)
	}
	copyTo(t, filepath.Join(dir, "a.log"), "nccl.node0.4000.log")
	if f, err := readComm(dir); err != nil || len(f.Problems) != 0 || len(f.Passed) != 5 {
		t.Errorf("beside a log: %+v, %v", f, err)
	}
}

// communication is what was read, and what of it was refused or, in folders, passed over.
type communication struct {
	Comm     *comms.Record
	Problems []Problem
	Passed   []string
}

func readComm(paths ...string) (*communication, error) {
	r, err := Open(paths, Options{Kinds: Calls})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	f := &communication{}
	for j, err := range r.Jobs() {
		if err != nil {
			return nil, err
		}
		f.Comm = j.Calls
	}
	for _, in := range r.Inputs() {
		if in.Skipped != "" && !in.Known {
			f.Passed = append(f.Passed, in.Path)
		}
	}
	f.Problems = r.Problems()
	return f, nil
}

// names is what results call the files of a kind.
func names(f *communication, kind comms.SourceKind) (list []string) {
	for _, s := range f.Comm.Sources {
		if s.Kind == kind {
			list = append(list, s.Name)
		}
	}
	return list
}

// Dumps of NCCL's Inspector are told from logs, which have the same ending.
func TestDumps(t *testing.T) {
	f, err := readComm(run, "../../fixtures/comm/inspector")
	if err != nil || len(names(f, comms.SourceInspector)) != 4 || len(names(f, comms.SourceNCCLLog)) != 4 || len(names(f, comms.SourceNsight)) != 2 || names(f, comms.SourceInspector)[0] != "node0.cluster-pid4000.log" {
		t.Errorf("%+v, %v", f, err)
	}
}

// The order of the arguments changes nothing.
func TestOrder(t *testing.T) {
	var paths []string
	for _, name := range []string{"nccl.node0.4000.log", "nccl.node1.4014.log", "node0.sqlite", "node1.sqlite"} {
		paths = append(paths, filepath.Join(run, name))
	}
	want, err := readComm(paths...)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(paths)
	got, err := readComm(paths...)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Comm.Sources, want.Comm.Sources) {
		t.Errorf("sources %+v in one order, %+v in another", want.Comm.Sources, got.Comm.Sources)
	}
}

// A copy counts nothing twice, whatever it is called and however it is packed; what only begins like another file is read.
func TestCopies(t *testing.T) {
	dir := t.TempDir()
	copyTo(t, filepath.Join(dir, "a.log"), "nccl.node0.4000.log")
	copyTo(t, filepath.Join(dir, "b", "same.sqlite"), "node0.sqlite")
	copyTo(t, filepath.Join(dir, "same.sqlite"), "node0.sqlite")
	text, err := os.ReadFile(filepath.Join(dir, "a.log"))
	if err != nil {
		t.Fatal(err)
	}
	packed, err := os.Create(filepath.Join(dir, "b.log.gz"))
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(packed)
	if _, err = z.Write(text); err == nil {
		err = errors.Join(z.Close(), packed.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	once, err := readComm(filepath.Join(run, "nccl.node0.4000.log"))
	if err != nil {
		t.Fatal(err)
	}
	found, err := readComm(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(names(found, comms.SourceNCCLLog)) != 1 || len(names(found, comms.SourceNsight)) != 1 || len(found.Problems) != 2 || len(found.Comm.Calls) != len(once.Comm.Calls) {
		t.Errorf("%v, %v: %d calls, want %d; %v", names(found, comms.SourceNCCLLog), names(found, comms.SourceNsight), len(found.Comm.Calls), len(once.Comm.Calls), found.Problems)
	}
	for _, p := range found.Problems {
		if !errors.Is(p.Err, input.ErrDuplicate) || !strings.Contains(p.Err.Error(), "a copy of "+dir) {
			t.Errorf("%s: %v", p.Path, p.Err)
		}
	}
	long := bytes.Repeat([]byte("a line of a program that writes a lot before NCCL does\n"), sniffed/50)
	for i, end := range []string{"", "more\n"} {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("long%d.log", i)), append(append(slices.Clone(text), long...), end...), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if found, err = readComm(dir); err != nil || len(names(found, comms.SourceNCCLLog)) != 3 || len(found.Problems) != 2 {
		t.Errorf("files that begin alike: %v, %v, %v", names(found, comms.SourceNCCLLog), found.Problems, err)
	}
}

// FuzzReadComm: whatever a file holds, it is read, refused or passed over.
func FuzzReadComm(f *testing.F) {
	for _, path := range []string{filepath.Join(run, "nccl.node0.4000.log"), "../../fixtures/comm/inspector"} {
		if info, err := os.Stat(path); err != nil {
			f.Fatal(err)
		} else if info.IsDir() {
			all, err := os.ReadDir(path)
			if err != nil {
				f.Fatal(err)
			}
			path = filepath.Join(path, all[0].Name())
		}
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data[:min(len(data), 4000)])
	}
	f.Add([]byte(widened))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		c, _, err := ReadComm([]string{path}, Options{Limits: ingest.Limits{Line: 1 << 16}})
		ingesttest.NoBug(t, err)
		if err == nil && len(c.Sources) == 0 {
			t.Error("neither a source nor an error")
		}
	})
}

// widened is the beginning of a log that a shell wrote as UTF-16.
const widened = "\xff\xfen\x000\x00:\x001\x00:\x001\x00 \x00[\x000\x00]\x00 \x00N\x00C\x00C\x00L\x00 \x00I\x00N\x00F\x00O\x00 \x00x\x00\n\x00"
