package auto

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/archive"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/ingesttest"
	"github.com/sfstat/sfstat/ingest/profiler"
	"github.com/sfstat/sfstat/internal/largedata"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/operator"
)

// fixture reads a committed operator trace or meta file.
func fixture(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "fixtures", "optrace", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// items reads everything; windows and operator traces are told by their runs.
func items(t testing.TB, o Options, paths ...string) (r *Reader, traces []*operator.Trace, order []string, err error) {
	t.Helper()
	r, err = Open(paths, o)
	if err != nil {
		return nil, nil, nil, err
	}
	defer r.Close()
	for {
		item, err := r.Next()
		switch {
		case err == io.EOF:
			return r, traces, order, nil
		case err != nil:
			return r, traces, order, err
		}
		for _, w := range item.Windows {
			order = append(order, "window "+w.Run)
		}
		if item.Operators != nil {
			traces = append(traces, item.Operators)
			order = append(order, "ops "+item.Operators.Run)
		}
	}
}

// TestOperatorTraceForms: the trace is the same however it is stored and
// named, and its layout comes from the meta file beside it.
func TestOperatorTraceForms(t *testing.T) {
	csv, meta := fixture(t, "trace-slow-worker.csv"), strings.Replace(fixture(t, "meta-slow-worker.yaml"), "tp_size: 1\n", "tp_size: 4\n", 1)
	meta = strings.Replace(meta, "world_size: 6", "world_size: 24", 1)
	_, want, _, err := items(t, Options{}, filepath.Join(folderOf(t, map[string]string{"a.csv": csv, "a.yaml": meta}), "a.csv"))
	if err != nil {
		t.Fatal(err)
	}
	if o := want[0]; o.Run != "slow-worker" || o.Layout.TP != 4 || o.Layout.World != 24 || len(o.Ranks) != 6 {
		t.Fatalf("run %q, layout %+v, %d ranks", o.Run, o.Layout, len(o.Ranks))
	}
	for name, stored := range map[string]map[string]string{
		"gzip":            {"trace-a.csv.gz": ingesttest.Gzip(t, csv), "meta-a.yaml": meta},
		"zstd":            {"a.csv.zst": ingesttest.Zstd(t, csv), "a.meta.yml": meta},
		"no extension":    {"trace": csv, "meta.yaml": meta},
		"other extension": {"trace-a.txt": "\xEF\xBB\xBF" + strings.ReplaceAll(csv, "\n", "\r\n"), "meta-a.txt.yaml": meta},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folderOf(t, stored)
			named := []string{}
			for file := range stored {
				named = append(named, filepath.Join(dir, file))
			}
			for _, paths := range [][]string{{dir}, named, {dir + "/."}} {
				r, got, _, err := items(t, Options{Strict: ingest.FirstError}, paths...)
				if err != nil {
					t.Fatalf("%v: %v", paths, err)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("%v: traces differ (-want +got):\n%s", paths, diff)
				}
				metas := 0
				for _, in := range r.Inputs() {
					if in.Skipped != "" {
						t.Errorf("%s is skipped: %s", in.Path, in.Skipped)
					}
					if in.MetaOf != "" {
						metas++
						if in.Format != OperatorMeta || in.Bytes <= 0 || !strings.Contains(in.MetaOf, dir) {
							t.Errorf("meta file %+v", in)
						}
					} else if in.Format != OperatorTrace || in.Ops != got[0].Len() {
						t.Errorf("trace %+v, it has %d operators", in, got[0].Len())
					}
				}
				if metas != 1 {
					t.Errorf("%d meta files are listed", metas)
				}
			}
		})
	}
}

