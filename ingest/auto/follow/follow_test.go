package follow

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sfstat/sfstat/ingest/ingesttest"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// line is what a rank of two writes of a window of ten steps.
func line(run string, window, rank int) string {
	row := strings.Repeat(fmt.Sprintf("[%d,5],", 100+window), 10)
	return fmt.Sprintf(`{"schema":"sfstat.packet/1","run":%q,"window":%d,"rank":%d,"world_size":2,"stages":["data","backward"],"first_step":%d,"durations_ns":[%s]}`+"\n",
		run, window, rank, 10*window, strings.TrimSuffix(row, ","))
}

// folderOf is a folder with files.
func folderOf(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		write(t, filepath.Join(dir, name), text)
	}
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

// TestUnits: what is read together.
func TestUnits(t *testing.T) {
	const dump, gpus = `{"version":"2.3","pg_config":{},"entries":[]}`, "timestamp, index, clocks.current.sm [MHz]\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  []string // files of each unit, by name
	}{
		"runs in one folder":         {map[string]string{"a.jsonl": line("a", 0, 0), "b.jsonl": line("b", 0, 0), "b2.jsonl": line("b", 0, 1)}, []string{"a.jsonl", "b.jsonl b2.jsonl"}},
		"a run on two hosts":         {map[string]string{"h0/a.jsonl": line("a", 0, 0), "h1/a.jsonl": line("a", 0, 1)}, []string{"h0/a.jsonl h1/a.jsonl"}},
		"runs of one name":           {map[string]string{"x/a.jsonl": line("a", 0, 0), "y/a.jsonl": line("a", 0, 0)}, []string{"x/a.jsonl", "y/a.jsonl"}},
		"Parquet":                    {map[string]string{"a.parquet": "PAR1", "b.parquet": "PAR1", "b.parquet.arrivals.jsonl.zst": ""}, []string{"a.parquet", "b.parquet b.parquet.arrivals.jsonl.zst"}},
		"tables":                     {map[string]string{"a/0.csv": "step,rank,data_ms\n", "a/1.csv": "step,rank,data_ms\n", "b/0.csv": "step,rank,data_ms\n"}, []string{"a/0.csv a/1.csv", "b/0.csv"}},
		"dumps beside windows":       {map[string]string{"a.jsonl": line("a", 0, 0), "b.jsonl": line("b", 0, 0), "fr_0.json": dump}, []string{"a.jsonl b.jsonl fr_0.json"}},
		"dumps below windows":        {map[string]string{"a/a.jsonl": line("a", 0, 0), "a/dumps/fr_0.json": dump, "b/b.jsonl": line("b", 0, 0)}, []string{"a/a.jsonl a/dumps/fr_0.json", "b/b.jsonl"}},
		"dumps of the only run":      {map[string]string{"a/a.jsonl": line("a", 0, 0), "x/dumps/fr_0.json": dump}, []string{"a/a.jsonl x/dumps/fr_0.json"}},
		"what is nothing, by itself": {map[string]string{"a.jsonl": line("a", 0, 0), "notes.txt": "notes"}, []string{"a.jsonl", "notes.txt"}},
		"readings beside all":        {map[string]string{"a.jsonl": line("a", 0, 0), "b/b.jsonl": line("b", 0, 0), "gpu.csv": gpus}, []string{"a.jsonl gpu.csv", "b/b.jsonl gpu.csv"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folderOf(t, c.files)
			var got []string
			for _, u := range New(nil, []string{dir}).Look() {
				var names []string
				for _, path := range u.Paths() {
					names = append(names, filepath.ToSlash(strings.TrimPrefix(path, dir+string(filepath.Separator))))
				}
				got = append(got, strings.Join(names, " "))
			}
			if slices.Sort(got); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestLabels: runs of one name are told apart, as when all files are read at once.
func TestLabels(t *testing.T) {
	dir := folderOf(t, map[string]string{"x/a.jsonl": line("a", 0, 0), "y/a.jsonl": line("a", 0, 0), "y/b.jsonl": line("b", 0, 0)})
	labels := make(map[string]int)
	for _, u := range New(nil, []string{dir}).Look() {
		labels[u.Label]++
	}
	if labels["x"] != 1 || labels["y"] != 1 || labels[""] != 1 {
		t.Errorf("labels %v, want x, y and none", labels)
	}
}

// TestChanges: what is told of a unit whose file was written to in some way.
func TestChanges(t *testing.T) {
	for name, c := range map[string]struct {
		change      func(t *testing.T, path string)
		same, grown bool
	}{
		"nothing":  {func(*testing.T, string) {}, true, true},
		"appended": {func(t *testing.T, path string) { appendTo(t, path, line("a", 1, 0)) }, false, true},
		"touched":  {func(t *testing.T, path string) { touch(t, path) }, false, false},
		"edited, with its size and time": {func(t *testing.T, path string) {
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(20 * time.Millisecond) // longer than a tick of the file system
			write(t, path, strings.Replace(line("a", 0, 0), `"a"`, `"b"`, 1))
			if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
				t.Fatal(err)
			}
		}, false, false},
		"truncated": {func(t *testing.T, path string) { write(t, path, "") }, false, false},
		"replaced": {func(t *testing.T, path string) {
			write(t, path+".new", line("a", 0, 0)+line("a", 1, 0))
			if err := os.Rename(path+".new", path); err != nil {
				t.Fatal(err)
			}
		}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folderOf(t, map[string]string{"a.jsonl": line("a", 0, 0)})
			files := New(nil, []string{dir})
			before := files.Look()[0]
			c.change(t, filepath.Join(dir, "a.jsonl"))
			now := files.Look()[0]
			if now.IsUnchanged(before) != c.same || now.HasGrown(before) != c.grown {
				t.Errorf("same %t, grown %t; want %t, %t", now.IsUnchanged(before), now.HasGrown(before), c.same, c.grown)
			}
		})
	}
}

// TestRewrittenInPlace: a file that is longer by now, and holds another run, is of another
// unit.
func TestRewrittenInPlace(t *testing.T) {
	dir := folderOf(t, map[string]string{"x/a.jsonl": line("a", 0, 0), "y/a.jsonl": line("a", 0, 0), "z.jsonl": line("z", 0, 0)})
	files := New(nil, []string{dir})
	if n := len(files.Look()); n != 3 {
		t.Fatalf("%d units, want 3", n)
	}
	write(t, filepath.Join(dir, "z.jsonl"), line("x/a", 0, 0)+line("x/a", 0, 1))
	if n := len(files.Look()); n != 3 {
		t.Errorf("another run: %d units, want 3", n)
	}
	write(t, filepath.Join(dir, "z.jsonl"), strings.Repeat("step,rank,data_ms\n", 100))
	for _, u := range files.Look() {
		if u.Plain() == strings.HasPrefix(u.Key, "folder") {
			t.Errorf("unit %s is taken for packets: %t", u.Key, u.Plain())
		}
	}
}

// TestReadings: a file of readings that comes changes all units; one that grows, none.
func TestReadings(t *testing.T) {
	const gpus = "timestamp, index, clocks.current.sm [MHz]\n"
	dir := folderOf(t, map[string]string{"a.jsonl": line("a", 0, 0)})
	files := New(nil, []string{dir})
	before := files.Look()[0]
	write(t, filepath.Join(dir, "gpu.csv"), gpus)
	with := files.Look()[0]
	if with.IsUnchanged(before) {
		t.Error("a unit is the same with readings beside it")
	}
	appendTo(t, filepath.Join(dir, "gpu.csv"), "2026/01/01 00:00:00.000, 0, 1410 MHz\n")
	if now := files.Look()[0]; !now.IsUnchanged(with) {
		t.Error("a unit is another since the readings beside it grew")
	}
}

func touch(t *testing.T, path string) {
	t.Helper()
	if err := os.Chtimes(path, time.Time{}, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
}

// TestTail: windows of two files that grow line by line, and by parts of lines, are
// handed on once, when both ranks have written them or another follows.
func TestTail(t *testing.T) {
	dir := folderOf(t, map[string]string{"0.jsonl": line("a", 0, 0), "1.jsonl": line("a", 0, 1)})
	files := New(nil, []string{dir})
	var tail Tail
	last := line("a", 4, 1)
	for _, step := range []struct {
		what, file, text string
		want             []int64
		open             int
	}{
		{"what is there", "0.jsonl", "", []int64{0}, 0},
		{"nothing new", "0.jsonl", "", nil, 0},
		{"one rank of two", "0.jsonl", line("a", 1, 0), nil, 1},
		{"the other", "1.jsonl", line("a", 1, 1), []int64{1}, 0},
		{"one that the other rank leaves out", "0.jsonl", line("a", 2, 0), nil, 1},
		{"and goes past", "1.jsonl", line("a", 3, 1), []int64{2}, 1},
		{"the first rank follows", "0.jsonl", line("a", 3, 0) + line("a", 4, 0), []int64{3}, 1},
		{"a part of a line", "1.jsonl", last[:100], nil, 1},
		{"the rest of it", "1.jsonl", last[100:], []int64{4}, 0},
	} {
		if step.text != "" {
			appendTo(t, filepath.Join(dir, step.file), step.text)
		}
		var got []int64
		if err := tail.Read(files.Look()[0], func(w *trace.Window) error { got = append(got, w.Index); return nil }); err != nil {
			t.Fatalf("%s: %v", step.what, err)
		}
		if !slices.Equal(got, step.want) || tail.Open != step.open {
			t.Errorf("%s: windows %v, %d open; want %v, %d", step.what, got, tail.Open, step.want, step.open)
		}
	}
}

// TestBadLine: a line that cannot be read is an error, of which the file and the line are said.
func TestBadLine(t *testing.T) {
	dir := folderOf(t, map[string]string{"0.jsonl": line("a", 0, 0), "1.jsonl": line("a", 0, 1)})
	files, tail := New(nil, []string{dir}), Tail{}
	discard := func(*trace.Window) error { return nil }
	if err := tail.Read(files.Look()[0], discard); err != nil {
		t.Fatal(err)
	}
	appendTo(t, filepath.Join(dir, "1.jsonl"), "\nnonsense\n"+line("a", 1, 1))
	var placed *input.Error
	if err := tail.Read(files.Look()[0], discard); !errors.As(err, &placed) || filepath.Base(placed.Pos.File) != "1.jsonl" || placed.Pos.Line != 2 {
		t.Errorf("%v, want an error in line 2 of what was appended", err)
	}
}

// TestCut: a line that ends before its packet does may be an error or the end of the file.
func TestCut(t *testing.T) {
	dir := folderOf(t, map[string]string{"0.jsonl": line("a", 0, 0), "1.jsonl": line("a", 0, 1) + `{"schema":"sfstat.pa` + "\n"})
	var tail Tail
	if err := tail.Read(New(nil, []string{dir}).Look()[0], func(*trace.Window) error { return nil }); !errors.Is(err, ErrRewritten) {
		t.Errorf("%v, want %v", err, ErrRewritten)
	}
}

// TestRewritten: what does not go on from what was read is an error.
func TestRewritten(t *testing.T) {
	for name, text := range map[string]string{
		"shorter":       line("a", 0, 0),
		"another start": strings.Replace(line("a", 0, 0)+line("a", 0, 1)+line("a", 1, 0)+line("a", 1, 1), ",5],[1", ",6],[1", 100),
		"steps again":   line("a", 0, 0) + line("a", 0, 1) + line("a", 0, 0) + line("a", 0, 1),
		"no packet":     line("a", 0, 0) + line("a", 0, 1) + "no packet\n",
	} {
		t.Run(name, func(t *testing.T) {
			dir := folderOf(t, map[string]string{"a.jsonl": line("a", 0, 0) + line("a", 0, 1)})
			files := New(nil, []string{dir})
			var tail Tail
			discard := func(*trace.Window) error { return nil }
			if err := tail.Read(files.Look()[0], discard); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, "a.jsonl"), text)
			if err := tail.Read(files.Look()[0], discard); err == nil {
				t.Error("it is read as if it went on")
			}
		})
	}
}

