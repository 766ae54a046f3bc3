package auto

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/archive"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/ingesttest"
	"github.com/sfstat/sfstat/ingest/packet"
	"github.com/sfstat/sfstat/internal/largedata"
	"github.com/sfstat/sfstat/trace"
)

func packets(t testing.TB, windows []*trace.Window) string {
	var b strings.Builder
	w := packet.NewWriter(&b)
	for _, win := range windows {
		if err := w.Write(win); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// table is the windows as wide CSV, without side channels.
func table(windows []*trace.Window) string {
	b := []byte("run,window,step,rank,world_size,wall_ns,host,local_rank,role," + strings.Join(windows[0].Schema.Stages, ",") + "\n")
	for _, w := range windows {
		for t := range w.Steps() {
			for r, rank := range w.Ranks {
				b = fmt.Appendf(b, "%s,%d,%d,%d,%d,%d,%s,%d,%q", w.Run, w.Index, w.FirstStep+int64(t), rank.ID, w.WorldSize,
					w.WallOf(t)[r], rank.Host, rank.LocalRank, rank.Role.String())
				for s := range w.Schema.Stages {
					b = fmt.Appendf(b, ",%d", w.Step(t)[s*len(w.Ranks)+r])
				}
				b = append(b, '\n')
			}
		}
	}
	return string(b)
}

func parquetOf(t testing.TB, windows []*trace.Window) string {
	var b strings.Builder
	w := archive.NewWriter(&b)
	for _, win := range windows {
		if err := w.Write(win); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// folderOf writes files into a new folder; a name may have a folder in it.
func folderOf(t testing.TB, files map[string]string) string {
	dir := t.TempDir()
	for name, data := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(data), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// windowsOf reads the windows of a reader whose inputs hold nothing else.
type windowsOf struct {
	*Reader
	next []*trace.Window
}

func (w *windowsOf) Next() (*trace.Window, error) {
	for len(w.next) == 0 {
		j, err := w.Reader.Next()
		if err != nil {
			return nil, err
		}
		w.next = j.Windows
	}
	first := w.next[0]
	w.next = w.next[1:]
	return first, nil
}

func openWindows(paths []string, o Options) (ingest.WindowReader, error) {
	if o.Kinds == 0 {
		o.Kinds = Windows | Operators
	}
	r, err := Open(paths, o)
	if err != nil {
		return nil, err
	}
	return &windowsOf{Reader: r}, nil
}

func read(t testing.TB, o Options, paths ...string) (*Reader, []*trace.Window, error) {
	t.Helper()
	if o.Kinds == 0 {
		o.Kinds = Windows | Operators
	}
	r, err := Open(paths, o)
	if err != nil {
		return nil, nil, err
	}
	windows, err := ingesttest.ReadAll(&windowsOf{Reader: r})
	return r, windows, err
}

func some(seed uint64) []*trace.Window {
	return ingesttest.Windows(seed, 4, ingesttest.Shape{Ranks: 4, Steps: 5, Stages: 3})
}

// TestSameWindows: the windows do not depend on how packets are spread over
// files, on compression, on names, nor on the order of the paths.
func TestSameWindows(t *testing.T) {
	want := some(1)
	lines := strings.SplitAfter(strings.TrimSuffix(packets(t, want), "\n"), "\n")
	lines[len(lines)-1] += "\n"
	rng := rand.New(rand.NewPCG(1, 1))
	store := []func(string) string{
		func(s string) string { return s },
		func(s string) string { return ingesttest.Gzip(t, s) },
		func(s string) string { return ingesttest.Zstd(t, s) },
		func(s string) string { return "\xEF\xBB\xBF" + strings.ReplaceAll(s, "\n", "\r\n") },
		func(s string) string { return ingesttest.Gzip(t, s[:len(s)/2]) + ingesttest.Gzip(t, s[len(s)/2:]) },
	}
	for i := range 60 {
		files := make(map[string]string)
		spread := 1 + rng.IntN(6)
		for n, line := range lines {
			key := []int{0, n % 4, n / 4, n % spread, n / spread}[i%5]
			files[fmt.Sprintf("%d.%s", key, []string{"jsonl", "log", "gz", "data"}[i%4])] += line
		}
		for name, text := range files {
			files[name] = store[rng.IntN(len(store))](text)
		}
		dir := folderOf(t, files)
		paths := []string{dir}
		if i%2 == 0 {
			paths = nil
			for name := range files { // in random order
				paths = append(paths, filepath.Join(dir, name))
			}
		}
		r, got, err := read(t, Options{}, paths...)
		if err != nil {
			t.Fatalf("%v: %v", paths, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%v: windows differ (-want +got):\n%s", paths, diff)
		}
		if p := r.Problems(); len(p) > 0 {
			t.Fatalf("%v: problems %v", paths, p)
		}
	}
}

func TestContract(t *testing.T) {
	want := some(1)
	for _, w := range want {
		w.Side = nil
	}
	for name, data := range map[string]string{"packets": packets(t, want), "packets.gz": ingesttest.Gzip(t, packets(t, want)),
		"archive": parquetOf(t, want), "table": table(want), "table.zst": ingesttest.Zstd(t, table(want))} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(folderOf(t, map[string]string{name: data}), name)
			ingesttest.Reader(t, want, func() (ingest.WindowReader, error) { return openWindows([]string{path}, Options{}) })
		})
		t.Run(name+" from standard input", func(t *testing.T) {
			ingesttest.Reader(t, want, func() (ingest.WindowReader, error) {
				return openWindows([]string{"-"}, Options{Stdin: iotest.HalfReader(strings.NewReader(data))})
			})
		})
	}
}

// TestMix reads everything at once: packets first, then the rest by path.
func TestMix(t *testing.T) {
	a, b, c, d, e := some(1), some(2), some(3), some(4), some(5)
	for _, w := range e {
		w.Side = nil
	}
	dir := folderOf(t, map[string]string{
		"m.parquet":        parquetOf(t, b),
		"k.tsv":            table(e),
		"a-archive-no-ext": parquetOf(t, c),
		"z.jsonl.gz":       ingesttest.Gzip(t, packets(t, a[:2])),
		"y/z/rank.jsonl":   packets(t, a[2:]),
		"README.md":        "# My runs\n",
		"truth.csv":        "run,family,ranks\nx,y,8\n",
		".hidden.jsonl":    packets(t, d),
		"trace.json":       `{"schemaVersion":1,"traceEvents":[]}`, // no event: a rank may be missing
		"void":             "",
	})
	stdin := ingesttest.Zstd(t, packets(t, d))
	if err := os.Symlink(filepath.Join(dir, "m.parquet"), filepath.Join(dir, "n.parquet")); err != nil {
		t.Fatal(err)
	}
	r, got, err := read(t, Options{Stdin: strings.NewReader(stdin)}, dir, filepath.Join(dir, "m.parquet"), "-", dir)
	if err != nil {
		t.Fatal(err)
	}
	// "-" sorts before every other path, so its run is the first one seen.
	if diff := cmp.Diff(slices.Concat(d, a, c, e, b), got); diff != "" {
		t.Errorf("windows differ (-want +got):\n%s", diff)
	}
	if p := r.Problems(); len(p) != 1 || filepath.Base(p[0].Path) != "trace.json" {
		t.Errorf("problems %v", p)
	}
	var listed []string
	for _, in := range r.Inputs() {
		name := strings.TrimPrefix(strings.TrimPrefix(in.Path, dir), "/")
		if in.Skipped == "" {
			listed = append(listed, fmt.Sprintf("%s: %s, %s, %d windows", name, in.Format, in.Compression, in.Windows))
			if name != "-" && in.Bytes <= 0 {
				t.Errorf("%s has %d bytes", name, in.Bytes)
			}
		} else {
			listed = append(listed, fmt.Sprintf("%s skipped: %s", name, strings.ReplaceAll(in.Skipped, dir, "DIR")))
		}
	}
	want := []string{
		"-: packets, zstd, 4 windows",
		".hidden.jsonl skipped: hidden", ".hidden.jsonl skipped: hidden",
		"README.md skipped: text",
		"README.md skipped: the same file as DIR/README.md",
		"a-archive-no-ext: window archive, plain, 4 windows",
		"a-archive-no-ext skipped: the same file as DIR/a-archive-no-ext",
		"k.tsv: wide CSV, plain, 4 windows", "k.tsv skipped: the same file as DIR/k.tsv",
		"m.parquet: window archive, plain, 4 windows",
		"m.parquet skipped: the same file as DIR/m.parquet", "m.parquet skipped: the same file as DIR/m.parquet",
		"n.parquet skipped: the same file as DIR/m.parquet", "n.parquet skipped: the same file as DIR/m.parquet",
		"trace.json: profiler trace, plain, 0 windows",
		"trace.json skipped: the same file as DIR/trace.json",
		"truth.csv skipped: text",
		"truth.csv skipped: the same file as DIR/truth.csv",
		"void skipped: empty: the job may not have written anything yet", "void skipped: the same file as DIR/void",
		"y/z/rank.jsonl: packets, plain, 2 windows", "y/z/rank.jsonl skipped: the same file as DIR/y/z/rank.jsonl",
		"z.jsonl.gz: packets, gzip, 2 windows", "z.jsonl.gz skipped: the same file as DIR/z.jsonl.gz",
	}
	if diff := cmp.Diff(want, listed); diff != "" {
		t.Errorf("inputs differ (-want +got):\n%s", diff)
	}
}

// TestProgress: done never falls, ends at total, and total is known from the
// beginning.
func TestProgress(t *testing.T) {
	windows := ingesttest.Windows(1, 40, ingesttest.Shape{Ranks: 8, Steps: 60, Stages: 6})
	dir := folderOf(t, map[string]string{"a.jsonl": packets(t, windows[:20]), "b.jsonl.gz": ingesttest.Gzip(t, packets(t, windows[20:])), "c.parquet": parquetOf(t, some(2)), "d.txt": "x", "e.csv.gz": ingesttest.Gzip(t, table(some(3)))})
	var size int64
	for _, name := range []string{"a.jsonl", "b.jsonl.gz", "c.parquet", "e.csv.gz"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	var last int64
	calls := 0
	o := Options{Progress: func(done, total int64) {
		if done < last || done > total || total != size {
			t.Errorf("progress %d of %d after %d, the files have %d", done, total, last, size)
		}
		last = done
		calls++
	}}
	if _, _, err := read(t, o, dir); err != nil {
		t.Fatal(err)
	}
	if last != size || calls < 3 {
		t.Errorf("%d calls, the last with %d of %d bytes", calls, last, size)
	}
	o = Options{Stdin: strings.NewReader(packets(t, windows)), Progress: func(done, total int64) {
		if last = done; total != 0 {
			t.Errorf("total of a pipe: %d", total)
		}
	}}
	if _, _, err := read(t, o, "-"); err != nil || last != int64(len(packets(t, windows))) {
		t.Errorf("standard input: %d bytes, %v", last, err)
	}
}

// TestLeftovers: no temporary file stays behind.
func TestLeftovers(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	data := parquetOf(t, some(1))
	for _, in := range []string{data, data[:len(data)-1], data[:4]} {
		r, err := Open([]string{"-"}, Options{Stdin: strings.NewReader(in)})
		if err != nil {
			t.Fatal(err)
		}
		r.Next()
		r.Close()
		if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "sfstat-*")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}

// TestSharedRuns reads all recorded runs as one folder.
func TestSharedRuns(t *testing.T) {
	r, got, err := read(t, Options{}, largedata.Need(t, "data/ddp"))
	if err != nil {
		t.Fatal(err)
	}
	if p := r.Problems(); len(p) > 0 {
		t.Errorf("problems %v", p)
	}
	perRun := make(map[string]int)
	for _, w := range got {
		perRun[w.Run]++
		if len(w.Notes) > 0 {
			t.Errorf("%s window %d: notes %v", w.Run, w.Index, w.Notes)
		}
	}
	for _, in := range r.Inputs() {
		name := strings.TrimSuffix(filepath.Base(in.Path), ".jsonl")
		if (in.Skipped != "") != strings.HasSuffix(in.Path, ".csv") {
			t.Errorf("%s: %q", in.Path, in.Skipped)
		}
		if in.Skipped == "" && (perRun[name] == 0 || in.Windows != perRun[name]) {
			t.Errorf("%s: %d windows, %d of its run", in.Path, in.Windows, perRun[name])
		}
	}
}

// TestSharedFormats: real files of the formats that are recognised.
func TestSharedFormats(t *testing.T) {
	for pattern, want := range map[string]Format{
		"kineto/*/*.gz":           Kineto,
		"nccl/dev/*/*.sqlite":     SQLite,
		"nccl/dev/*/*.log":        NCCLLog,
		"optrace/trace-*.parquet": Archive, // any Parquet, by its beginning
		"optrace/meta-*.yaml":     OperatorMeta,
		"optrace/*.png":           Binary,
		"ddp/*.csv":               Text,
		"*.md":                    Text,
	} {
		paths, _ := filepath.Glob(filepath.Join(largedata.Need(t, "data"), pattern))
		if len(paths) == 0 {
			t.Errorf("no %s", pattern)
		}
		for _, path := range paths {
			src, err := ingest.Open(path, ingest.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if got, _ := identify(src, Windows|Operators); got != want {
				t.Errorf("%s: %v, want %v", path, got, want)
			}
			src.Close()
		}
	}
}