// TestOperatorTraceFromStandardInput: there is no file beside it, so the layout
// is that of the columns.
func TestOperatorTraceFromStandardInput(t *testing.T) {
	for name, want := range map[string]int{"trace-slow-worker.csv": 6, "trace-heavy-stage.parquet": 6, "trace-late-start.csv": 4} {
		stored := fixture(t, name)
		_, got, _, err := items(t, Options{Stdin: strings.NewReader(stored)}, "-")
		if err != nil || len(got) != 1 || got[0].Layout.World != want || got[0].Run != "-" {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	_, got, _, err := items(t, Options{Stdin: strings.NewReader(ingesttest.Zstd(t, fixture(t, "trace-slow-worker.csv")))}, "-")
	if err != nil || len(got) != 1 {
		t.Errorf("zstd: %v, %v", got, err)
	}
}

// TestFolderOfTraces: two traces with their meta files, windows and much else
// in one folder; what is broken is a problem, and the rest is read.
func TestFolderOfTraces(t *testing.T) {
	csv := fixture(t, "trace-slow-worker.csv")
	files := map[string]string{
		"trace-a.csv": csv, "meta-a.yaml": "trial_name: first\ndp_size: 2\npp_size: 3\n",
		"trace-b.parquet": fixture(t, "trace-heavy-stage.parquet"), "meta-b.yaml": fixture(t, "meta-heavy-stage.yaml"),
		"lonely.csv":    fixture(t, "trace-late-start.csv"),
		"result-a.json": `{"S": 1.5}`, "map.png": "\x89PNG\r\n\x1a\n\x00\x00\x00\x0d", "settings.yaml": "colour: red\n",
		"meta-lost.yaml": "dp_size: 2\npp_size: 3\n",
		"rank0.jsonl":    packets(t, some(1)), "w.parquet": parquetOf(t, some(2)),
		"broken.csv":     csv[:len(csv)/2] + "\n1,2,x\n",
		"cut.parquet":    fixture(t, "trace-heavy-stage.parquet")[:4000],
		"cut.csv.gz":     ingesttest.Gzip(t, csv)[:2000],
		"lacks.csv":      strings.Replace(csv, "seq_id", "number", 1),
		"badmeta.csv":    csv,
		"badmeta.yaml":   "dp_size: [1\n",
		"wrongmeta.csv":  csv,
		"wrongmeta.yaml": "dp_size: 1\npp_size: 1\n",
	}
	dir := folderOf(t, files)
	r, got, order, err := items(t, Options{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	want := slices.Concat(slices.Repeat([]string{"window run-1"}, 4), slices.Repeat([]string{"window run-2"}, 4), []string{"ops lonely", "ops first", "ops heavy-stage"})
	if diff := cmp.Diff(want, order); diff != "" {
		t.Errorf("items differ (-want +got):\n%s", diff)
	}
	if o := got[1]; o.Layout != (operator.Layout{DP: 2, PP: 3, TP: 1, DSP: 1, VPP: 1, World: 6}) {
		t.Errorf("layout %+v", o.Layout)
	}
	var problems []string
	for _, p := range r.Problems() {
		problems = append(problems, filepath.Base(p.Path))
		var placed *input.Error
		if !errors.As(p.Err, &placed) || !strings.HasPrefix(placed.Pos.File, dir) {
			t.Errorf("no place: %v", p.Err)
		}
	}
	if want := []string{"badmeta.csv", "broken.csv", "cut.csv.gz", "cut.parquet", "lacks.csv", "wrongmeta.csv"}; !slices.Equal(problems, want) {
		t.Errorf("problems with %v, want %v", problems, want)
	}
	listed := map[string]string{}
	for _, in := range r.Inputs() {
		listed[filepath.Base(in.Path)] = fmt.Sprintf("%v, %d operators, meta of %s, %s", in.Format, in.Ops, filepath.Base(in.MetaOf), in.Skipped)
	}
	for name, want := range map[string]string{
		"trace-a.csv":     fmt.Sprintf("operator trace, %d operators, meta of ., ", got[1].Len()),
		"trace-b.parquet": fmt.Sprintf("operator trace, %d operators, meta of ., ", got[2].Len()),
		"meta-a.yaml":     "meta file, 0 operators, meta of trace-a.csv, ",
		"meta-b.yaml":     "meta file, 0 operators, meta of trace-b.parquet, ",
		"badmeta.yaml":    "meta file, 0 operators, meta of badmeta.csv, ",
		"result-a.json":   "JSON, 0 operators, meta of ., JSON, but neither packets nor a profiler trace",
		"map.png":         "binary data, 0 operators, meta of ., binary data",
		"settings.yaml":   "text, 0 operators, meta of ., text",
		"w.parquet":       "window archive, 0 operators, meta of ., ",
	} {
		if listed[name] != want {
			t.Errorf("%s: %q, want %q", name, listed[name], want)
		}
	}
	if got := listed["meta-lost.yaml"]; !strings.Contains(got, "is not among the inputs") {
		t.Errorf("a meta file without its trace: %s", got)
	}
	if _, _, _, err := items(t, Options{Strict: ingest.FirstError}, dir); err == nil || err == io.EOF {
		t.Errorf("strict: %v", err)
	}
}

// TestWindowsOnly: an operator trace is refused unread, one that was found in
// a folder too, and its meta file is no problem of its own.
func TestWindowsOnly(t *testing.T) {
	dir := folderOf(t, map[string]string{"trace-a.csv": fixture(t, "trace-slow-worker.csv"), "meta-a.yaml": fixture(t, "meta-slow-worker.yaml"),
		"trace-b.parquet": fixture(t, "trace-heavy-stage.parquet"), "w.jsonl": packets(t, some(1))})
	o := Options{Kinds: Windows}
	r, got, err := read(t, o, dir)
	if diff := cmp.Diff(some(1), got); err != nil || diff != "" {
		t.Fatalf("%v, windows differ (-want +got):\n%s", err, diff)
	}
	p := r.Problems()
	if len(p) != 2 {
		t.Fatalf("problems %v", p)
	}
	for _, each := range p {
		if want := each.Path + ": an operator trace, which holds single operations and not stage windows. Supported here: packets (JSON Lines), stage times (CSV, Parquet), "; !strings.HasPrefix(each.Err.Error(), want) {
			t.Errorf("%v", each.Err)
		}
	}
	for _, name := range []string{"trace-a.csv", "trace-b.parquet"} {
		_, _, err := read(t, o, filepath.Join(dir, name))
		if err == nil || !strings.Contains(err.Error(), name+": an operator trace, which") {
			t.Errorf("alone: %v", err)
		}
		o.Stdin = strings.NewReader(fixture(t, map[string]string{"trace-a.csv": "trace-slow-worker.csv", "trace-b.parquet": "trace-heavy-stage.parquet"}[name]))
		if _, _, err := read(t, o, "-"); err == nil || !strings.HasPrefix(err.Error(), "-: an operator trace, which") {
			t.Errorf("from standard input: %v", err)
		}
	}
	_, _, err = read(t, o, filepath.Join(dir, "trace-a.csv"), filepath.Join(dir, "meta-a.yaml"))
	if err == nil || !strings.Contains(err.Error(), "1 inputs refused, the first: "+filepath.Join(dir, "trace-a.csv")) {
		t.Errorf("with its meta file: %v", err)
	}
	if _, _, err := read(t, Options{Kinds: Windows, Strict: ingest.FirstError}, dir); err == nil || !strings.Contains(err.Error(), "an operator trace") {
		t.Errorf("strict: %v", err)
	}
}

// TestOperatorsFirst: windows are read beside operator traces, whatever their
// format.
func TestOperatorsFirst(t *testing.T) {
	csv := "step,rank,wall_ns,a,b\n0,0,3,1,2\n0,1,3,2,1\n"
	dir := folderOf(t, map[string]string{"w.jsonl": packets(t, some(1)), "w.parquet": parquetOf(t, some(2)), "w.csv": csv,
		"trace-a.csv": fixture(t, "trace-slow-worker.csv"), "meta-a.yaml": fixture(t, "meta-slow-worker.yaml")})
	r, _, order, err := items(t, Options{Kinds: Windows | Operators | Entries, Detail: profiler.EachOperator}, dir)
	if err != nil || len(r.Problems()) > 0 || len(order) != 10 || !slices.Contains(order, "ops slow-worker") {
		t.Fatalf("%v, problems %v, items %v", err, r.Problems(), order)
	}
	o := Options{Kinds: Windows | Operators | Entries, Detail: profiler.EachOperator, Stdin: strings.NewReader(fixture(t, "trace-heavy-stage.parquet"))}
	if _, got, _, err := items(t, o, "-"); err != nil || len(got) != 1 {
		t.Errorf("a trace from standard input: %v, %v", got, err)
	}
}

// TestForeignParquet: a Parquet file that is neither an archive nor an operator
// trace says so when it is named, and is skipped in a folder.
func TestForeignParquet(t *testing.T) {
	foreign := strings.NewReplacer("optype", "kernel", "start_ts", "start_at", "rank", "node").Replace(fixture(t, "trace-heavy-stage.parquet"))
	dir := folderOf(t, map[string]string{"f.parquet": foreign, "w.jsonl": packets(t, some(1))})
	path := filepath.Join(dir, "f.parquet")
	says := func(err error) {
		t.Helper()
		ingesttest.CheckPosition(t, err, path)
		if !errors.Is(err, archive.ErrNotArchive) || !strings.Contains(err.Error(), "no operator trace") || !strings.Contains(err.Error(), "kernel, start_at") {
			t.Errorf("%v", err)
		}
	}
	_, _, err := read(t, Options{}, path)
	says(err)
	r, got, err := read(t, Options{}, path, filepath.Join(dir, "w.jsonl"))
	if err != nil || len(got) != 4 || len(r.Problems()) != 1 {
		t.Fatalf("%d windows, problems %v, %v", len(got), r.Problems(), err)
	}
	says(r.Problems()[0].Err)
	if r, _, err = read(t, Options{Strict: ingest.FirstError}, dir); err != nil || len(r.Problems()) > 0 {
		t.Fatalf("in a folder: %v, %v", r.Problems(), err)
	}
	for _, in := range r.Inputs() {
		if (in.Skipped != "") != (in.Path == path) {
			t.Errorf("%+v", in)
		}
	}
}

// TestLimitsOfTraces: limits hold for operator traces too.
func TestLimitsOfTraces(t *testing.T) {
	csv := fixture(t, "trace-slow-worker.csv")
	long := strings.Replace(csv, "forward-compute", strings.Repeat("x", 10_000), 1)
	bomb := ingesttest.Gzip(t, csv+strings.Repeat("\n", 200<<20))
	dir := folderOf(t, map[string]string{"rows.csv": csv, "rows.parquet": fixture(t, "trace-heavy-stage.parquet"), "long.csv": long, "bomb.csv.gz": bomb})
	for name, lim := range map[string]ingest.Limits{"rows.csv": {Pending: 20_000}, "rows.parquet": {Pending: 20_000}, "long.csv": {Line: 5000}, "bomb.csv.gz": {}} {
		_, _, _, err := items(t, Options{Limits: lim}, filepath.Join(dir, name))
		ingesttest.CheckPosition(t, err, filepath.Join(dir, name))
		if !errors.Is(err, input.ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestProgressOfTraces: done never falls nor exceeds the total, and ends at the total.
func TestProgressOfTraces(t *testing.T) {
	dir := folderOf(t, map[string]string{"a.csv": fixture(t, "trace-slow-worker.csv"), "a.yaml": fixture(t, "meta-slow-worker.yaml"),
		"b.csv.gz": ingesttest.Gzip(t, fixture(t, "trace-late-start.csv")), "c.parquet": fixture(t, "trace-heavy-stage.parquet")})
	var size, last int64
	for _, name := range []string{"a.csv", "b.csv.gz", "c.parquet"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	o := Options{Progress: func(done, total int64) {
		if done < last || done > total || total != size {
			t.Errorf("progress %d of %d after %d, the files have %d", done, total, last, size)
		}
		last = done
	}}
	if _, _, _, err := items(t, o, dir); err != nil || last != size {
		t.Errorf("%d of %d bytes, %v", last, size, err)
	}
}

// TestSharedTraces reads the two public traces in a folder that holds much
// else.
func TestSharedTraces(t *testing.T) {
	r, got, order, err := items(t, Options{Strict: ingest.FirstError}, largedata.Need(t, "data/optrace"))
	if err != nil || len(got) != 2 {
		t.Fatalf("%v, %v", order, err)
	}
	for i, want := range []operator.Layout{{DP: 4, PP: 4, TP: 4, DSP: 1, VPP: 1, World: 64}, {DP: 32, PP: 2, TP: 1, DSP: 2, VPP: 1, World: 128}} {
		if o := got[i]; o.Layout != want {
			t.Errorf("%s: layout %+v", o.Run, o.Layout)
		}
	}
	metas := 0
	for _, in := range r.Inputs() {
		if in.MetaOf != "" {
			metas++
		}
	}
	if metas != 2 || len(r.Problems()) > 0 {
		t.Errorf("%d meta files, problems %v", metas, r.Problems())
	}
}