// FuzzTail: whatever is appended to packets, in two pieces, it is read or refused, and every window
// is valid and comes once.
func FuzzTail(f *testing.F) {
	whole := line("a", 0, 0) + line("a", 0, 1) + line("a", 1, 0) + line("a", 1, 1)
	f.Add([]byte(whole), 100)
	f.Add([]byte(whole+whole), len(whole))
	f.Add([]byte(line("a", 0, 0)+"\n"+line("b", 0, 1)+"{}\n"), 300)
	f.Fuzz(func(t *testing.T, data []byte, at int) {
		at = min(max(at, 0), len(data))
		dir := folderOf(t, map[string]string{"0.jsonl": line("a", 0, 0), "1.jsonl": string(data[:at])})
		files, tail, seen := New(nil, []string{dir}), Tail{}, map[window]bool{}
		for range 2 {
			for _, u := range files.Look() {
				if !u.Plain() || len(u.Files) < 2 {
					return // another run, or none
				}
				err := tail.Read(u, func(w *trace.Window) error {
					if err := w.Validate(); err != nil || seen[window{w.Run, w.FirstStep}] {
						t.Errorf("window %d of %s: %v, or it comes again", w.Index, w.Run, err)
					}
					seen[window{w.Run, w.FirstStep}] = true
					return nil
				})
				ingesttest.NoBug(t, err)
				if err != nil {
					return
				}
			}
			appendTo(t, filepath.Join(dir, "1.jsonl"), string(data[at:]))
		}
	})
}

// TestPause: looking takes little of a processor where nothing changes, however many files
// there are; the first look, which reads them, does not count.
func TestPause(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.jsonl"), "x")
	s := New(nil, []string{dir})
	s.Look()
	if got := s.Pause(time.Nanosecond); got != time.Nanosecond {
		t.Errorf("a pause of %v after the first look", got)
	}
	first := s.Look()
	if got := s.Pause(time.Nanosecond); got < 66*s.took {
		t.Errorf("a pause of %v after a look of %v", got, s.took)
	}
	if got := s.Pause(time.Hour); got != time.Hour {
		t.Errorf("a pause of %v, an hour was asked for", got)
	}
	for _, took := range []time.Duration{72 * time.Hour, -72 * time.Hour} { // by a clock that was set
		s.took = took
		if got := s.Pause(time.Second); got < time.Second || got > longestPause {
			t.Errorf("a pause of %v after a look of %v", got, took)
		}
	}
	if again := s.Look(); len(again) != 1 || again[0] != first[0] {
		t.Errorf("units %v, expected those of the look before, %v", again, first)
	}
}
